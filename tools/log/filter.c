/* SPDX-License-Identifier: MIT */
/* See filter.h. */
#define _GNU_SOURCE
#include "filter.h"

#include "util/util.h"

#include <qmpi/observer.h>

#include <errno.h>
#include <fnmatch.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

/* By the words of profile's tables. */
static const struct {
    unsigned group;
    const char *name;
} groups[] = {
    {QMPIX_GROUP_POINT_TO_POINT, "point-to-point"},
    {QMPIX_GROUP_COMPLETION, "completion"},
    {QMPIX_GROUP_COLLECTIVE, "collective"},
    {QMPIX_GROUP_ONE_SIDED, "one-sided"},
    {QMPIX_GROUP_IO, "I/O"},
    {QMPIX_GROUP_IO, "io"},
    {QMPIX_GROUP_DATATYPE, "datatype"},
    {QMPIX_GROUP_COMMUNICATOR, "communicator"},
    {QMPIX_GROUP_GROUP, "group"},
    {QMPIX_GROUP_TOPOLOGY, "topology"},
    {QMPIX_GROUP_ENVIRONMENT, "environment"},
    {QMPIX_GROUP_INFO, "info"},
    {QMPIX_GROUP_PROCESS, "process"},
    {QMPIX_GROUP_TOOL_INFORMATION, "tool-information"},
};

static unsigned group_of(const char *name)
{
    for (size_t i = 0; i < sizeof groups / sizeof *groups; i++) {
        if (!strcasecmp(groups[i].name, name))
            return groups[i].group;
    }
    return 0;
}

static bool choose(const char *item, bool what, bool chosen[MPI_LAST_FUNC])
{
    const unsigned group = group_of(item);
    bool found = false;
    for (int number = 0; number < MPI_LAST_FUNC; number++) {
        const QMPIX_Function *function;
        if (QMPIX_Function_describe((enum QMPI_Functions_enum)number, &function) != MPI_SUCCESS)
            continue;
        if (group ? group == function->group : !fnmatch(item, function->name, FNM_CASEFOLD)) {
            chosen[number] = what;
            found = true;
        }
    }
    return found;
}

/* The next item of a list, to be freed; NULL: none. */
static char *next_item(const char **list)
{
    *list += strspn(*list, "; ");
    const size_t length = strcspn(*list, ";");
    char *item = length ? qmpi_copy_part(*list, length) : NULL;
    *list += length;
    return item;
}

char *choose_functions(const char *list, bool chosen[MPI_LAST_FUNC])
{
    char *item;
    const char *first = list + strspn(list, "; ");
    memset(chosen, *first == '!', MPI_LAST_FUNC * sizeof *chosen);
    if (!*first)
        return qmpi_copy("");
    while ((item = next_item(&list))) {
        const bool away = *item == '!';
        if (!choose(item + away, !away, chosen))
            return item;
        free(item);
    }
    return NULL;
}

static bool read_rank(const char **text, int *rank)
{
    char *end;
    errno = 0;
    const long number = strtol(*text, &end, 10);
    if (**text < '0' || **text > '9' || errno || number > INT_MAX)
        return false;
    *rank = (int)number;
    *text = end;
    return true;
}

static bool read_range(const char *text, struct rank_range *rank_range)
{
    if (!read_rank(&text, &rank_range->first))
        return false;
    rank_range->last = rank_range->first;
    if (*text == '-') {
        text++;
        if (!read_rank(&text, &rank_range->last))
            return false;
    }
    return !*text && rank_range->first <= rank_range->last;
}

char *choose_ranks(const char *list, struct ranks *ranks)
{
    char *item;
    ranks->ranges = qmpi_allocate(strlen(list) + 1, sizeof *ranks->ranges);
    while ((item = next_item(&list))) {
        if (!read_range(item, &ranks->ranges[ranks->count]))
            return item;
        ranks->count++;
        free(item);
    }
    return ranks->count ? NULL : qmpi_copy("");
}

bool choose_rank(const struct ranks *ranks, int rank)
{
    for (int i = 0; i < ranks->count; i++) {
        if (rank >= ranks->ranges[i].first && rank <= ranks->ranges[i].last)
            return true;
    }
    return ranks->count == 0;
}
