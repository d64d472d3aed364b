/* SPDX-License-Identifier: MIT */
/*
 * Functions that replace those of the C library for PMPI tools: dlsym and dlopen, which libqmpi
 * also exports for the program (pmpi.h declares the functions that the exported dlopen
 * calls), getenv and environ, and the registration of exit handlers.
 */
#ifndef QMPI_PMPI_INTERPOSE_H
#define QMPI_PMPI_INTERPOSE_H

#include "registry/registry.h"

#include <stdbool.h>

/* ---- dlsym ----------------------------------------------------------------------------------- */

/* The C library's dlsym, and the one that follows that of libqmpi, which may belong to another
 * library that interposes dlsym. NULL until they are first needed. */
extern void *(*qmpi_real_dlsym)(void *handle, const char *name)
    __attribute__((visibility("hidden")));
extern void *(*qmpi_next_dlsym)(void *handle, const char *name)
    __attribute__((visibility("hidden")));

/*
 * Returns the result of dlsym(handle, name) called from `caller`; NULL: qmpi_next_dlsym determines
 * the result. Always sets qmpi_real_dlsym and qmpi_next_dlsym. Called by the exported dlsym
 * (arch/dlsym_NAME.S).
 */
void *qmpi_interpose_dlsym(void *handle, const char *name, const void *caller)
    __attribute__((visibility("hidden")));

/* Returns the definition that the loader finds for a name in the global scope; NULL: none. */
void *qmpi_interpose_find_global(const char *name);

/* Whether dlsym has returned functions of lower layers to a PMPI layer, which may have saved them.
 */
bool qmpi_interpose_gave_functions(int tool_id);

/*
 * The function that libqmpi exports in place of the C library's dlclose, and that dlsym returns;
 * NULL: none. It is defined in sites/dlclose.c.
 */
typedef int qmpi_interpose_closer(void *handle);
extern qmpi_interpose_closer *const qmpi_exported_dlclose __attribute__((visibility("hidden")));

/* Returns a function that does the same as the exported one, but calls `plain`, the C library's
 * dlclose, even if another library interposes dlclose as well. Defined in the same file. */
qmpi_interpose_closer *qmpi_interpose_dlclose_of(qmpi_interpose_closer *plain);

/* Whether a function belongs to the library that last looked up dlclose by dlsym. Signal handlers
 * may call this. */
bool qmpi_interpose_gave_dlclose(const void *function);

/* libqmpi's exported dlopen (arch/dlopen_NAME.S), even if its name is interposed. */
void *qmpi_interpose_dlopen(const char *file, int mode) __attribute__((visibility("hidden")));

/* ---- Environment ----------------------------------------------------------------------------- */

/* In the environment of a PMPI layer, the options env.NAME=value of its entry replace NAME. */

/* Whether the entry of the layer has such an option. */
bool qmpi_interpose_wants_environ(const struct qmpi_layer *layer);

/* These functions replace getenv and secure_getenv in the references of a tool. */
char *qmpi_interpose_getenv(const char *name);
char *qmpi_interpose_secure_getenv(const char *name);

/* Returns the replacement of `environ` for the layer: a variable that contains its environment. */
char ***qmpi_interpose_environ(struct qmpi_layer *layer);

/*
 * While the constructors of a tool run, the variables of its layer are set in the environment of
 * the process, because the references of the tool cannot be changed earlier.
 * qmpi_interpose_leave_environ restores the variables, and frees `saved`, the result of
 * qmpi_interpose_enter_environ.
 */
struct qmpi_interpose_saved;
struct qmpi_interpose_saved *qmpi_interpose_enter_environ(const struct qmpi_layer *layer);
void qmpi_interpose_leave_environ(struct qmpi_interpose_saved *saved);

/* ---- Exit handlers --------------------------------------------------------------------------- */

/*
 * Replaces __cxa_atexit, which atexit also calls, in the references of a PMPI tool. The C library
 * runs handlers in reverse order of registration. If all tools register handlers in MPI_Init before
 * they call PMPI_Init, the lowest layer registers its handler last, so that it would run first. If
 * this handler finalizes MPI, like that of IPM, the upper layer could no longer use MPI. Therefore,
 * the handlers of PMPI layers run from the top of the stack to the bottom.
 */
int qmpi_interpose_cxa_atexit(void (*function)(void *), void *argument, void *object);

#endif
