/* SPDX-License-Identifier: MIT */
/*
 * Applies the conditions of entries to their layers. While the stack is built, layers are left off
 * or limited to some functions. As soon as the rank of this process is known from MPI, the layers
 * whose conditions depend on it are switched.
 */
#ifndef QMPI_STARTUP_CONDITIONS_H
#define QMPI_STARTUP_CONDITIONS_H

#include "config/config.h"
#include "dispatch/dispatch.h"
#include "registry/registry.h"

/* Checks @functions of an entry, before any layer is loaded. Returns NULL, or a problem, which the
 * caller frees. */
char *qmpi_conditions_check(const struct qmpi_tool_entry *entry);

/* Lets a layer start switched off if its conditions do not hold. Called before the layer is loaded,
 * because its `init` may ask whether it is on. Returns NULL, or a problem, which the caller
 * frees. */
char *qmpi_conditions_apply(struct qmpi_layer *layer);

/* Limits a layer that is complete, and not in the chains yet, to its @functions, and determines
 * what a PMPI tool receives while it is off. */
void qmpi_conditions_complete(struct qmpi_layer *layer, bool pmpi_tool);

/* Makes the terminators of the functions that initialize MPI find out the rank, for layers whose
 * conditions depend on it. */
void qmpi_conditions_watch(qmpi_function **targets);

/* Makes the terminator of MPI_Pcontrol, in the first call with level 1, switch on the layers that
 * @enabled=no has left off, if their other conditions hold. */
void qmpi_conditions_watch_pcontrol(qmpi_function **targets);

#endif
