/* SPDX-License-Identifier: MIT */
/*
 * Hosted layers: unmodified PMPI tools. A tool's own MPI_X are the layer's functions; its
 * references to PMPI_X are made to point straight at the next layer, so that between two hosted
 * layers, and from the last one to the base, no code of ours runs.
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

/* Gives `layer` its library, loaded, copied or adopted, and its functions. NULL, or what is wrong.
 */
char *qmpi_pmpi_load(struct qmpi_layer *layer);

/* Binds what a tool has opened itself to the layer below. `shares`: copies are among it. */
struct qmpi_group;
void qmpi_pmpi_add_object(struct qmpi_group *group, bool shares);

#endif
