/* SPDX-License-Identifier: MIT */
/*
 * Private copies of libraries. The loader loads each file only once. A tool that is in the stack
 * twice needs its data twice. A tool's dependency that calls MPI must not be the object that the
 * program uses or will use, because it would be unknown whether its calls belong to the layer or to
 * the program. Such libraries are loaded from copies in a temporary directory of this process. The
 * names of a copy match no name of its original, so that the loader does not take one for the
 * other.
 *
 * Among the libraries in the closure of the library to be opened, the following ones are copied,
 * unless the layer has a copy of them already. The MPI library with its dependencies, and libraries
 * that exist once per process, are never copied.
 * - libraries that call MPI or define MPI functions, except the library of the tool itself: their
 *   references must lead to the layer below, so the program must not use the same object;
 * - if the library of the tool is in the process already, for another layer or because the program
 *   has loaded it: this library and its private dependencies, because these contain its state;
 * - libraries that need a copied library.
 */
#ifndef QMPI_PMPI_COPIES_H
#define QMPI_PMPI_COPIES_H

#include <stdbool.h>

struct qmpi_layer;

/* A library to be opened for a layer. */
struct qmpi_copies {
    const struct qmpi_layer *layer;
    const char *path;
    bool opened; /* opened by the tool; else it is the library of the tool itself */
    /* Output. */
    bool has_copies; /* a dependency is used as a copy */
    bool needed; /* others use the originals, so only copies can be opened; otherwise, the originals
                    may be opened, too */
};

/*
 * Creates the required copies of a library and its dependencies. Returns the path to open, of the
 * copy or the library, which the caller frees. On failure, returns NULL and sets *problem, which
 * the caller frees. Any thread.
 */
char *qmpi_copies_make(struct qmpi_copies *copies, char **problem);

/* Returns the path of the layer's copy of the library `name`: a path, a file name or a soname.
 * NULL: the layer has no copy of it. Any thread. */
const char *qmpi_copies_find(const struct qmpi_layer *layer, const char *name);

#endif
