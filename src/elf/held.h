/* SPDX-License-Identifier: MIT */
/*
 * Objects that may be changed. dl_iterate_phdr also shows objects that another thread is loading:
 * they are in the loader's list before their references are bound and before their RELRO pages are
 * protected, and both is done by the loader, at a time that nothing tells. Nor does it keep another
 * thread from unloading them once it has returned. dlopen does both: who loads holds its lock until
 * all is bound, so a handle of an object is that of a whole one, and keeps it.
 */
#ifndef QMPI_ELF_HELD_H
#define QMPI_ELF_HELD_H

#include "elf/loaded.h"

#include <stdbool.h>

struct qmpi_elf_held {
    struct qmpi_elf_loaded object;
    void *handle; /* who sets it to NULL keeps the object */
};

/* Whether an object is wanted. It may still be loading: its tables and names may be read, but not
 * what its references lead to. */
typedef bool qmpi_elf_wants(void *data, const struct qmpi_elf_loaded *object);

/*
 * Holds all objects that are wanted, in the loader's order; those that are unloaded meanwhile are
 * missing. Waits for threads that are loading: the caller has no lock that their constructors need.
 */
struct qmpi_elf_held *qmpi_elf_hold(qmpi_elf_wants *wants, void *data, int *count);

/* Lets them go and frees the array. */
void qmpi_elf_let_go(struct qmpi_elf_held *held, int count);

#endif
