/* SPDX-License-Identifier: MIT */
/* Layers that publish when somebody asks: see QMPIX_Register_publisher. */
#ifndef QMPI_MPIT_DEMAND_H
#define QMPI_MPIT_DEMAND_H

/* Somebody initialises MPI_T: lets all registered layers publish, once, and waits until they have.
 */
void qmpi_mpit_demand(void);

#endif
