/* SPDX-License-Identifier: MIT */
/*
 * Decides which libraries must be copied to open a library for a PMPI layer. In the closure of its
 * file, without the MPI library and its dependencies, and without libraries that exist once per
 * process, these are:
 * - libraries that call MPI or define MPI functions: their references must lead to the layer below,
 * and a program must not get them;
 * - if the tool is a layer already, its library and its private dependencies, because these contain
 * its state;
 * - libraries that need a copied library.
 * A library of which the layer has a copy already is not copied again.
 */
#ifndef QMPI_PMPI_COPY_PLAN_H
#define QMPI_PMPI_COPY_PLAN_H

#include <stdbool.h>
#include <sys/types.h>

struct qmpi_layer;

/* A library to be opened for a layer. */
struct qmpi_copies {
    const struct qmpi_layer *layer;
    const char *path;
    bool opened; /* opened by the tool; else it is the library of the tool itself */
    /* Output. */
    bool shares; /* dependencies are copied */
    bool needed; /* others use the originals; else the originals serve as well, until others use
                    them */
};

struct qmpi_library {
    char *path;
    dev_t device;
    ino_t file;
    bool loaded;    /* the original is in the process */
    bool calls_mpi; /* it defines MPI functions or refers to them */
    bool is_private;
    bool copied;
    struct {
        char *name;
        struct qmpi_library *library; /* NULL: never copied, or not found */
    } * needs;
    int need_count;
    char *copy; /* path of the copy; NULL: none yet */
    bool made;  /* the layer had this copy before */
    int descriptor;
    struct qmpi_library *next;
};

/* Returns the closure of the library to be opened, which comes first. */
struct qmpi_library *qmpi_copy_plan_make(const struct qmpi_copies *copies);
void qmpi_copy_plan_free(struct qmpi_library *first);

#endif
