/* SPDX-License-Identifier: MIT */
/* Changes the references of a PMPI tool's objects to PMPI_X, MPI_X, dlsym and getenv. */
#ifndef QMPI_PMPI_RELOCATE_H
#define QMPI_PMPI_RELOCATE_H

#include "registry/registry.h"

/* The numbers of references to MPI in a group, for information. */
struct qmpi_relocation_counts {
    int calls; /* through the procedure linkage table */
    int got;   /* through the global offset table */
    int data;  /* pointers in data */
    int dlsym; /* references to dlsym */
};

/*
 * Returns the number of the MPI function below the layer to which a reference of the group to
 * `name` leads; -1: it does not lead to the layer below. `program`: see below.
 */
int qmpi_relocate_function(const struct qmpi_group *group, const char *name, bool program);

/*
 * Changes the references of an object of `group` to their targets. `program`: the object is the
 * program itself, whose references to MPI_X are calls of the application. Returns NULL, or a
 * problem, which the caller frees.
 */
char *qmpi_relocate_object(const struct qmpi_group *group, const struct qmpi_elf_loaded *object,
                           bool program, struct qmpi_relocation_counts *counts);

#endif
