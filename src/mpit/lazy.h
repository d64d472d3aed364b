/* SPDX-License-Identifier: MIT */
/* Layers, and the dispatcher, that publish on demand: see QMPIX_Register_publisher. */
#ifndef QMPI_MPIT_LAZY_H
#define QMPI_MPIT_LAZY_H

/* Calls `publish` when MPI_T is initialized; immediately if it has been. tool_id 0: before those of
 * the layers. */
void qmpi_mpit_lazy_add(int tool_id, void (*publish)(int tool_id));

/* Called when MPI_T is initialized: makes all registered layers publish, once, and waits for them.
 */
void qmpi_mpit_lazy_start(void);

/* Removes a layer that is left out of the stack, so that it does not publish. */
void qmpi_mpit_lazy_forget(int tool_id);

#endif
