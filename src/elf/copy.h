/* SPDX-License-Identifier: MIT */
/*
 * A copy of a library file that the loader takes for another library: it has no soname, needs other
 * libraries in the place of some, and finds the rest where the original would. Its program headers,
 * dynamic section and dynamic string table lie in a segment of their own behind the original's, so
 * there is room for whatever they are to hold.
 */
#ifndef QMPI_ELF_COPY_H
#define QMPI_ELF_COPY_H

#include "elf/file.h"

struct qmpi_elf_copy {
    /* What is needed instead of a library; NULL: the library itself. */
    const char *(*needed)(void *data, const char *name);
    void *data;
    const char *directory; /* what $ORIGIN stands for in its run paths: the original's folder */
    bool symbolic; /* it looks for its symbols in itself first, as if linked with -Bsymbolic */
};

/* Writes the copy of `file` to an empty file. NULL, or why it cannot (constant text). */
const char *qmpi_elf_copy_write(const struct qmpi_elf_file *file, int descriptor,
                                const struct qmpi_elf_copy *copy);

/* A text with $ORIGIN and ${ORIGIN} replaced by a folder; to be freed. */
char *qmpi_elf_copy_expand(const char *text, const char *directory);

#endif
