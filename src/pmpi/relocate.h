/* SPDX-License-Identifier: MIT */
/*
 * The references of a PMPI layer's objects to PMPI_X, MPI_X, dlsym, getenv and others. They are
 * changed when the objects are loaded. Relocations that refer to the layer below (aligned pointers
 * in tables or data) are recorded, so that they can be changed again when a layer is switched.
 * Pointers that a tool has obtained from dlsym and saved are not recorded, and do not change.
 */
#ifndef QMPI_PMPI_RELOCATE_H
#define QMPI_PMPI_RELOCATE_H

#include "registry/registry.h"

/* The numbers of references to PMPI_X and dlsym in a group, for information. */
struct qmpi_relocate_counts {
    int calls; /* through the procedure linkage table */
    int got;   /* through the global offset table */
    int data;  /* pointers in data */
    int dlsym; /* references to dlsym */
};

/* Changes the references of the objects of a group to their targets, and records those that lead to
 * the layer below. Adds to `counts`. Returns NULL, or a problem, which the caller frees. */
char *qmpi_relocate_group(const struct qmpi_layer_group *group,
                          struct qmpi_relocate_counts *counts);

/*
 * Prepares to set the recorded relocations of a layer to the nodes of a row: makes the relocations
 * writable, and creates missing thunks. row[number] is NULL if nothing changes. Returns false on
 * failure; the relocations are unchanged. In any case, qmpi_relocate_protect must follow.
 */
bool qmpi_relocate_unprotect(int tool_id, const QMPI_Context *row);

/* Sets the relocations, each atomically, except those that the tool itself has changed. */
void qmpi_relocate_apply(int tool_id, const QMPI_Context *row);

/* Makes the pages that qmpi_relocate_unprotect has made writable read-only again, for all
 * layers. */
void qmpi_relocate_protect(void);

/* Forgets these pages in a child that another thread has forked while they were writable; they stay
 * writable there. */
void qmpi_relocate_forget(void);

#endif
