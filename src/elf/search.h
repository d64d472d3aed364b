/* SPDX-License-Identifier: MIT */
/* The file that the dynamic loader would load for a name, found without loading it. */
#ifndef QMPI_ELF_SEARCH_H
#define QMPI_ELF_SEARCH_H

#include "elf/image.h"

/*
 * Returns the file for a name (of a DT_NEEDED entry, or passed to dlopen) in a library with this
 * image and path. The caller frees it. NULL: not found.
 */
char *qmpi_elf_search(const struct qmpi_elf_image *image, const char *path, const char *name);

/* Returns the path of the library `name` in the dynamic loader's cache, which the caller frees;
 * NULL: not in the cache. */
char *qmpi_elf_search_cache(const char *name);

/* Returns `text` with $ORIGIN and ${ORIGIN} replaced by a directory. The caller frees it. */
char *qmpi_elf_expand_origin(const char *text, const char *directory);

#endif
