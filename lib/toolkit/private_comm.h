/* SPDX-License-Identifier: MIT */
/*
 * Communicators for the internal communication of a layer, through PMPI: no layer sees it, and no
 * attribute callbacks of the application run. Also the types of sessions for MPI libraries
 * without them, in which no session is ever opened.
 */
#ifndef QMPI_TOOLKIT_PRIVATE_COMM_H
#define QMPI_TOOLKIT_PRIVATE_COMM_H

#include <qmpi/qmpi.h>

#include <stdbool.h>
#include <stddef.h>

#ifndef MPI_SESSION_NULL
typedef struct tool_no_session *MPI_Session;
static const MPI_Session MPI_SESSION_NULL = NULL; /* no macro: those tell which MPI has sessions */
#endif

/* Creates a communicator of all processes of MPI_COMM_WORLD; collective. The caller frees it.
 * Returns false if a call of MPI fails. */
bool tool_private_comm(MPI_Comm *comm);

/* Returns the group of all processes, of the session if one is given. The caller frees it. */
bool tool_world_group(MPI_Session session, MPI_Group *group);

#endif
