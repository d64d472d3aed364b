/* SPDX-License-Identifier: MIT */
/*
 * A copy of a library file that the loader treats as a different library: it has no soname, needs
 * copies of some libraries, and finds all other libraries where the original finds them. Its
 * program headers, dynamic section and dynamic string table are in an additional segment after
 * those of the original, so they may have any size.
 *
 * The loader uses only one definition of each unique symbol (STB_GNU_UNIQUE) in the process, even
 * if copies define it, too. C++ compilers create such symbols for static data members of templates
 * and for static variables of inline functions. In the copies of one owner, such symbols therefore
 * have other names, which the owner's number makes its own.
 */
#ifndef QMPI_ELF_COPY_H
#define QMPI_ELF_COPY_H

#include "elf/image.h"

#include <stdbool.h>
#include <sys/stat.h>

struct qmpi_elf_copy {
    /* Returns the library that is needed instead of `name`; NULL: `name` itself. */
    const char *(*needed)(void *data, const char *name);
    /* Whether symbols of this name are renamed. */
    bool (*is_private)(void *data, const char *name);
    void *data;
    int owner;             /* the number for new names of symbols */
    const char *directory; /* the directory of the original; replaces $ORIGIN in run paths */
    bool symbolic; /* the copy searches for symbols in itself first, as if linked with -Bsymbolic; a
                      copy of a library that was linked in this way does so anyway */
};

/* Writes the copy of `file` to the empty file `descriptor`. Returns NULL, or the reason for a
 * failure (a text that the caller does not free). */
const char *qmpi_elf_copy_write(const struct qmpi_elf_file *file, int descriptor,
                                const struct qmpi_elf_copy *copy);

/* Returns the name that a symbol gets in copies of an owner. Both names have the same
 * qmpi_elf_hash, so that hash tables of this kind need not be changed. The caller frees the name.
 */
char *qmpi_elf_copy_rename(const char *name, int owner);

/* Returns the length of the original name, with which a name from qmpi_elf_copy_rename begins; 0:
 * it is not such a name of this owner. */
size_t qmpi_elf_copy_renamed_length(const char *name, int owner);

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
