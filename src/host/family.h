/* SPDX-License-Identifier: MIT */
/*
 * The libraries that a resident tool brought along for itself: what it needs, directly or through
 * others, and the program does not. They are parts of its layer.
 */
#ifndef QMPI_FAMILY_H
#define QMPI_FAMILY_H

#include "elf_loaded.h"

/*
 * The objects of the family of `tool`, itself first, in an array that the caller frees; their names
 * are the loader's.
 */
struct qmpi_elf_loaded *qmpi_family_of(const struct qmpi_elf_loaded *tool, int *count);

#endif
