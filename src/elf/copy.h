/* SPDX-License-Identifier: MIT */
/*
 * A copy of a library file that the loader treats as a different library: it has no soname, needs
 * copies instead of some libraries, and finds the others where the original would. Its program
 * headers, dynamic section and dynamic string table are in a segment of their own after those of
 * the original, so their size is not limited.
 */
#ifndef QMPI_ELF_COPY_H
#define QMPI_ELF_COPY_H

#include "elf/file.h"

struct qmpi_elf_copy {
    /* Returns the library that is needed instead of `name`; NULL: `name` itself. */
    const char *(*needed)(void *data, const char *name);
    void *data;
    const char *directory; /* replaces $ORIGIN in its run paths: the directory of the original */
    bool symbolic; /* it searches for symbols in itself first, as if linked with -Bsymbolic */
};

/* Writes the copy of `file` to an empty file. Returns NULL, or the reason for a failure (constant
 * text). */
const char *qmpi_elf_copy_write(const struct qmpi_elf_file *file, int descriptor,
                                const struct qmpi_elf_copy *copy);

/* Returns `text` with $ORIGIN and ${ORIGIN} replaced by a directory. The caller frees it. */
char *qmpi_elf_copy_expand(const char *text, const char *directory);

#endif
