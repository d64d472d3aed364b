/* SPDX-License-Identifier: MIT */
/* qmpi report --compare: the limits of --fail-over, and the exit status. */
#ifndef QMPI_CLI_REPORT_COMPARE_H
#define QMPI_CLI_REPORT_COMPARE_H

#include "profile/profile.h"

#include <argp.h>

/* Reads the argument of --fail-over: "10%", which limits the time, or "time:10%,mpi:20%". Other
 * arguments are an error of use. The result belongs to the caller. */
struct compare_limit *report_read_limits(const char *text, int *count, struct argp_state *state);

/*
 * Compares the runs, and checks the limits. Returns NULL, after a message, if the comparison cannot
 * be made, or if a figure with a limit is unknown in a run.
 */
struct profile_comparison *report_compare(const struct profile_named *runs, int count,
                                          const struct compare_limit *limits, int limit_count);

/* Prints a message for each limit that a run exceeds. Returns the exit status: 1 if there is one,
 * else 0. */
int report_check_limits(const struct profile_comparison *comparison);

#endif
