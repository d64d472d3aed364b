/* SPDX-License-Identifier: MIT */
/*
 * What the conditions of entries do to their layers: while the stack is built, they leave layers
 * off or limit them to some functions. As soon as MPI tells the rank of this process, they switch
 * the layers that depend on it.
 */
#ifndef QMPI_STARTUP_CONDITIONS_H
#define QMPI_STARTUP_CONDITIONS_H

#include "dispatch/dispatch.h"
#include "loader/loader.h"
#include "registry/registry.h"

/* Reports planned layers whose @functions are wrong, before any is loaded, and removes them. */
void qmpi_conditions_check(struct qmpi_plan *plans, int *count);

/* Lets a layer start switched off if its conditions do not hold, before it is loaded: its `init`
 * can ask. Returns NULL, or a problem, which the caller frees. */
char *qmpi_conditions_apply(struct qmpi_layer *layer);

/* Limits a layer that is complete, and not in the chains yet, to its @functions, and determines
 * what a PMPI tool receives while it is off. */
void qmpi_conditions_complete(struct qmpi_layer *layer, bool pmpi_tool);

/* Makes the terminators of the functions that initialize MPI find out the rank, if a condition of
 * a planned layer depends on it. */
void qmpi_conditions_watch(const struct qmpi_plan *plans, int count, qmpi_function **terminators);

#endif
