/* SPDX-License-Identifier: MIT */
/*
 * What a resident tool finds by dlsym in a constructor, before there is a stack: a stub that leads
 * to the MPI library until start-up, and then to the layer below the tool, whichever that is then.
 */
#ifndef QMPI_PMPI_DEFERRED_H
#define QMPI_PMPI_DEFERRED_H

#include "process/preloaded.h"

/* The stub for function `number` below a resident tool; NULL: none can be made. */
void *qmpi_deferred_find(struct qmpi_preloaded_tool *preloaded, int number);

/* Leads the stubs of the tool, if it has any, to the layers now below its layer. */
void qmpi_deferred_resolve(struct qmpi_preloaded_tool *preloaded);

#endif
