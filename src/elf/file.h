/* SPDX-License-Identifier: MIT */
/*
 * Looks at a library file before it is loaded: is it whole (the loader dies of a truncated one), is
 * it for this machine, what does it define and refer to. No code of the file runs.
 */
#ifndef QMPI_ELF_FILE_H
#define QMPI_ELF_FILE_H

#include "elf/image.h"

struct qmpi_elf_file {
    struct qmpi_elf_image image;
    void *map;
    size_t size;
};

/*
 * Maps `path` and checks it. NULL: it is a whole shared library for this machine, and `file` is to
 * be closed. Else the reason (constant text), and nothing is open.
 */
const char *qmpi_elf_file_open(const char *path, struct qmpi_elf_file *file);

/* The same for a program's file, which is no library. */
const char *qmpi_elf_program_open(const char *path, struct qmpi_elf_file *file);

/* Whether two paths lead to the same file. */
bool qmpi_elf_file_same(const char *one, const char *other);

/* The file offset of a virtual address, and how many bytes of its segment follow; 0: nowhere. */
uint64_t qmpi_elf_file_offset(const struct qmpi_elf_file *file, uint64_t address, uint64_t *left);

void qmpi_elf_file_close(struct qmpi_elf_file *file);

#endif
