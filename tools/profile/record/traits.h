/* SPDX-License-Identifier: MIT */
/* What profile must know of each MPI function, found once from the functions' descriptions. */
#ifndef QMPI_TOOL_PROFILE_RECORD_TRAITS_H
#define QMPI_TOOL_PROFILE_RECORD_TRAITS_H

#include "record/threads.h"

#include <qmpi/observer.h>

#include <stdbool.h>
#include <stdint.h>

/* The arguments of a blocking point-to-point function that tell for whom it waits; -1: none. */
struct awaited {
    signed char source, destination, status;
};

/* How a function makes a send that another one completes: see sends.h. */
enum sends_role {
    SENDS_NOTHING,
    SENDS_IMMEDIATELY,   /* MPI_Isend */
    SENDS_SYNCHRONOUSLY, /* MPI_Issend */
    SENDS_WHEN_STARTED   /* MPI_Send_init */
};

struct traits {
    bool has_transfers; /* starts messages or one-sided accesses: its bytes are theirs */
    bool has_bytes;     /* moves bytes otherwise */
    bool reads_peer;    /* one-sided: what it receives comes from the peer's window */
    bool waits;         /* a blocking collective, before which sync=yes waits; not MPI_Barrier */
    bool polls;         /* asks whether something has come or completed, and does not wait */
    bool is_controlled; /* see control.h */
    bool has_error;     /* returns an error class */
    bool begins_simply; /* nothing is to be done before it but to note that it begins (see
                           traits_let_wait), */
    bool ends_usually;  /* nor after it but to note what it cost, and one message: */
    unsigned char end;  /* enum site_end */
    unsigned char receives;   /* enum receives_role */
    unsigned char sends;      /* enum sends_role */
    unsigned char completion; /* of RECEIVES_COMPLETES: see completions_find */
    signed char comm;         /* the argument that is a communicator; -1: none */
    signed char file;         /* the argument that is a file; -1: none */
    struct awaited awaited;
    signed char source; /* of RECEIVES_POSTS: the argument that is the rank; -1: none */
};

/* How many messages or one-sided accesses most of its calls make: call sites note the others. */
static inline uint64_t traits_messages(const struct traits *traits)
{
    return traits->end != SITE_ENDS_PLAINLY || traits->source >= 0;
}

/* Whether its calls may carry something. */
static inline bool traits_carry(const struct traits *traits)
{
    return traits->has_transfers || traits->has_bytes;
}

extern struct traits traits_all[MPI_LAST_FUNC] __attribute__((visibility("hidden")));

/* Whether the layer is called for the function also while it is switched off; see control.h. With
 * sync=yes a rank that is off must not leave out the barrier for which the others wait. */
static inline bool traits_set_always_on(const struct traits *traits, bool sync)
{
    return traits->is_controlled || (sync && traits->waits);
}

/* Finds them; again: does nothing. From `init`. */
void traits_find(void);

/* A layer has sync=yes. From `init`, after traits_find. */
void traits_let_wait(void);

#endif
