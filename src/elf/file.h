/* SPDX-License-Identifier: MIT */
/*
 * Inspects a library file before it is loaded: whether it is complete (the loader crashes with a
 * truncated file), whether it is for this machine, and what it defines and refers to. No code of
 * the file runs.
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
 * Maps `path` and checks it. Returns NULL if it is a complete shared library for this machine;
 * `file` must be closed then. Otherwise returns the reason (constant text), and nothing is open.
 */
const char *qmpi_elf_file_open(const char *path, struct qmpi_elf_file *file);

/* The same for the file of a program. */
const char *qmpi_elf_program_open(const char *path, struct qmpi_elf_file *file);

/* Whether two paths lead to the same file. */
bool qmpi_elf_file_same(const char *one, const char *other);

/* Returns the file offset of a virtual address, and sets `left` to the number of bytes that follow
 * in its segment; 0: not in the file. */
uint64_t qmpi_elf_file_offset(const struct qmpi_elf_file *file, uint64_t address, uint64_t *left);

void qmpi_elf_file_close(struct qmpi_elf_file *file);

#endif
