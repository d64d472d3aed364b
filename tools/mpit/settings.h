/* SPDX-License-Identifier: MIT */
/* set.NAME=VALUE: control variables that get values of their own before MPI is initialized. */
#ifndef QMPI_TOOL_MPIT_SETTINGS_H
#define QMPI_TOOL_MPIT_SETTINGS_H

/*
 * Sets what the layer's options say. What cannot be set is said by the one process that speaks for
 * the job; then the run ends with status 2, or goes on without it if QMPI_ON_ERROR=skip. MPI_T is
 * initialized, MPI not yet.
 */
void settings_apply(int tool_id);

#endif
