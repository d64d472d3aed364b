/* SPDX-License-Identifier: MIT */
/* The results of the exported dlsym that differ from those of the C library; see arch_*_dlsym.S. */
#ifndef QMPI_PMPI_DLSYM_H
#define QMPI_PMPI_DLSYM_H

#include <stdbool.h>

/* The C library's dlsym; NULL until it is first needed. */
extern void *(*qmpi_real_dlsym)(void *handle, const char *name)
    __attribute__((visibility("hidden")));

/*
 * Returns the result of dlsym(handle, name) called from `caller`; NULL: the C library determines
 * the result. Always sets qmpi_real_dlsym.
 */
void *qmpi_tool_dlsym(void *handle, const char *name, const void *caller)
    __attribute__((visibility("hidden")));

/* Returns what the loader finds for a name in the global scope; NULL: nothing. */
void *qmpi_tool_dlsym_global(const char *name) __attribute__((visibility("hidden")));

/* Whether dlsym has returned functions of lower layers to a PMPI layer, which may have saved them.
 */
bool qmpi_tool_dlsym_told(int tool_id) __attribute__((visibility("hidden")));

/*
 * The function that libqmpi exports in the place of the C library's dlclose, and that dlsym returns
 * in its place, too; NULL: none. Defined where that function is.
 */
extern int (*const qmpi_exported_dlclose)(void *) __attribute__((visibility("hidden")));

/* Whether a function is of the library that was the last one to get it from dlsym. Signal handlers
 * may ask. */
bool qmpi_tool_dlsym_gave_dlclose(const void *function) __attribute__((visibility("hidden")));

#endif
