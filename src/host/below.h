/* SPDX-License-Identifier: MIT */
/*
 * The function below a hosted layer, with MPI's own signature: the next hosted tool's MPI_X or the
 * base's PMPI_X themselves; in front of a native layer a stub that gives it its context.
 */
#ifndef QMPI_BELOW_H
#define QMPI_BELOW_H

#include "layer.h"

/* Where MPI function `number` goes below `layer`; NULL: this MPI lacks it, or no stub can be made.
 */
qmpi_function *qmpi_below(struct qmpi_layer *layer, int number);

/* Why stubs cannot be made on this system; NULL: they can. */
const char *qmpi_below_problem(void);

#endif
