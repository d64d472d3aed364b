/* SPDX-License-Identifier: MIT */
/* See function_list.h. */
#define _GNU_SOURCE
#include "util/function_list.h"

#include "util/message.h"

#include <fnmatch.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

/* In the order of the bits QMPIX_GROUP_…; I/O is what profile's tables call one of them. */
static const char *const groups[] = {
    "point-to-point", "completion",   "collective",      "one-sided", "io",
    "datatype",       "communicator", "group",           "topology",  "environment",
    "info",           "process",      "tool-information"};
enum { GROUPS = sizeof groups / sizeof *groups };

static unsigned group_named(const char *word)
{
    if (!strcasecmp(word, "I/O"))
        word = "io";
    for (int i = 0; i < GROUPS; i++) {
        if (!strcasecmp(groups[i], word))
            return 1U << i;
    }
    return 0;
}

/* Returns the next item without the blanks around it, which the caller frees; NULL: none. */
static char *next_item(const char **list)
{
    *list += strspn(*list, "; ");
    const size_t end = strcspn(*list, ";");
    size_t length = end;
    while (length && (*list)[length - 1] == ' ')
        length--;
    char *item = length ? qmpi_copy_part(*list, length) : NULL;
    *list += end;
    return item;
}

/* Adds or removes what an item means. Returns whether there is any such function. */
static bool apply(const char *item, bool adds, int count, qmpi_function_describer *describe,
                  unsigned char *listed)
{
    const unsigned wanted = group_named(item);
    bool found = false;
    for (int number = 0; number < count; number++) {
        const char *name;
        unsigned group;
        if (!describe(number, &name, &group) ||
            !(wanted ? group == wanted : !fnmatch(item, name, FNM_CASEFOLD)))
            continue;
        found = true;
        listed[number] = adds ? QMPI_FUNCTION_LISTED : 0;
        if (adds && !strcasecmp(item, name))
            listed[number] |= QMPI_FUNCTION_NAMED;
    }
    return found;
}

char *qmpi_function_list_read(const char *list, int count, qmpi_function_describer *describe,
                              unsigned char *listed)
{
    char *item;
    const char *first = list + strspn(list, "; ");
    memset(listed, 0, (size_t)count);
    if (!*first)
        return qmpi_copy("");
    if (*first == '!')
        apply("*", true, count, describe, listed);
    while ((item = next_item(&list))) {
        const bool removes = *item == '!';
        if (!apply(item + removes, !removes, count, describe, listed))
            return item;
        free(item);
    }
    return NULL;
}

char *qmpi_function_list_refuse(const char *option, const char *item)
{
    char *shown = qmpi_shorten(item);
    char *problem =
        qmpi_message("%s: '%s' matches no function of this MPI\n"
                     "hint: give names that `qmpi functions` lists, patterns such as MPI_*send, or "
                     "groups such as collective or point-to-point",
                     option, shown);
    free(shown);
    return problem;
}
