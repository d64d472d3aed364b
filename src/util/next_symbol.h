/* SPDX-License-Identifier: MIT */
/* Finds the functions that libqmpi.so interposes: where its own definitions pass calls on to. */
#ifndef QMPI_UTIL_NEXT_SYMBOL_H
#define QMPI_UTIL_NEXT_SYMBOL_H

/* The functions below may be called before the memory of a sanitizer exists, and before
 * constructors have run. They must not be called in a signal handler. */

/*
 * Returns the definition of `name` that follows libqmpi in the search order of the loader, or NULL
 * if there is none. It is the definition of another library that interposes the function, such as
 * that of a sanitizer, or the one of the C library. If libqmpi comes after the C library, which is
 * possible if a preloaded tool depends on libqmpi, returns the first definition outside libqmpi.
 */
void *qmpi_next_symbol(const char *name);

/* Returns the C library's dlsym, even if another library interposes it as well, or NULL. */
typedef void *qmpi_next_symbol_finder(void *where, const char *name);
qmpi_next_symbol_finder *qmpi_next_symbol_dlsym(void);

#endif
