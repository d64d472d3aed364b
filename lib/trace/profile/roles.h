/* SPDX-License-Identifier: MIT */
/* What a profile needs to know of an MPI function, by its name: tools/profile/record/traits.c finds
 * the same from descriptions of the functions. */
#ifndef QMPI_TRACE_PROFILE_ROLES_H
#define QMPI_TRACE_PROFILE_ROLES_H

#include "trace/definitions.h"

#include <stdbool.h>

struct role {
    bool begins_mpi, ends_mpi, aborts; /* MPI_Init, MPI_Finalize, MPI_Abort */
    bool begins_session, ends_session;
    bool controls; /* MPI_Pcontrol */
    bool posts;    /* receives, which complete later */
    bool starts;   /* MPI_Start, MPI_Startall */
    bool has_comm; /* it is given a communicator */
    bool is_one_sided, has_transfers, has_bytes;
    bool polls;               /* asks, and does not wait */
    bool completes;           /* requests, of which it may wait for some */
    bool may_wait;            /* for the peer of its message */
    bool sends_synchronously; /* nonblocking */
    bool fetches;             /* an atomic access with a result */
    bool frees_comm;
};

struct role role_find(const struct trace_function *function);

#endif
