/* SPDX-License-Identifier: MIT */
/* A duration is a time, or a distribution of times, in an option of delay. This part does not use
 * MPI. */
#ifndef QMPI_TOOL_DELAY_DURATION_H
#define QMPI_TOOL_DELAY_DURATION_H

#include <stdbool.h>
#include <stdint.h>

struct duration {
    enum { DURATION_FIXED, DURATION_UNIFORM, DURATION_EXPONENTIAL } law;
    /* The limits of a uniform distribution, in nanoseconds. For a fixed time, both are this time.
     * For an exponential distribution, both are its mean. */
    uint64_t least, most;
};

/* Reads a duration such as `20us`, `10us-50us` or `exp 20us`, whose times have the form that
 * util/value.h describes. Returns false if the text has another form, a time is more than a day, or
 * a range is reversed; `*duration` is then undefined. */
bool duration_read(const char *text, struct duration *duration);

/* Reads `DETOUR/PERIOD` or `DETOUR/random PERIOD`, where DETOUR is a duration and PERIOD a time.
 * Sets `*period` to PERIOD in nanoseconds, and `*random_moment` to whether the text contains
 * `random`. Returns false if the text has another form, duration_read rejects DETOUR, or PERIOD is
 * 0 or more than a day. */
bool duration_read_noise(const char *text, struct duration *detour, uint64_t *period,
                         bool *random_moment);

/* Returns the time in nanoseconds that corresponds to a random number in [0, 1). */
uint64_t duration_draw(const struct duration *duration, double drawn);

#endif
