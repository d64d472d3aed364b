/* SPDX-License-Identifier: MIT */
/* Describes the libraries that PMPI layers share. */
#ifndef QMPI_PMPI_SHARING_H
#define QMPI_PMPI_SHARING_H

#include "pmpi/closure.h"
#include "registry/registry.h"

/*
 * Returns a text with the libraries that the object with index `first` needs and that belong to
 * layers below `layer`, so that they have a common state. The caller frees it. NULL: none, except
 * libraries that exist once per process.
 */
char *qmpi_shares(struct qmpi_closure *closure, int first, const struct qmpi_layer *layer);

#endif
