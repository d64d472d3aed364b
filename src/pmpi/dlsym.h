/* SPDX-License-Identifier: MIT */
/* What the exported dlsym answers itself; see arch_*_dlsym.S. */
#ifndef QMPI_PMPI_DLSYM_H
#define QMPI_PMPI_DLSYM_H

#include <stdbool.h>

/* The C library's dlsym; NULL until it is first needed. */
extern void *(*qmpi_real_dlsym)(void *handle, const char *name)
    __attribute__((visibility("hidden")));

/*
 * What dlsym(handle, name), called from `caller`, is to answer; NULL: what the C library's answers.
 * Sets qmpi_real_dlsym in any case.
 */
void *qmpi_tool_dlsym(void *handle, const char *name, const void *caller)
    __attribute__((visibility("hidden")));

/* What the loader finds under a name in the global scope; NULL: nothing. */
void *qmpi_tool_dlsym_global(const char *name) __attribute__((visibility("hidden")));

/* Whether dlsym has told a hosted layer where functions below it are; it may keep the answers. */
bool qmpi_tool_dlsym_told(int tool_id) __attribute__((visibility("hidden")));

#endif
