/* SPDX-License-Identifier: MIT */
/* See number_set.h. */
#include "util/number_set.h"

#include "util/message.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static const char *skip_blanks(const char *text)
{
    return text + strspn(text, " ");
}

/* Returns what follows the number and blanks; NULL: not a number. */
static const char *read_number(const char *text, uint64_t *number)
{
    char *end;
    if (!(*text >= '0' && *text <= '9'))
        return NULL;
    errno = 0;
    *number = strtoull(text, &end, 10);
    return errno ? NULL : skip_blanks(end);
}

static const char *read_range(const char *text, struct qmpi_number_range *range)
{
    static const char step[] = "every";
    *range = (struct qmpi_number_range){.first = 0, .last = UINT64_MAX, .step = 1};
    if (!strncmp(text, step, sizeof step - 1)) {
        const char *rest = read_number(skip_blanks(text + sizeof step - 1), &range->step);
        return range->step ? rest : NULL;
    }
    const char *rest = read_number(text, &range->first);
    if (!rest || *rest != '-') {
        range->last = range->first;
        return rest;
    }
    rest = skip_blanks(rest + 1);
    if (!*rest || *rest == ';')
        return rest; /* without an end */
    rest = read_number(rest, &range->last);
    return range->last < range->first ? NULL : rest;
}

bool qmpi_number_set_read(const char *text, struct qmpi_number_set *set)
{
    const char *rest = text;
    int room = 1;
    for (const char *at = text; *at; at++)
        room += *at == ';';
    *set = (struct qmpi_number_set){.ranges = qmpi_allocate((size_t)room, sizeof *set->ranges)};
    while (rest && set->count < room) {
        rest = read_range(skip_blanks(rest), &set->ranges[set->count++]);
        if (rest && !*rest)
            return true;
        rest = rest && *rest == ';' ? rest + 1 : NULL;
    }
    free(set->ranges);
    *set = (struct qmpi_number_set){.count = 0};
    return false;
}
