/* SPDX-License-Identifier: MIT */
/*
 * The function below a hosted layer, with MPI's own signature: the next hosted tool's MPI_X or the
 * base's PMPI_X themselves; in front of a native layer a stub that gives it its context. A stub
 * belongs to the native layer's node and stays, as that does, for the whole run.
 */
#ifndef QMPI_PMPI_NEXT_H
#define QMPI_PMPI_NEXT_H

#include "registry/layer.h"

/* Where MPI function `number` goes below `layer`; NULL: this MPI lacks it, or no stub can be made.
 */
qmpi_function *qmpi_thunk_of(struct qmpi_layer *layer, int number);

/*
 * Makes the stubs that the nodes of a row still need: row[number], or NULL where none is asked for.
 * False: they cannot be made.
 */
bool qmpi_thunks_prepare(const QMPI_Context *row);

/* Where a chain goes on at `node`, once that is prepared. */
qmpi_function *qmpi_thunk_at(QMPI_Context node);

/* Why stubs cannot be made on this system; NULL: they can. */
const char *qmpi_thunks_error(void);

#endif
