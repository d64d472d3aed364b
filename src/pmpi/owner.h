/* SPDX-License-Identifier: MIT */
/* Finds the layer of an address, because calls of PMPI tools have no context. */
#ifndef QMPI_PMPI_OWNER_H
#define QMPI_PMPI_OWNER_H

#include "registry/registry.h"

/* Whether there are PMPI layers; for a fast check on frequent calls. */
extern bool qmpi_pmpi_is_used __attribute__((visibility("hidden")));

/* Returns the PMPI layer whose code contains `address`, also while the layer is being loaded. NULL:
 * none.
 */
struct qmpi_layer *qmpi_pmpi_layer_of(const void *address);

/*
 * Returns the target of a call of MPI_X or PMPI_X that a PMPI tool makes before its references are
 * changed, from a constructor. NULL: the caller does not belong to a PMPI layer.
 */
qmpi_function *qmpi_pmpi_target(int number, const void *caller, bool pmpi);

#endif
