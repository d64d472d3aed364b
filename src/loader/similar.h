/* SPDX-License-Identifier: MIT */
/* What an unknown name was probably meant to be. */
#ifndef QMPI_LOADER_SIMILAR_H
#define QMPI_LOADER_SIMILAR_H

/*
 * Returns the name that `name` was probably meant to be: of a stack, or of a tool in the
 * directories of tools, `installed` and `abi` (NULL: none). The caller frees it. NULL: none is
 * similar.
 */
char *qmpi_find_similar(const char *name, const char *installed, const char *abi);

#endif
