/* SPDX-License-Identifier: MIT */
/* Loads PMPI tools as layers. */
#ifndef QMPI_PMPI_LOAD_H
#define QMPI_PMPI_LOAD_H

#include "registry/registry.h"

/* Loads the library of `layer`, as a copy if necessary, or uses a preloaded one, and sets its
 * functions. Returns NULL, or a problem.
 */
char *qmpi_pmpi_load(struct qmpi_layer *layer);

/* Binds a library that a tool has opened to the layer below. `shares`: some of its objects are
 * copies. */
struct qmpi_group;
void qmpi_pmpi_add_object(struct qmpi_group *group, bool shares);

#endif
