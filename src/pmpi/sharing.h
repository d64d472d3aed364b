/* SPDX-License-Identifier: MIT */
/* What hosted layers have in common, for those who ask. */
#ifndef QMPI_PMPI_SHARING_H
#define QMPI_PMPI_SHARING_H

#include "registry/layer.h"

/*
 * The libraries that a hosted layer shares with those below it, in words (to be freed): what they
 * keep in them is one state. NULL: none, but for those of which a process has one.
 */
char *qmpi_shares(const struct qmpi_layer *layer);

#endif
