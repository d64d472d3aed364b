/* SPDX-License-Identifier: MIT */
/* Loading tools that are compiled for the standard ABI into programs of other MPI libraries. */
#ifndef QMPI_LOADER_ABI_NAME_H
#define QMPI_LOADER_ABI_NAME_H

/*
 * Opens a library without code that has the soname of libqmpi for the standard ABI, and needs this
 * libqmpi. Tools that are compiled for that ABI need a library of this name; with it, they find
 * this libqmpi instead. `installed` is the directory of the installed tools.
 */
void qmpi_load_abi_name(const char *installed);

#endif
