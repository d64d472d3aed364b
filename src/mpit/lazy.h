/* SPDX-License-Identifier: MIT */
/* Layers that publish when somebody asks: see QMPIX_Register_publisher. */
#ifndef QMPI_MPIT_LAZY_H
#define QMPI_MPIT_LAZY_H

/* Somebody initialises MPI_T: lets all registered layers publish, once, and waits until they have.
 */
void qmpi_mpit_lazy_start(void);

/* The layer has no place in the stack after all: nobody asks it to publish. */
void qmpi_mpit_lazy_forget(int tool_id);

#endif
