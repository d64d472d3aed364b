/* SPDX-License-Identifier: MIT */
/*
 * The rule of a layer of delay describes which calls the layer acts on, and how, and counts them.
 * It is made from the options when the layer is initialized. After that, only the counters and the
 * rank change, and with the rank whether the rule is active.
 */
#ifndef QMPI_TOOL_DELAY_RULE_H
#define QMPI_TOOL_DELAY_RULE_H

#include "tools/delay/duration.h"
#include "util/util.h"

#include <qmpi/qmpi.h>

#include <stdbool.h>
#include <stdint.h>

/* Bits that describe what a rule does with the calls of a function. */
enum {
    RULE_ACTS = 1 << 0,   /* calls are counted, delayed or failed */
    RULE_FAILS = 1 << 1,  /* calls can be made to fail */
    RULE_NAMED = 1 << 2,  /* functions= contains the name in full */
    RULE_MAKES = 1 << 3,  /* calls are passed to error_object_begin and error_object_end */
    RULE_STARTS = 1 << 4, /* calls initialize MPI */
    RULE_ENDS = 1 << 5,   /* calls abort the job; the results are printed before */
    RULE_OBSERVES = RULE_ACTS | RULE_MAKES | RULE_STARTS | RULE_ENDS
};

struct rule {
    int tool_id;
    uint64_t stream; /* position among the layers of delay, which have different random numbers */
    uint64_t seed;
    unsigned char does[MPI_LAST_FUNC];
    struct qmpi_value_set ranks, calls;
    bool count_each; /* calls are numbered for each function, not for all together */
    double probability;
    struct duration before, after;
    struct duration detour; /* the length of a detour that is caused by noise */
    uint64_t period;        /* nanoseconds in which there is one detour, or 0 for no noise */
    bool random_moment;     /* the detour is at a random time in the period, instead of always the
                               same time */
    bool sleeps;            /* waits by sleeping, not by spinning */
    int error;              /* error class or code, or MPI_SUCCESS for none */
    bool carry_out;         /* the call is carried out before its error is reported */
    bool reports;

    /* Threads access the following members, except `next`, atomically and with relaxed order: each
     * counter is independent, and `rank` and `active` are stored before MPI_Init returns. */
    int rank;
    bool active;                    /* this rank is among `ranks` */
    bool reported;                  /* the results were printed */
    uint64_t called[MPI_LAST_FUNC]; /* calls of each function, if count_each is true */
    uint64_t called_all;            /* calls of all selected functions, if count_each is false */
    uint64_t computed;              /* nanoseconds that threads spent outside selected functions */
    /* The results; `nanoseconds` is the time added. */
    unsigned long long acted, delayed, failed, detours, nanoseconds;
    struct rule *next;
};

/* All options of the tool delay, for QMPIX_Tool_info. */
extern const QMPIX_Tool_option rule_options[];

/* Makes the rule of a layer from its options. The rule stays valid until the process ends. If an
 * option is invalid, marks the layer as failed with a message and returns NULL. */
struct rule *rule_read(int tool_id);

/* Sets the rank of the process in MPI_COMM_WORLD. */
void rule_set_rank(struct rule *rule, int rank);

#endif
