/* SPDX-License-Identifier: MIT */
/*
 * Control variables and performance variables of ours, behind handles: what the merged functions
 * do where a handle or an index is ours. The handle's variable, session and MPI_T's state have been
 * looked at already.
 */
#ifndef QMPI_MPIT_VARIABLE_H
#define QMPI_MPIT_VARIABLE_H

#include "mpit/handle_pool.h"
#include "mpit/index.h"

/* A cvar that is not published yet. */
struct qmpi_mpit_variable *qmpi_mpit_new_cvar(int tool_id, const QMPIX_Cvar *cvar);

/* Whether a cvar's scope lets it be written at all. */
static inline bool qmpi_mpit_is_writable(const struct qmpi_mpit_variable *cvar)
{
    return cvar->scope != MPI_T_SCOPE_CONSTANT && cvar->scope != MPI_T_SCOPE_READONLY;
}

/*
 * Makes room for a handle of a variable: binds it to the object behind `object_handle` and asks the
 * publisher for the count. MPI_SUCCESS, and then *slot is TAKEN; else an MPI_T error code. `object`
 * is where the object's handle is kept: the slot's own word.
 */
int qmpi_mpit_open(const struct qmpi_mpit_variable *variable, const void *object_handle,
                   struct qmpi_mpit_slot **slot);

/* ---- Performance variables: an MPI_T error code ------------------------------------------------
 */

/* Gives a slot that was opened its state and publishes it as a handle of the session. */
int qmpi_mpit_pvar_open(struct qmpi_mpit_slot *slot, MPI_T_pvar_session session);

/* Ends a live handle; MPI_T_ERR_INVALID_HANDLE: somebody else did. One that is bound to an object:
 * waits for callbacks that are called with that object in other threads. */
int qmpi_mpit_pvar_close(struct qmpi_mpit_slot *slot);

/* To be called once for each handle in a list of handle_pool.h. */
void qmpi_mpit_pvar_leave(struct qmpi_mpit_slot *slot);

int qmpi_mpit_pvar_get(const struct qmpi_mpit_slot *slot, void *buffer);
int qmpi_mpit_pvar_set(const struct qmpi_mpit_slot *slot, const void *buffer);
int qmpi_mpit_pvar_zero(const struct qmpi_mpit_slot *slot);
int qmpi_mpit_pvar_get_zero(const struct qmpi_mpit_slot *slot, void *buffer);
int qmpi_mpit_pvar_begin(const struct qmpi_mpit_slot *slot);
int qmpi_mpit_pvar_end(const struct qmpi_mpit_slot *slot);
bool qmpi_mpit_pvar_is_started(const struct qmpi_mpit_slot *slot);

/* Raises (lowers) the marks of all started handles of a watermark. */
void qmpi_mpit_pvar_sample(const struct qmpi_mpit_variable *variable);

#endif
