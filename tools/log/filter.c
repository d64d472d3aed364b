/* SPDX-License-Identifier: MIT */
/* See filter.h. */
#define _GNU_SOURCE
#include "filter.h"

#include "toolkit/toolkit.h"
#include "util/util.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

char *choose_functions(const char *list, bool chosen[MPI_LAST_FUNC])
{
    unsigned char listed[MPI_LAST_FUNC];
    char *wrong = tool_functions_read(list, listed);
    for (int number = 0; number < MPI_LAST_FUNC; number++)
        chosen[number] = listed[number] != 0;
    return wrong;
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
