/* SPDX-License-Identifier: MIT */
/*
 * Libraries that a PMPI tool opens with dlopen belong to its layer, like its dependencies. They are
 * bound to the layer below, and stay loaded for the whole run, even if the tool closes them. They
 * are copied if they call MPI, or if the tool is a layer already. Libraries that others use in the
 * process do not belong to the layer. See arch_*_dlopen.S.
 */
#ifndef QMPI_PMPI_DLOPEN_H
#define QMPI_PMPI_DLOPEN_H

struct qmpi_layer;

/* The C library's dlopen; NULL until it is first needed. */
extern void *(*qmpi_real_dlopen)(const char *file, int mode) __attribute__((visibility("hidden")));

/* Returns the PMPI layer whose call of dlopen returns to `caller`; NULL: none. Sets
 * qmpi_real_dlopen. */
struct qmpi_layer *qmpi_tool_dlopen_layer(const void *caller) __attribute__((visibility("hidden")));

/* Implements dlopen for this layer. */
void *qmpi_tool_dlopen(const char *file, int mode, struct qmpi_layer *layer, const void *caller)
    __attribute__((visibility("hidden")));

#endif
