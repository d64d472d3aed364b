/* SPDX-License-Identifier: MIT */
/* Describes the libraries that PMPI layers share. */
#ifndef QMPI_PMPI_SHARING_H
#define QMPI_PMPI_SHARING_H

#include "registry/registry.h"

/*
 * Returns a text with the libraries that a PMPI layer shares with layers below it, so that they
 * have a common state. The caller frees it. NULL: none, except libraries that exist once per
 * process.
 */
char *qmpi_shares(const struct qmpi_layer *layer);

#endif
