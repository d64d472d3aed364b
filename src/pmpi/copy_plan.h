/* SPDX-License-Identifier: MIT */
/*
 * Which libraries must be copied to open one for a hosted layer: of the closure of its file, as the
 * loader resolved it or will, without the MPI library and what that needs, and without those of
 * which a process has one,
 * - what calls MPI or is called for it: its references must lead to the layer below, and no program
 *   may come across it;
 * - where the tool is a layer already, it and all that is private to it, for that is its state;
 * - what needs a library that is copied.
 * What the layer has a copy of already is not copied again.
 */
#ifndef QMPI_PMPI_COPY_PLAN_H
#define QMPI_PMPI_COPY_PLAN_H

#include <stdbool.h>
#include <sys/types.h>

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
        struct qmpi_library *library; /* NULL: one that is never copied, or not found */
    } * needs;
    int need_count;
    char *copy; /* its path; NULL: there is none yet */
    bool made;  /* the layer has had it before */
    int descriptor;
    struct qmpi_library *next;
};

/* The closure of the library that is to be opened, itself first. */
struct qmpi_library *qmpi_copy_plan_make(const struct qmpi_copies *copies);
void qmpi_copy_plan_free(struct qmpi_library *first);

#endif
