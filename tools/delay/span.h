/* SPDX-License-Identifier: MIT */
/*
 * The small languages of delay's options: spans of time with a distribution, and sets of numbers.
 * They know nothing of MPI.
 */
#ifndef QMPI_DELAY_SPAN_H
#define QMPI_DELAY_SPAN_H

#include <stdbool.h>
#include <stdint.h>

/* So many nanoseconds: always `least`; any from `least` to `most`; or exponential with a mean. */
struct span {
    enum { SPAN_FIXED, SPAN_UNIFORM, SPAN_EXPONENTIAL } law;
    uint64_t least, most; /* SPAN_FIXED: both the same; SPAN_EXPONENTIAL: both the mean */
};

/* `20us`, `10us-50us`, `exp 20us`; `0`. Units ns, us, ms, s. False: it is none of these. */
bool span_read(const char *text, struct span *span);

/* `DETOUR/PERIOD`: DETOUR a span, PERIOD one time, `random` before it or not. */
bool span_read_noise(const char *text, struct span *detour, uint64_t *period, bool *random_moment);

/* The nanoseconds for a number that was drawn from 0 up to but not including 1. */
uint64_t span_draw(const struct span *span, double drawn);

/* strtod, whatever decimal point the program's language has. */
double span_read_real(const char *text, char **end);

struct span_range {
    uint64_t first, last, step; /* n is in it: first <= n <= last, and n is a multiple of step */
};

struct span_set {
    struct span_range *ranges;
    int count; /* 0: every number is in the set */
};

/* `3`, `10-20`, `10-`, `every 5`, with `;` between them. False: it is none of these. */
bool span_read_set(const char *text, struct span_set *set);

static inline bool span_set_has(const struct span_set *set, uint64_t number)
{
    bool has = set->count == 0;
    for (int i = 0; i < set->count && !has; i++) {
        const struct span_range *range = &set->ranges[i];
        has = number >= range->first && number <= range->last && number % range->step == 0;
    }
    return has;
}

#endif
