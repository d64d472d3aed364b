/* SPDX-License-Identifier: MIT */
/* What a PMPI tool replaces outside MPI: it must be preloaded to see the program's calls of that.
 */
#ifndef QMPI_ELF_INTERPOSITION_H
#define QMPI_ELF_INTERPOSITION_H

#include "elf/image.h"

/*
 * The functions of the C library that an object defines itself, in words for a message (to be
 * freed); NULL: none.
 */
char *qmpi_replaces(const struct qmpi_elf_image *image);

/* The same of those that two objects both define. */
char *qmpi_replaces_both(const struct qmpi_elf_image *one, const struct qmpi_elf_image *other);

#endif
