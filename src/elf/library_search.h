/* SPDX-License-Identifier: MIT */
/* Where the dynamic loader will find a library that is not loaded yet. */
#ifndef QMPI_ELF_LIBRARY_SEARCH_H
#define QMPI_ELF_LIBRARY_SEARCH_H

#include "elf/image.h"

/*
 * The file that a name (of a DT_NEEDED entry, or given to dlopen) means to the library that has
 * this image and path; to be freed. NULL: none is found.
 */
char *qmpi_search(const struct qmpi_elf_image *image, const char *path, const char *name);

#endif
