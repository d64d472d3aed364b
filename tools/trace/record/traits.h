/* SPDX-License-Identifier: MIT */
/* What trace must know of each MPI function, found once from the functions' descriptions. */
#ifndef QMPI_TOOL_TRACE_RECORD_TRAITS_H
#define QMPI_TOOL_TRACE_RECORD_TRAITS_H

#include <qmpi/observer.h>

#include <stdbool.h>

/* What a call does that is recorded. */
enum trait_action {
    DOES_NOTHING,
    DOES_SEND,            /* MPI_Send and its like */
    DOES_RECEIVE,         /* MPI_Recv */
    DOES_TRANSFER,        /* other blocking messages: MPI_Sendrecv */
    DOES_MATCH,           /* MPI_Mprobe, MPI_Improbe */
    DOES_RECEIVE_MATCHED, /* MPI_Mrecv */
    DOES_POST_MATCHED,    /* MPI_Imrecv */
    DOES_POST,            /* messages that another call completes */
    DOES_INIT_MESSAGE,    /* MPI_Send_init, MPI_Psend_init, MPI_Recv_init, … */
    DOES_INIT_OTHER,      /* other persistent requests */
    DOES_START,           /* MPI_Start, MPI_Startall */
    DOES_COMPLETE,        /* MPI_Wait and its like */
    DOES_FREE_REQUEST,    /* MPI_Request_free */
    DOES_CANCEL,          /* MPI_Cancel */
    DOES_COLLECTIVE,      /* a blocking one */
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
    DOES_CONTROL /* MPI_Pcontrol, and the beginning and end of MPI: see control.h */
};

/* How the record of a call of a function is made, by layer. */
enum trait_end {
    END_OTHERWISE, /* as record_end does it */
    END_PLAIN,     /* one record of the call */
    END_COMM,      /* one record of the call, and its communicator */
    END_SEND,      /* of the call and its message */
    END_RECEIVE
};

struct traits {
    unsigned char action; /* enum trait_action */
    unsigned char completion;
    bool has_error;      /* returns an error class */
    signed char comm;    /* argument that is a communicator; -1: none. Likewise: */
    signed char created; /* that leads to a communicator or window that the call creates */
    signed char window, file, request, count, status, message, flag;
    signed char peer, tag; /* of DOES_INIT_MESSAGE, and */
    signed char partitions, elements, type;
    bool sends;
    bool is_get, is_atomic;      /* of one-sided accesses */
    bool reads;                  /* a file */
    bool tells_comm, tells_file; /* no other event of a call does */
};

extern struct traits traits_all[MPI_LAST_FUNC] __attribute__((visibility("hidden")));

/* Finds them; again: does nothing. From `init`. */
void traits_find(void);

/* Whether a layer is called for the function also while it is switched off, and although it is not
 * among those that are chosen. */
bool traits_are_controlled(const struct traits *traits);

/* Whether its calls may tell of a message that is sent or received. */
bool traits_have_messages(const struct traits *traits);

/* Whether its calls must be followed although they are not recorded. */
bool traits_are_followed(const struct traits *traits);

#endif
