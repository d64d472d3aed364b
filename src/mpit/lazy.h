/* SPDX-License-Identifier: MIT */
/* Layers that publish on demand: see QMPIX_Register_publisher. */
#ifndef QMPI_MPIT_LAZY_H
#define QMPI_MPIT_LAZY_H

/* Called when MPI_T is initialized: makes all registered layers publish, once, and waits for them.
 */
void qmpi_mpit_lazy_start(void);

/* Removes a layer that is left out of the stack, so that it does not publish. */
void qmpi_mpit_lazy_forget(int tool_id);

#endif
