/* SPDX-License-Identifier: MIT */
/* This part provides the traits of MPI functions that recording needs. They are derived once from
 * the traits that libqmpi publishes. */
#ifndef QMPI_TOOL_TRACE_RECORD_TRAITS_H
#define QMPI_TOOL_TRACE_RECORD_TRAITS_H

#include "toolkit/toolkit.h"

#include <qmpi/observer.h>
#include <qmpi/traits.h>

#include <stdbool.h>

/* An action tells which events a call causes or how the call is followed. */
enum trait_action {
    DOES_NOTHING,
    DOES_SEND,            /* MPI_Send, MPI_Bsend, … */
    DOES_RECEIVE,         /* MPI_Recv */
    DOES_TRANSFER,        /* other blocking messages, such as MPI_Sendrecv */
    DOES_MATCH,           /* MPI_Mprobe, MPI_Improbe */
    DOES_RECEIVE_MATCHED, /* MPI_Mrecv */
    DOES_POST_MATCHED,    /* MPI_Imrecv */
    DOES_POST,            /* messages that another call completes */
    DOES_INIT_MESSAGE,    /* MPI_Send_init, MPI_Psend_init, MPI_Recv_init, … */
    DOES_INIT_OTHER,      /* other persistent requests */
    DOES_START,           /* MPI_Start, MPI_Startall */
    DOES_COMPLETE,        /* MPI_Wait, MPI_Testsome, … */
    DOES_FREE_REQUEST,    /* MPI_Request_free */
    DOES_CANCEL,          /* MPI_Cancel */
    DOES_COLLECTIVE,      /* blocking collectives */
    DOES_POST_COLLECTIVE,
    DOES_RMA,
    DOES_IO,
    DOES_POST_IO,
    DOES_CREATE_COMM,
    DOES_COPY_COMM, /* MPI_Comm_idup */
    DOES_FREE_COMM,
    DOES_NAME_COMM,
    DOES_CREATE_WIN,
    DOES_FREE_WIN,
    DOES_NAME_WIN,
    DOES_OPEN_FILE,
    DOES_CLOSE_FILE,
    DOES_CONTROL /* MPI_Pcontrol, and the calls that begin or end MPI: see control.h */
};

struct traits {
    unsigned char action;                 /* enum trait_action */
    struct pending_completion completion; /* for DOES_COMPLETE only */
    bool has_error;                       /* The function returns an error code. */

    /* These are indices of arguments, or -1. */
    signed char comm;
    /* This argument points to the communicator or window that the call creates. */
    signed char created;
    signed char window, file, request, requests, message, flag;
    signed char peer, tag, partitions, elements, type; /* for DOES_INIT_MESSAGE only */

    bool sends, transfers_both_ways;
    bool is_simple;         /* The arguments are at the positions MESSAGE_…, and the count is an
                               int. */
    bool is_get, is_atomic; /* for one-sided accesses only */
    bool reads;             /* The function reads a file. */
    /* TRACE_CALL_OBJECT records the communicator or file, because no other event contains it. */
    bool tells_comm, tells_file;
};

extern struct traits traits_all[MPI_LAST_FUNC] __attribute__((visibility("hidden")));

static inline const struct traits *traits_of(const QMPIX_Call *call)
{
    return &traits_all[call->function->number];
}

/* Derives the traits. Repeated calls do nothing. The tool's `init` calls this function. */
void traits_find(void);

/* Returns whether a layer must receive calls of the function even while it is switched off and even
 * if the option functions= does not choose the function. */
bool traits_are_controlled(const struct traits *traits);

/* Returns whether calls of the function may have events of messages. */
bool traits_have_messages(const struct traits *traits);

/* Returns whether calls of the function may have events at their beginning. */
bool traits_have_begin_events(const struct traits *traits);

/* Returns whether calls of the function must be followed even if they are not recorded. */
bool traits_are_followed(const struct traits *traits);

#endif
