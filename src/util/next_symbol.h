/* SPDX-License-Identifier: MIT */
/* Finds the functions of the C library that libqmpi.so interposes. */
#ifndef QMPI_UTIL_NEXT_SYMBOL_H
#define QMPI_UTIL_NEXT_SYMBOL_H

/*
 * Returns the definition of `name` that follows libqmpi in the search order of the loader, or NULL
 * if there is none. It is the definition of the C library, or of another library that interposes
 * the function. If libqmpi comes after the C library, which is possible if a preloaded tool depends
 * on libqmpi, returns the first of all definitions. May be called before the memory of a sanitizer
 * exists. Must not be called in a signal handler.
 */
void *qmpi_next_symbol(const char *name);

#endif
