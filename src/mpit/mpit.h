/* SPDX-License-Identifier: MIT */
/*
 * The interface between src/mpit and the dispatcher. In a stack with layers, the terminators of the
 * MPI_T functions call merged functions instead of those of the MPI library (see merged.h). This is
 * so from the start, because a layer may publish at any time. Without layers, nothing is published,
 * and MPI_T_X leads directly to the MPI library. QMPI layers that call PMPI_T_X see only the
 * library, but their initializing and finalizing calls are counted.
 */
#ifndef QMPI_MPIT_MPIT_H
#define QMPI_MPIT_MPIT_H

#include "dispatch/dispatch.h"

#include <stdbool.h>

/*
 * Makes merged functions the targets of the terminators, and those that count the users of MPI_T
 * also the targets of PMPI_X. Before this call, both kinds of targets are the functions of the
 * library.
 */
void qmpi_mpit_merge(qmpi_function **terminator_targets, qmpi_function **pmpi_targets);

/* Hides everything that a layer has published, because it is left out of the stack. */
void qmpi_mpit_leave_out(int tool_id);

/* Sets the functions that query and switch layers: see QMPIX_Tool_set_enabled. Must be called
 * before the other functions of this header.
 */
void qmpi_mpit_use_switch(bool (*is_enabled)(int tool_id),
                          int (*set_enabled)(int tool_id, bool enabled));

/* Arranges that the variables of the dispatcher are published on demand (mpit/library.h). Called
 * when all layers exist. */
void qmpi_mpit_publish_stack(void);

#endif
