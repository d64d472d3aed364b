/* SPDX-License-Identifier: MIT */
/*
 * A layer of delay: which calls it acts on, what it does to them, and what it has done so far. The
 * options become a rule when the layer is initialized; from then on only the counters change.
 */
#ifndef QMPI_TOOL_DELAY_RULE_H
#define QMPI_TOOL_DELAY_RULE_H

#include "duration.h"
#include "filter.h"
#include "util/util.h"

#include <qmpi/qmpi.h>

#include <stdbool.h>
#include <stdint.h>

struct rule {
    int tool_id;
    uint64_t stream; /* its place among the layers of delay: each draws numbers of its own */
    uint64_t seed;
    unsigned char does[MPI_LAST_FUNC];
    struct qmpi_number_set ranks, calls;
    bool count_each; /* n-th call of each function, not of all of them together */
    double probability;
    struct duration before, after;
    struct duration detour; /* noise: so long … */
    uint64_t period;        /* … once in so many nanoseconds; 0: no noise */
    bool random_moment;     /* at any moment of each period, not always the same */
    bool sleeps;            /* waits by sleeping, not by spinning */
    int error;              /* error class or code; MPI_SUCCESS: none */
    bool carry_out;         /* the call is carried out before its error is reported */
    bool reports;

    int rank;    /* atomic */
    bool active; /* atomic: this rank is among `ranks` */

    uint64_t called[MPI_LAST_FUNC]; /* atomic: calls of each function; */
    uint64_t called_all;            /* or of all together */
    uint64_t computed;              /* atomic: ns that its threads spent outside MPI */

    /* Done so far, atomic. */
    unsigned long long acted, delayed, failed, detours, nanoseconds;
    struct rule *next;
};

/* All that delay knows, for QMPIX_Tool_info. */
extern const QMPIX_Tool_option rule_options[];

/* Makes the rule of a layer from its options. NULL: one is bad; the layer has failed with a
 * message. The rule lives for the whole run. */
struct rule *rule_read(int tool_id);

/* From now on the process has this rank in MPI_COMM_WORLD. */
void rule_set_rank(struct rule *rule, int rank);

#endif
