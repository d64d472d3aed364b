/* SPDX-License-Identifier: MIT */
/*
 * The references of hosted layers that lead to the layer below, each an aligned pointer in a table
 * or in data of the tool's: noted when the tool is loaded, so that they can be pointed elsewhere
 * when a layer is switched. Not among them is what a tool found by dlsym and keeps: that leads on
 * where it led.
 */
#ifndef QMPI_PMPI_RELOCATIONS_H
#define QMPI_PMPI_RELOCATIONS_H

#include "registry/objects.h"

#include <qmpi/qmpi.h>

/* Notes those of an object whose references have just been rewritten, with the same arguments. */
void qmpi_relocations_record(const struct qmpi_group *group, const struct qmpi_elf_loaded *object,
                             bool program);

/*
 * Makes ready to point the layer's references to the nodes of a row; row[number] is NULL where
 * nothing changes. False: it cannot be done, and the references are as before. Whatever it says,
 * qmpi_relocations_protect must follow.
 */
bool qmpi_relocations_unprotect(int tool_id, const QMPI_Context *row);

/* Points them there, each at once for whoever reads it; those that the tool has changed are its own
 * by now. */
void qmpi_relocations_apply(int tool_id, const QMPI_Context *row);

/* Protects again what qmpi_relocations_unprotect made writable, for any layer. */
void qmpi_relocations_protect(void);

/* In a child that was forked meanwhile by another thread: what was open stays so. */
void qmpi_relocations_forget(void);

#endif
