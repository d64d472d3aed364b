/* SPDX-License-Identifier: MIT */
/*
 * The relocations of PMPI layers that refer to the layer below: aligned pointers in tables or data
 * of the tool. They are recorded when the tool is loaded, so that they can be changed when a layer
 * is switched. Pointers that a tool got from dlsym and saved are not included, and do not change.
 */
#ifndef QMPI_PMPI_RELOCATIONS_H
#define QMPI_PMPI_RELOCATIONS_H

#include "registry/registry.h"

#include <qmpi/qmpi.h>

/* Records the relocations of an object, after qmpi_relocate_object with the same arguments. */
void qmpi_relocations_record(const struct qmpi_group *group, const struct qmpi_elf_loaded *object,
                             bool program);

/*
 * Makes the relocations of a layer writable, to set them to the nodes of a row; row[number] is NULL
 * if nothing changes. Returns false on failure; the relocations are unchanged. In any case,
 * qmpi_relocations_protect must follow.
 */
bool qmpi_relocations_unprotect(int tool_id, const QMPI_Context *row);

/* Sets the relocations, each atomically, except those that the tool itself has changed. */
void qmpi_relocations_apply(int tool_id, const QMPI_Context *row);

/* Makes the pages read-only again that qmpi_relocations_unprotect made writable, for all layers. */
void qmpi_relocations_protect(void);

/* Forgets these pages in a child that another thread forked meanwhile; they stay writable. */
void qmpi_relocations_forget(void);

#endif
