/* SPDX-License-Identifier: MIT */
/* Functions outside MPI that a PMPI tool replaces: it must be preloaded to see the program's calls
 * of them.
 */
#ifndef QMPI_ELF_INTERPOSITION_H
#define QMPI_ELF_INTERPOSITION_H

#include "elf/image.h"

/*
 * Returns the names of the C library functions that an object defines, as text for a message, which
 * the caller frees; NULL: none.
 */
char *qmpi_replaces(const struct qmpi_elf_image *image);

/* The same for functions that both objects define. */
char *qmpi_replaces_both(const struct qmpi_elf_image *one, const struct qmpi_elf_image *other);

#endif
