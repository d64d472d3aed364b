/* SPDX-License-Identifier: MIT */
/*
 * The results of dlsym for a preloaded tool in a constructor, before the stack exists: stubs that
 * lead to the MPI library until start-up, and then to the layer below the tool.
 */
#ifndef QMPI_PMPI_DEFERRED_H
#define QMPI_PMPI_DEFERRED_H

#include "process/process.h"

/* Returns the stub for function `number` below a preloaded tool; NULL: it cannot be created. */
void *qmpi_deferred_find(struct qmpi_preloaded_tool *preloaded, int number);

/* Sets the targets of the tool's stubs to the layers that are now below its layer. */
void qmpi_deferred_resolve(struct qmpi_preloaded_tool *preloaded);

#endif
