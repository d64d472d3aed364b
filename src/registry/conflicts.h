/* SPDX-License-Identifier: MIT */
/*
 * Layers that cannot be used together: what tools declare in QMPIX_Tool_info and layers by
 * QMPIX_Tool_declare.
 */
#ifndef QMPI_REGISTRY_CONFLICTS_H
#define QMPI_REGISTRY_CONFLICTS_H

#include "registry/layer.h"

/*
 * Checks what is known about a layer so far, against the layers below it. Its tool is loaded, or is
 * a PMPI tool. Returns NULL, or a problem, which the caller frees. No problem: it does not
 * conflict, or @force=yes is given.
 */
char *qmpi_conflict_check(const struct qmpi_layer *layer);

#endif
