/* SPDX-License-Identifier: MIT */
/* From the name or path of a QMPI_TOOLS entry to a library file. */
#ifndef QMPI_LOADER_FIND_H
#define QMPI_LOADER_FIND_H

/*
 * Finds the library of `name`; `installed` is the folder of the installed tools. Returns its path,
 * to be freed, or NULL; then *problem (to be freed) says which tools are `announced`, where it was
 * sought, what stands in the way at each place, and a hint.
 */
char *qmpi_find_library(const char *name, const char *installed, const char *registered,
                        char **problem);

#endif
