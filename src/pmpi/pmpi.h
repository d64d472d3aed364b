/* SPDX-License-Identifier: MIT */
/*
 * PMPI layers: unmodified PMPI tools. The functions MPI_X of a tool are the interceptors of the
 * layer. The references of the tool to PMPI_X are changed to point directly to the next layer, so
 * that no code of libqmpi runs between two adjacent PMPI layers. Nor does any run between the
 * lowest layer and the MPI library, except in functions whose targets start-up wraps, such as
 * MPI_Init.
 *
 * Files: load (a tool becomes a layer, and what it opens with dlopen becomes part of it), copies
 * (private copies of libraries), closure (the objects of a layer, and the layer of an address),
 * relocate (the references of the objects), thunk (the functions to which they lead), interpose
 * (dlsym, environment and exit handlers), fortran_wrappers, arch/ (the processor's part).
 */
#ifndef QMPI_PMPI_PMPI_H
#define QMPI_PMPI_PMPI_H

#include "pmpi/closure.h"
#include "pmpi/fortran_wrappers.h"
#include "pmpi/interpose.h"
#include "pmpi/relocate.h"
#include "pmpi/thunk.h"

/* Loads the library of `layer`, as a copy if necessary, or uses a preloaded one, and sets its
 * functions. Returns NULL, or a problem, which the caller frees. */
char *qmpi_pmpi_load(struct qmpi_layer *layer);

/*
 * The exported dlopen (arch/dlopen_NAME.S). Libraries that a PMPI tool opens belong to its layer,
 * like its dependencies. Their references lead to the layer below, and they stay loaded for the
 * whole run, even if the tool closes them. They are copied if they call MPI, or if the tool's own
 * library was in the process already. Libraries that others use in the process do not belong to the
 * layer.
 */

/* The C library's dlopen; NULL until it is first needed. */
extern void *(*qmpi_real_dlopen)(const char *file, int mode) __attribute__((visibility("hidden")));

/* Returns the PMPI layer whose call of dlopen returns to `caller`; NULL: none. Sets
 * qmpi_real_dlopen. */
struct qmpi_layer *qmpi_pmpi_dlopen_layer(const void *caller) __attribute__((visibility("hidden")));

/* Implements dlopen for this layer. */
void *qmpi_pmpi_dlopen(const char *file, int mode, struct qmpi_layer *layer, const void *caller)
    __attribute__((visibility("hidden")));

#endif
