/* SPDX-License-Identifier: MIT */
/*
 * Published control and performance variables: the operations of the merged functions on their
 * handles and indices. The variable and session of the handle, and the state of MPI_T, have been
 * checked already.
 */
#ifndef QMPI_MPIT_VARIABLE_H
#define QMPI_MPIT_VARIABLE_H

#include "mpit/handle_pool.h"
#include "mpit/index.h"

/* Creates a control variable that is not published yet. */
struct qmpi_mpit_variable *qmpi_mpit_new_cvar(int tool_id, const QMPIX_Cvar *cvar);

/* Whether the scope of a control variable allows writing. */
static inline bool qmpi_mpit_is_writable(const struct qmpi_mpit_variable *cvar)
{
    return cvar->scope != MPI_T_SCOPE_CONSTANT && cvar->scope != MPI_T_SCOPE_READONLY;
}

/*
 * Allocates a slot for a handle of a variable: binds it to the object behind `object_handle`, and
 * queries the publisher for the number of elements. Returns MPI_SUCCESS, and *slot is TAKEN then;
 * else an MPI_T error code. `object` points to the copy of the object's handle in the slot.
 */
int qmpi_mpit_open(const struct qmpi_mpit_variable *variable, const void *object_handle,
                   struct qmpi_mpit_slot **slot);

/* ---- Performance variables: an MPI_T error code ---------------------------------------------- */

/* Adds the state to an opened slot, and publishes it as a handle of the session. */
int qmpi_mpit_pvar_open(struct qmpi_mpit_slot *slot, MPI_T_pvar_session session);

/* Frees a live handle; MPI_T_ERR_INVALID_HANDLE: another thread did so. If it is bound to an
 * object, waits for callbacks for this object in other threads. */
int qmpi_mpit_pvar_close(struct qmpi_mpit_slot *slot);

/* Must be called once for each handle in a list of handle_pool.h. */
void qmpi_mpit_pvar_leave(struct qmpi_mpit_slot *slot);

int qmpi_mpit_pvar_get(const struct qmpi_mpit_slot *slot, void *buffer);
int qmpi_mpit_pvar_set(const struct qmpi_mpit_slot *slot, const void *buffer);
int qmpi_mpit_pvar_zero(const struct qmpi_mpit_slot *slot);
int qmpi_mpit_pvar_get_zero(const struct qmpi_mpit_slot *slot, void *buffer);
int qmpi_mpit_pvar_begin(const struct qmpi_mpit_slot *slot);
int qmpi_mpit_pvar_end(const struct qmpi_mpit_slot *slot);
bool qmpi_mpit_pvar_is_started(const struct qmpi_mpit_slot *slot);

#endif
