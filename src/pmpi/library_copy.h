/* SPDX-License-Identifier: MIT */
/*
 * The loader loads a file once, for whoever asks. A tool that stands in the stack twice needs its
 * data twice; and a library of a tool's own that calls MPI must not be the one that the program
 * uses, or will use, for then nobody could tell whose a call is. Such libraries are loaded from
 * copies, in a temporary folder of this process, that answer to no name of the originals'.
 */
#ifndef QMPI_COPIES_H
#define QMPI_COPIES_H

#include "elf/image.h"

#include <stdbool.h>

struct qmpi_layer;

/* What is to be opened for a layer. */
struct qmpi_copies {
    const struct qmpi_layer *layer;
    const char *path;
    bool opened; /* by the tool; else it is the tool's library itself */
    /* To be set. */
    bool shares; /* dependencies are copied */
    bool needed; /* others have the originals; else these serve as well, until others come */
};

/*
 * Makes the copies that the library and its dependencies need. Returns the path to open, of a copy
 * or the library's own (to be freed); NULL and *problem (to be freed): it cannot. Any thread.
 */
char *qmpi_copies_make(struct qmpi_copies *copies, char **problem);

/* The original of the copy with this path; the path itself where that is no copy. */
const char *qmpi_copies_original(const char *path);

/*
 * The path of the layer's copy of the library that `name` means: a path, a file's name, a soname.
 * NULL: it has none.
 */
const char *qmpi_copies_find(const struct qmpi_layer *layer, const char *name);

#endif
