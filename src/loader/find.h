/* SPDX-License-Identifier: MIT */
/* Finds the library file for the name or path of an entry of the stack. */
#ifndef QMPI_LOADER_FIND_H
#define QMPI_LOADER_FIND_H

#include "config/config.h"

/*
 * Finds the library of `entry`; `installed` is the directory of the installed tools. Returns its
 * path, which the caller frees, or NULL. In this case, *problem, which the caller frees, contains
 * the `registered` tools, the places searched, the reason for each, and a hint.
 */
char *qmpi_find_library(const struct qmpi_entry *entry, const char *installed,
                        const char *registered, char **problem);

/* Returns the tool that has the name of a stack, if there is one: its path, which the caller frees.
 */
char *qmpi_find_namesake(const char *stack, const char *installed);

/*
 * Returns the directory of the tools that are compiled for the standard ABI, beside that of the
 * other tools; the caller frees it. NULL: it is the same.
 */
char *qmpi_abi_folder(const char *installed);

#endif
