/* SPDX-License-Identifier: MIT */
/* Finds the file that the dynamic loader would load for a name. */
#ifndef QMPI_ELF_LIBRARY_SEARCH_H
#define QMPI_ELF_LIBRARY_SEARCH_H

#include "elf/image.h"

/*
 * Returns the file for a name (of a DT_NEEDED entry, or passed to dlopen) in a library with this
 * image and path. The caller frees it. NULL: not found.
 */
char *qmpi_search(const struct qmpi_elf_image *image, const char *path, const char *name);

#endif
