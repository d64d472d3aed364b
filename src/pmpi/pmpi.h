/* SPDX-License-Identifier: MIT */
/*
 * PMPI layers: unmodified PMPI tools. The functions MPI_X of a tool are the interceptors of the
 * layer. Its references to PMPI_X are changed to point directly to the next layer, so that no code
 * of libqmpi runs between two PMPI layers, or between the lowest one and the MPI library.
 *
 * Files: closure (which objects a layer consists of), opening (while they are loaded), copy_plan
 * and library_copy (those that must be the layer's alone), relocate (their relocations), next
 * (where they lead), relocations (where they lead when a layer was switched), dlopen, dlsym and
 * environ (what a tool opens and looks up while it runs), deferred (what it has looked up before it
 * was a layer), arch/ (the processor's part).
 */
#ifndef QMPI_PMPI_PMPI_H
#define QMPI_PMPI_PMPI_H

#include "registry/layer.h"

/* Loads the library of `layer`, as a copy if necessary, or uses a preloaded one, and sets its
 * functions. Returns NULL, or a problem.
 */
char *qmpi_pmpi_load(struct qmpi_layer *layer);

/* Binds a library that a tool has opened to the layer below. `shares`: some of its objects are
 * copies. */
struct qmpi_group;
void qmpi_pmpi_add_object(struct qmpi_group *group, bool shares);

#endif
