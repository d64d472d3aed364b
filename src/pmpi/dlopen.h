/* SPDX-License-Identifier: MIT */
/*
 * What a hosted tool opens by dlopen is its own, as what it needs is: it is bound to the layer
 * below, stays for the run, also when the tool closes it, and is a copy where it calls MPI, or
 * where the tool is a layer already. What is in the process for others stays theirs. See
 * arch_*_dlopen.S.
 */
#ifndef QMPI_PMPI_DLOPEN_H
#define QMPI_PMPI_DLOPEN_H

struct qmpi_layer;

/* The C library's dlopen; NULL until it is first needed. */
extern void *(*qmpi_real_dlopen)(const char *file, int mode) __attribute__((visibility("hidden")));

/* The hosted layer whose call of dlopen returns to `caller`; NULL: none. Sets qmpi_real_dlopen. */
struct qmpi_layer *qmpi_tool_dlopen_layer(const void *caller) __attribute__((visibility("hidden")));

/* dlopen for that layer. */
void *qmpi_tool_dlopen(const char *file, int mode, struct qmpi_layer *layer, const void *caller)
    __attribute__((visibility("hidden")));

#endif
