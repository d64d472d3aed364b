/* SPDX-License-Identifier: MIT */
/*
 * qmpi report: declarations for its parts. The command line becomes a request (options.c), files
 * become runs (runs.c), and these are printed (report.c) or compared (compare.c).
 */
#ifndef QMPI_CLI_REPORT_REPORT_H
#define QMPI_CLI_REPORT_REPORT_H

#include "profile/profile.h"

#include <argp.h>

struct report_request {
    enum profile_format format;
    const char *output; /* NULL: standard output */
    bool compare;
    struct compare_limit *limits; /* of --compare */
    int limit_count;
    enum profile_sort sort;
    const char *filter; /* NULL: none */
    int top;
    struct profile_thresholds thresholds;
    unsigned sections; /* 0: none was named */
    char **files;      /* ends with NULL */
};

/* Reads the command line. Errors of use end the command. */
struct report_request report_read_request(int argc, char **argv);

/* Results that were read, each of one file or of several of one run. */
struct report_run {
    const char *name; /* the first file */
    int files;
    struct profile_result *result;
};
struct report_runs {
    struct report_run *all;
    int count;
    bool complete; /* false: something could not be read, which has been said */
};

/* Reads the files, merges those of one run, and prepares the results to be printed. */
struct report_runs report_read_runs(const struct report_request *request);

void report_free_runs(struct report_runs *runs);

/* The runs for lib/profile, which the caller frees. */
struct profile_named *report_name_runs(const struct report_runs *runs);

/* Reads the argument of --fail-over: "10%", which limits the time, or "time:10%,mpi:20%". Other
 * arguments are an error of use. The result belongs to the caller. */
struct compare_limit *report_read_limits(const char *text, int *count, struct argp_state *state);

/*
 * Compares the runs, and checks the limits. Returns NULL, after a message, if the comparison cannot
 * be made, or if a figure with a limit is unknown in a run.
 */
struct profile_comparison *report_compare(const struct report_runs *runs,
                                          const struct report_request *request);

/* Prints a message for each limit that a run exceeds. Returns the exit status: 1 if there is one,
 * else 0. */
int report_check_limits(const struct profile_comparison *comparison);

#endif
