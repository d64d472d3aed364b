/* SPDX-License-Identifier: MIT */
/* Finds a library's path in the dynamic loader's cache without loading it. */
#ifndef QMPI_ELF_LD_CACHE_H
#define QMPI_ELF_LD_CACHE_H

/* Returns the path of the library `name`, which the caller frees; NULL: not in the cache. */
char *ld_cache_find(const char *name);

#endif
