/* SPDX-License-Identifier: MIT */
/* Loading tools that are compiled for the standard ABI into programs of other MPI libraries. */
#ifndef QMPI_LOADER_ABI_NAME_H
#define QMPI_LOADER_ABI_NAME_H

/*
 * Opens a library without code that has the soname of libqmpi for the standard ABI, and needs this
 * libqmpi. Tools that are compiled for that ABI need a library of this name; with it, they find
 * this libqmpi instead. The library is searched for in `installed`, the directory of the installed
 * tools, then in the directory of the tool, whose path is `tool`, and in that of the installed
 * tools beside it.
 */
void qmpi_load_abi_name(const char *installed, const char *tool);

/* Returns its path, which the caller frees; NULL: it is not there. */
char *qmpi_find_abi_name(const char *installed, const char *tool);

#endif
