/* SPDX-License-Identifier: MIT */
/* Sets of numbers in options, such as ranks: `3;10-20;100-;every 5`. */
#ifndef QMPI_UTIL_NUMBER_SET_H
#define QMPI_UTIL_NUMBER_SET_H

#include <stdbool.h>
#include <stdint.h>

/* What a message about an invalid set recommends. */
#define QMPI_NUMBER_SET_HINT                                                                       \
    "give numbers, ranges and steps separated by ;, such as 3;10-20;100-;every 5"

/* Contains n if first <= n <= last, and n is a multiple of step. */
struct qmpi_number_range {
    uint64_t first, last, step;
};

struct qmpi_number_set {
    struct qmpi_number_range *ranges;
    int count; /* 0: every number is in the set */
};

/*
 * Reads a set: `3`, `10-20`, `10-` and `every 5`, with `;` between them. Returns false if `text` is
 * not such a set, which is then empty. The caller frees the ranges.
 */
bool qmpi_number_set_read(const char *text, struct qmpi_number_set *set);

static inline bool qmpi_number_set_has(const struct qmpi_number_set *set, uint64_t number)
{
    bool has = set->count == 0;
    for (int i = 0; i < set->count && !has; i++) {
        const struct qmpi_number_range *range = &set->ranges[i];
        has = number >= range->first && number <= range->last && number % range->step == 0;
    }
    return has;
}

#endif
