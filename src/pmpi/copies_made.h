/* SPDX-License-Identifier: MIT */
/* The copies of libraries that were made. They stay for the run. */
#ifndef QMPI_PMPI_COPIES_MADE_H
#define QMPI_PMPI_COPIES_MADE_H

#include <sys/types.h>

struct qmpi_layer;

/* Notes one: where it is, and of what. `soname` is the original's; NULL: it has none. One thread at
 * a time. */
void qmpi_copies_add(const char *copy, const char *path, dev_t device, ino_t file,
                     const char *soname);

/* The original of the copy with this path; the path itself where that is no copy. */
const char *qmpi_copies_original(const char *path);

/*
 * The path of the layer's copy of the library that `name` means: a path, a file's name, a soname.
 * NULL: it has none.
 */
const char *qmpi_copies_find(const struct qmpi_layer *layer, const char *name);

#endif
