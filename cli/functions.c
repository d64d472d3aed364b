/* SPDX-License-Identifier: MIT */
/* qmpi functions lists the known MPI functions and tells which of them an MPI library has. */
#include "cli/cli.h"

#include "cli/program.h"
#include "functions/functions.h"
#include "generate/build.h"
#include "util/util.h"

#include <argp.h>
#include <stdio.h>
#include <stdlib.h>

static const char doc[] =
    "List all known MPI functions: the number, the name, and whether " QMPI_MPI
    " provides it.\vThe numbers are stable: tools may rely on them. With FILE, a program or an MPI "
    "library, `lacking` marks functions that this MPI library lacks, and `bypass` marks functions "
    "that it has but this libqmpi does not intercept.";

static error_t parse_functions_argument(int key, char *argument, struct argp_state *state)
{
    const char **file = state->input;
    if (key != ARGP_KEY_ARG || state->arg_num > 0)
        return ARGP_ERR_UNKNOWN;
    *file = argument;
    return 0;
}

static void mark_difference(void *data, int number, const char *name, bool provided)
{
    const char **states = data;
    if (number >= 0)
        states[number] = provided ? "bypass" : "lacking";
    else
        printf("   -  %-40s bypass\n", name);
}

/* Returns the MPI library that the program would use, or the file itself if it is an MPI library.
 * Returns NULL, after a message, if there is none. The caller frees the path. */
static char *find_mpi_library(const char *name)
{
    static const char hint[] = "give the path of an MPI program, or of the library";
    char *path = program_find(name), *library = NULL, *shown = qmpi_message_shorten(name);
    struct program_object object = program_object_read(path ? path : name, false);
    if (!object.problem && object.mpi_library)
        library = qmpi_copy(path ? path : name);
    else if (path)
        library = program_find_mpi(path);
    free(object.problem);
    object = program_object_read(path ? path : name, true);
    if (!library && object.problem)
        qmpi_printf("cannot read '%-s': %s\nhint: %s", shown, object.problem, hint);
    else if (!library)
        qmpi_printf(
            "'%-s' is neither an MPI library nor a program that uses a shared one\nhint: %s", shown,
            hint);
    free(object.problem);
    free(shown);
    free(path);
    return library;
}

int cli_functions(int argc, char **argv)
{
    static const struct argp argp = {
        .doc = doc, .parser = parse_functions_argument, .args_doc = "[FILE]"};
    const char *name = NULL;
    cli_parse(&argp, argc, argv, 0, NULL, &name);
    const char **states = qmpi_allocate((size_t)qmpi_name_count, sizeof *states);
    for (int number = 0; number < qmpi_name_count; number++)
        states[number] = qmpi_names[number].exists ? "yes" : "no";
    char *library = name ? find_mpi_library(name) : NULL;
    if (name && !library)
        return 2;
    const char *reason =
        library ? program_compare_functions(library, mark_difference, states) : NULL;
    if (reason) {
        qmpi_printf("%s: %s\nhint: give an intact library", library, reason);
        return 2;
    }
    for (int number = 0; number < qmpi_name_count; number++)
        printf("%4d  %-40s %s\n", number, qmpi_names[number].name, states[number]);
    free(library);
    free(states);
    return 0;
}
