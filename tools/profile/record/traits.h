/* SPDX-License-Identifier: MIT */
/* The properties of each MPI function that profile needs. They are derived once, in `init`, from
 * the descriptions of the functions. */
#ifndef QMPI_TOOL_PROFILE_RECORD_TRAITS_H
#define QMPI_TOOL_PROFILE_RECORD_TRAITS_H

#include "toolkit/toolkit.h"

#include <qmpi/traits.h>

#include <stdbool.h>
#include <stdint.h>

/* The indices of the arguments that tell for which rank a blocking point-to-point function waits;
 * -1: there is no such argument. */
struct traits_awaited {
    signed char source, destination, status;
};

/* How most calls of a function end. This selects a fast path for them (see record.c). */
enum traits_end {
    ENDS_PLAINLY,  /* The calls transfer nothing. */
    ENDS_SENDING,  /* The calls send one message. */
    ENDS_RECEIVING /* The calls receive one message. */
};

/* The effect of a function on requests, above all on those of receives. */
enum traits_receives {
    RECEIVES_NOTHING,
    RECEIVES_POSTS,     /* such as MPI_Irecv */
    RECEIVES_READS,     /* such as MPI_File_iread: reads a file, and receives no message */
    RECEIVES_MAKES,     /* such as MPI_Recv_init, whose receive is posted by MPI_Start */
    RECEIVES_STARTS,    /* MPI_Start, MPI_Startall */
    RECEIVES_COMPLETES, /* such as MPI_Wait */
    RECEIVES_FREES      /* MPI_Request_free */
};

/* The kind of send that a function begins and another function completes (see receives.h). */
enum traits_sends {
    SENDS_NOTHING,
    SENDS_IMMEDIATELY,   /* MPI_Isend */
    SENDS_SYNCHRONOUSLY, /* MPI_Issend */
    SENDS_WHEN_STARTED   /* MPI_Send_init and MPI_Ssend_init */
};

struct traits {
    bool has_transfers;  /* It starts messages or one-sided accesses, which carry its bytes. */
    bool has_bytes;      /* It moves bytes in another way (a collective, or MPI-IO). */
    bool reads_peer;     /* It is one-sided, so what it receives comes from the peer's window. */
    bool waits;          /* sync=yes waits before it: a blocking collective, not MPI_Barrier. */
    bool polls;          /* It asks whether something has come or completed, without waiting. */
    bool is_controlled;  /* control_before and control_after (record.c) handle it. */
    bool has_known_comm; /* Its communicator is not an argument, but known to libqmpi. */
    bool has_error;      /* It returns an error code. */
    /* Before a call, nothing needs to be done except to publish it (see also traits_let_wait). */
    bool begins_simply;
    /* After a call, nothing needs to be done except to count the call, and one message if `end`
     * says so. */
    bool ends_usually;
    unsigned char end;                    /* enum traits_end */
    unsigned char receives;               /* enum traits_receives */
    unsigned char sends;                  /* enum traits_sends */
    struct pending_completion completion; /* It is valid for RECEIVES_COMPLETES. */
    /* The signed members below are indices of arguments, or -1 if there is no such argument. */
    signed char request, requests;       /* the request or array of requests, and its length */
    signed char partitions, count, type; /* the size of a receive */
    bool sends_too;                      /* It is MPI_Isendrecv or the like, and sends as well. */
    signed char comm;
    signed char created; /* a pointer to the communicator that a blocking call creates */
    signed char file;
    struct traits_awaited awaited;
    signed char flag; /* for a function that polls: tells whether something has come */
    /* For RECEIVES_POSTS, unless sends_too: the rank of the sender, which tells whether the call
     * awaits a message (see find_amount). */
    signed char source;
    /* For RECEIVES_POSTS and RECEIVES_MAKES: the rank of the sender, and the tag, for the list of
     * receives (receives.h). They are -1 for a message that was matched before. */
    signed char receive_source, receive_tag;
};

/* Returns how many messages or one-sided accesses most calls of the function make. Call sites count
 * how far their calls differ from this (`more_messages`). */
static inline uint64_t traits_messages(const struct traits *traits)
{
    return traits->end != ENDS_PLAINLY || traits->source >= 0;
}

/* Returns whether calls of the function may transfer data. */
static inline bool traits_carry(const struct traits *traits)
{
    return traits->has_transfers || traits->has_bytes;
}

extern struct traits traits_all[MPI_LAST_FUNC] __attribute__((visibility("hidden")));

/* Returns whether the layer must observe the function even while it is switched off (see
 * record.c). With sync=yes, a rank whose layer is off must not skip the barrier in which other
 * ranks wait. */
static inline bool traits_set_always_on(const struct traits *traits, bool sync)
{
    return traits->is_controlled || (sync && traits->waits);
}

/* Fills traits_all. Further calls do nothing. Call this in `init`. */
void traits_find(void);

/* Clears `begins_simply` of the functions before which sync=yes waits. Call this in `init` of a
 * layer with sync=yes, after traits_find. */
void traits_let_wait(void);

#endif
