/* SPDX-License-Identifier: MIT */
/* Finds the library file for the name or path of an entry in QMPI_TOOLS. */
#ifndef QMPI_LOADER_FIND_H
#define QMPI_LOADER_FIND_H

/*
 * Finds the library of `name`; `installed` is the directory of the installed tools. Returns its
 * path, which the caller frees, or NULL. In this case, *problem, which the caller frees, contains
 * the `registered` tools, the places searched, the reason for each, and a hint.
 */
char *qmpi_find_library(const char *name, const char *installed, const char *registered,
                        char **problem);

/*
 * Returns the directory of the tools that are compiled for the standard ABI, beside that of the
 * other tools; the caller frees it. NULL: it is the same.
 */
char *qmpi_abi_folder(const char *installed);

#endif
