/* SPDX-License-Identifier: MIT */
/*
 * A copy of a library file that the loader treats as a different library: it has no soname, needs
 * copies of some libraries, and finds all other libraries where the original finds them. Its
 * program headers, dynamic section and dynamic string table are in an additional segment after
 * those of the original, so they may have any size.
 */
#ifndef QMPI_ELF_COPY_H
#define QMPI_ELF_COPY_H

#include "elf/image.h"

#include <stdbool.h>
#include <sys/stat.h>

struct qmpi_elf_copy {
    /* Returns the library that is needed instead of `name`; NULL: `name` itself. */
    const char *(*needed)(void *data, const char *name);
    void *data;
    const char *directory; /* the directory of the original; replaces $ORIGIN in run paths */
    bool symbolic; /* the copy searches for symbols in itself first, as if linked with -Bsymbolic; a
                      copy of a library that was linked in this way does so anyway */
};

/* Writes the copy of `file` to the empty file `descriptor`. Returns NULL, or the reason for a
 * failure (a text that the caller does not free). */
const char *qmpi_elf_copy_write(const struct qmpi_elf_file *file, int descriptor,
                                const struct qmpi_elf_copy *copy);

/* ---- Copies in the process ------------------------------------------------------------------- */

/* Records for the whole run that `path` is a copy of `original`, whose status and soname are given
 * (NULL: no soname). One thread at a time. */
void qmpi_elf_copy_record(const char *path, const char *original, const struct stat *status,
                          const char *soname);

/* Returns the original of the copy with this path; the path itself if it is not a copy. Any thread.
 */
const char *qmpi_elf_copy_original(const char *path);

/* Whether the library at `path` is a copy, and `name` (a path, a file name or a soname) means its
 * original, or is the path of the copy. Any thread. */
bool qmpi_elf_copy_is_of(const char *path, const char *name);

#endif
