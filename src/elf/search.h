/* SPDX-License-Identifier: MIT */
/* The file that the dynamic loader would load for a name, found without loading it: by the run path
 * of the library that contains the name, LD_LIBRARY_PATH and the cache of the loader, which also
 * lists the libraries in the default directories. */
#ifndef QMPI_ELF_SEARCH_H
#define QMPI_ELF_SEARCH_H

#include "elf/image.h"

/*
 * Returns the path of the file for a name that a library needs (DT_NEEDED) or passes to dlopen;
 * `image` and `path` are those of this library. The caller frees the result. NULL: not found. A
 * name with a slash is not searched for: the result is this name, with $ORIGIN replaced.
 */
char *qmpi_elf_search(const struct qmpi_elf_image *image, const char *path, const char *name);

/* Returns the path of the library `name` in the dynamic loader's cache, which the caller frees;
 * NULL: not in the cache. */
char *qmpi_elf_search_cache(const char *name);

/* Returns `text` with $ORIGIN and ${ORIGIN} replaced by a directory. The caller frees it. */
char *qmpi_elf_expand_origin(const char *text, const char *directory);

#endif
