/* SPDX-License-Identifier: MIT */
/* Rewrites what a hosted tool's objects refer to: PMPI_X, MPI_X, dlsym and getenv. */
#ifndef QMPI_PMPI_RELOCATE_H
#define QMPI_PMPI_RELOCATE_H

#include "registry/objects.h"

/* How the objects of a group reach MPI, for those who ask. */
struct qmpi_relocation_counts {
    int calls; /* through the procedure linkage table */
    int got;   /* through the global offset table */
    int data;  /* pointers in data */
    int dlsym; /* references to dlsym */
};

/*
 * The number of the MPI function below the group's layer to which a reference of the group's to
 * `name` leads; -1: it does not lead there. `program` as below.
 */
int qmpi_relocate_function(const struct qmpi_group *group, const char *name, bool program);

/*
 * Points the references of one object of `group` where they belong. `program`: it is the program
 * itself, whose references to MPI_X are the application's. NULL, or what is wrong (to be freed).
 */
char *qmpi_relocate_object(const struct qmpi_group *group, const struct qmpi_elf_loaded *object,
                           bool program, struct qmpi_relocation_counts *counts);

#endif
