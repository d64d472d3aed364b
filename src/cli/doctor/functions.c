/* SPDX-License-Identifier: MIT */
/* See doctor.h: the functions in which the program's MPI library and libqmpi differ. */
#define _GNU_SOURCE
#include "cli/doctor/doctor.h"

#include "cli/cli.h"
#include "util/util.h"

#include <stdlib.h>

enum { NAMED = 8 }; /* more would hide the other findings */

struct names {
    int count;
    char *text; /* the first of them, separated by blanks */
};

static void note(void *data, int number, const char *name, bool provided)
{
    struct names *names = &((struct names *)data)[provided];
    (void)number;
    if (++names->count > NAMED)
        return;
    char *longer =
        qmpi_format("%s%s%s", names->text ? names->text : "", names->text ? " " : "", name);
    free(names->text);
    names->text = longer;
}

static const char *rest(const struct names *names)
{
    return names->count > NAMED ? " ... (`qmpi functions PROGRAM` lists all)" : "";
}

void doctor_look_at_functions(const char *library)
{
    struct names lacking_and_more[2] = {{.count = 0}, {.count = 0}};
    const struct names *lacking = &lacking_and_more[false], *more = &lacking_and_more[true];
    if (cli_compare_functions(library, note, lacking_and_more))
        return; /* said already */
    if (lacking->count)
        doctor_note(
            "%s lacks functions of the MPI library with which this libqmpi was built (%d); a "
            "program that calls one of them ends with a message: %s%s",
            library, lacking->count, lacking->text, rest(lacking));
    if (more->count)
        doctor_note(
            "%s has functions beyond the MPI library with which this libqmpi was built (%d), "
            "whose calls the tools do not see: %s%s\n"
            "hint: build qmpi with this MPI library",
            library, more->count, more->text, rest(more));
    free(lacking->text);
    free(more->text);
}
