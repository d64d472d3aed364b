/* SPDX-License-Identifier: MIT */
/*
 * The loss budget: where the time of all ranks went. Its parts add up to the number of ranks times
 * the elapsed time. One part is useful, all others are losses. Like the efficiency, the budget is
 * computed from a result wherever it is needed.
 *
 * A profile measures how long calls take, not why. Some parts are therefore estimates:
 * - A collective call has waited for other ranks for the time that sync=yes has measured. Without
 *   this option, all of its time has been waiting except the time that its data explain
 *   (finder_explain) or, if that is shorter, the time of the rank that takes least. Nonblocking and
 *   persistent calls do not wait.
 * - A call in flight waits, unless it accesses a file.
 * - A point-to-point call has waited for the time that its peers explain (profile_waits).
 */
#ifndef QMPI_PROFILE_BUDGET_H
#define QMPI_PROFILE_BUDGET_H

#include "tools/profile/result/profile_result.h"

enum profile_budget_part {
    PROFILE_BUDGET_USEFUL,    /* outside MPI */
    PROFILE_BUDGET_PROCESSOR, /* ready to run, but without a processor */
    /* Waiting for other ranks: */
    PROFILE_BUDGET_SERIAL_START,
    PROFILE_BUDGET_LATE_SENDER,
    PROFILE_BUDGET_LATE_RECEIVER,
    PROFILE_BUDGET_COLLECTIVES,
    PROFILE_BUDGET_ACCESS,
    PROFILE_BUDGET_END, /* from the end of a rank to that of the last one */
    /* A rank was not profiled, while another one was. */
    PROFILE_BUDGET_OFF,
    /* Work of the MPI library: */
    PROFILE_BUDGET_SMALL_COLLECTIVES,
    PROFILE_BUDGET_SMALL_MESSAGES,
    PROFILE_BUDGET_TRANSFER,
    PROFILE_BUDGET_FILES,
    PROFILE_BUDGET_OBJECTS,
    /* The rest of the time: */
    PROFILE_BUDGET_POLLING,
    PROFILE_BUDGET_OTHER,
    PROFILE_BUDGET_PARTS
};

/* A call site where time of a part was spent or, in a result without call sites, a function. */
struct profile_budget_place {
    const char *name;                    /* of the function */
    const struct profile_callsite *site; /* NULL: the result has no call sites */
    double seconds;                      /* of all ranks */
};

enum { PROFILE_BUDGET_PLACES = 3 };

struct profile_budget_item {
    double seconds;                                            /* of all ranks */
    double share;                                              /* of the total */
    struct profile_budget_place places[PROFILE_BUDGET_PLACES]; /* the main ones, most time first */
    int place_count;
};

struct profile_budget {
    double total; /* ranks * elapsed time, in seconds: the sum of all parts */
    struct profile_budget_item items[PROFILE_BUDGET_PARTS];
};

/* Computes the budget. Its names and call sites belong to the result. Returns false if memory is
 * exhausted or the budget is not known: no time was profiled, the result contains only selected
 * functions (profile_result_filter), or an older version wrote the file without the times of
 * processes. */
bool profile_budget_find(const struct profile_result *result, struct profile_budget *budget);

/* The name of a part in JSON and CSV, such as "late-sender", and in words. */
const char *profile_budget_name(enum profile_budget_part part);
const char *profile_budget_describe(enum profile_budget_part part);

/* Sets `order` to the parts in the order in which they are printed: the useful one, then the
 * others, most time first. */
void profile_budget_order(const struct profile_budget *budget,
                          enum profile_budget_part order[PROFILE_BUDGET_PARTS]);

#endif
