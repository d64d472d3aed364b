/* SPDX-License-Identifier: MIT */
/*
 * Finds which ranks wait for which others, from their calls in flight (struct profile_flight). A
 * rank is stuck if it can never go on, because none of the ranks that could let it go on can do so
 * itself. This is computed from the messages for which the calls wait (peer, tag, communicator),
 * and from the communicators, functions and roots of collective calls.
 */
#ifndef QMPI_PROFILE_HANG_H
#define QMPI_PROFILE_HANG_H

#include "tools/profile/result/profile_result.h"

#include <stdio.h>

enum hang_state {
    HANG_MISSING, /* The data of the rank is missing. */
    HANG_OUTSIDE, /* It is outside MPI, or in a call that it began only just now. */
    HANG_BUSY,    /* It is in a call that is not known to wait for other ranks. */
    HANG_ENDED,   /* Its process has ended by itself, or has finalized MPI. */
    HANG_WAITS    /* It is in a call that waits for known messages, or in a collective call. */
};

/* The ranks that are in the same collective call: the same function on the same communicator, with
 * the same root. */
struct hang_group {
    const struct profile_flight *flight; /* one of these calls */
    bool is_finalize;                    /* It is MPI_Finalize, which all ranks call. */
    bool is_known;                       /* The members are known. */
    int *ranks, *absent;                 /* the ranks in the call, and the other members */
    int rank_count, absent_count;
};

struct hang_rank {
    enum hang_state state;
    const struct profile_flight *flight;   /* the longest call; NULL: none is known to last */
    const struct profile_process *process; /* NULL: missing */
    int group;                             /* -1: the rank is in no collective call */
    bool needs_one; /* The call ends as soon as one of its messages has come (MPI_Waitany). */
    bool is_stuck;  /* It can never go on. */
};

struct hang {
    struct hang_rank *ranks; /* by rank */
    int count;
    struct hang_group *groups;
    int group_count;
    bool good; /* memory has not been exhausted */
};

/* Finds out which ranks wait. Calls that have lasted less than `least` seconds, except for
 * MPI_Finalize, count as time outside MPI, because the rank may go on. `result` must exist as long
 * as `hang` is used. The caller passes `hang` to hang_free, also if memory was exhausted. */
void hang_find(struct hang *hang, const struct profile_result *result, double least);
void hang_free(struct hang *hang);

/* Calls `each` for the ranks for which a rank waits. For a message from any rank, these are all
 * members of the communicator, if they are known. */
typedef void hang_target(void *data, int rank, int target);
void hang_each_target(const struct hang *hang, int rank, hang_target *each, void *data);

/* Returns the first rank for which a rank waits, or -1 if there is none or it is not known. A rank
 * that has ended comes first, and then one that is stuck. */
int hang_first_target(const struct hang *hang, int rank);

/* Returns whether a rank waits for another one, directly or not. */
bool hang_leads_to(const struct hang *hang, int rank, int target);

/* Finds a call that will never match the call of `rank`, although the program meant them to match:
 * another collective call on the same communicator, or a message between the two ranks with another
 * tag or communicator. Returns the other rank, or -1 if there is none. */
int hang_find_mismatch(const struct hang *hang, int rank);

/* Prints the other side of the messages for which a call waits, after a space: "from rank 1",
 * "to rank 2 and from rank 3", "for 4 messages". With `with_tags`, the tag follows each rank,
 * as in "from rank 1 (tag 7)". Prints nothing if the call waits for no message. */
void hang_print_partners(FILE *text, const struct profile_flight *flight, bool with_tags);

/* Calls `each` for each rank in a list such as "0-3,8,10-14:2". Returns false if the list is not
 * valid. */
typedef void hang_member(void *data, int rank);
bool hang_each_member(const char *members, hang_member *each, void *data);

#endif
