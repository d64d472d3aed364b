/* SPDX-License-Identifier: MIT */
/* Whose code an address is: hosted layers' calls carry no context. */
#ifndef QMPI_PMPI_OWNER_H
#define QMPI_PMPI_OWNER_H

#include "registry/layer.h"

/* Whether any layer is hosted: a quick answer for those who are asked often. */
extern bool qmpi_pmpi_is_used __attribute__((visibility("hidden")));

/* The hosted layer whose code holds `address`; also while that layer is being loaded. NULL: none.
 */
struct qmpi_layer *qmpi_pmpi_layer_of(const void *address);

/*
 * Where a call of MPI_X, or PMPI_X, leads that hosted code makes before its references are
 * rewritten: from a constructor. NULL: the caller is no hosted layer's.
 */
qmpi_function *qmpi_pmpi_target(int number, const void *caller, bool pmpi);

#endif
