/* SPDX-License-Identifier: MIT */
/*
 * Objects that may be changed. dl_iterate_phdr also lists objects that another thread is loading:
 * they are in the loader's list before the loader relocates them and protects their RELRO pages,
 * and nothing tells when it does so. After dl_iterate_phdr returns, another thread may also unload
 * them. dlopen solves both problems: a loading thread holds the loader's lock until all relocations
 * are done, so an object with a handle is complete, and the handle keeps it loaded.
 */
#ifndef QMPI_ELF_HELD_H
#define QMPI_ELF_HELD_H

#include "elf/loaded.h"

#include <stdbool.h>

struct qmpi_elf_held {
    struct qmpi_elf_loaded object;
    void *handle; /* set to NULL to keep the object loaded */
};

/* Whether to hold an object. It may still be loading: its tables and names may be read, but not the
 * targets of its relocations. */
typedef bool qmpi_elf_wants(void *data, const struct qmpi_elf_loaded *object);

/*
 * Holds all wanted objects, in the order of the loader, except those that are unloaded meanwhile.
 * Waits for threads that are loading, so the caller must not have a lock that their constructors
 * need. In a process for which qmpi_elf_walks_alone returns true, the objects have no handles; one
 * of them may be incomplete for ever, and is used by nobody.
 */
struct qmpi_elf_held *qmpi_elf_hold(qmpi_elf_wants *wants, void *data, int *count);

/* Releases the objects and frees the array. */
void qmpi_elf_let_go(struct qmpi_elf_held *held, int count);

#endif
