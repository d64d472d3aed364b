/* SPDX-License-Identifier: MIT */
/*
 * The next function below a PMPI layer, with the signature of MPI_X: MPI_X of the next PMPI tool,
 * PMPI_X of the MPI library or, above a QMPI layer, a thunk that adds the context. A thunk belongs
 * to the node of the QMPI layer, and exists for the whole run like the node.
 */
#ifndef QMPI_PMPI_NEXT_H
#define QMPI_PMPI_NEXT_H

#include "registry/registry.h"

/* Returns the target of MPI function `number` below `layer`; NULL: this MPI lacks it, or the thunk
 * cannot be created.
 */
qmpi_function *qmpi_thunk_of(struct qmpi_layer *layer, int number);

/*
 * Creates missing thunks for the nodes row[number] of a row; NULL: none required. Returns false if
 * this is not possible.
 */
bool qmpi_thunks_prepare(const QMPI_Context *row);

/* Returns the function that continues the chain at `node`, for which qmpi_thunks_prepare has been
 * called. */
qmpi_function *qmpi_thunk_at(QMPI_Context node);

/* Returns the reason why thunks cannot be created on this system; NULL: they can. */
const char *qmpi_thunks_error(void);

#endif
