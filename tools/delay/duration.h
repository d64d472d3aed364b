/* SPDX-License-Identifier: MIT */
/*
 * The language of delay's options for spans of time with a distribution. It knows nothing of MPI.
 */
#ifndef QMPI_TOOL_DELAY_DURATION_H
#define QMPI_TOOL_DELAY_DURATION_H

#include <stdbool.h>
#include <stdint.h>

/* So many nanoseconds: always `least`; any from `least` to `most`; or exponential with a mean. */
struct duration {
    enum { DURATION_FIXED, DURATION_UNIFORM, DURATION_EXPONENTIAL } law;
    uint64_t least, most; /* DURATION_FIXED: both the same; DURATION_EXPONENTIAL: both the mean */
};

/* `20us`, `10us-50us`, `exp 20us`; `0`. Units ns, us, ms, s. False: it is none of these. */
bool duration_read(const char *text, struct duration *duration);

/* `DETOUR/PERIOD`: DETOUR a span, PERIOD one time, `random` before it or not. */
bool duration_read_noise(const char *text, struct duration *detour, uint64_t *period,
                         bool *random_moment);

/* The nanoseconds for a number that was drawn from 0 up to but not including 1. */
uint64_t duration_draw(const struct duration *duration, double drawn);

/* strtod, whatever decimal point the program's language has. */
double duration_read_real(const char *text, char **end);

#endif
