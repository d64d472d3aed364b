/* SPDX-License-Identifier: MIT */
/*
 * Communicators on which a layer's processes talk among themselves, through PMPI: no layer sees it,
 * and none of the application's attribute callbacks runs. And what an MPI older than 4.0 lacks of
 * sessions: in it none is ever opened.
 */
#ifndef QMPI_TOOLKIT_PRIVATE_COMM_H
#define QMPI_TOOLKIT_PRIVATE_COMM_H

#include <mpi.h>
#include <stdbool.h>
#include <stddef.h>

#if MPI_VERSION < 4
typedef struct tool_no_session *MPI_Session;
#define MPI_SESSION_NULL ((MPI_Session)NULL)
#endif

/* Of all processes of MPI_COMM_WORLD; collective. The caller frees it. False: MPI would not. */
bool tool_private_comm(MPI_Comm *comm);

/* The group of all processes, of the session's where one is given. The caller frees it. */
bool tool_world_group(MPI_Session session, MPI_Group *group);

#endif
