/* SPDX-License-Identifier: MIT */
/*
 * dl_iterate_phdr for libqmpi. The dynamic loader's lock that it takes is not released in a forked
 * child if another thread had it: dl_iterate_phdr would never return there, and neither would
 * dlopen. A fork therefore waits until no thread is in qmpi_elf_walk. A thread that is in dlopen or
 * dlclose has the lock, too, so a child with one thread walks without it.
 */
#ifndef QMPI_ELF_WALK_H
#define QMPI_ELF_WALK_H

#include <stdbool.h>
#include <stddef.h>

struct dl_phdr_info;

/* Like dl_iterate_phdr. May be nested, and called by several threads. */
int qmpi_elf_walk(int (*visit)(struct dl_phdr_info *info, size_t size, void *data), void *data);

/* Whether this process is a forked child with one thread. Another thread of its parent may have
 * been loading or unloading an object, so it must not call dlopen that need not. */
bool qmpi_elf_walks_alone(void);

/* Installs the fork handlers. Called once, before libqmpi starts threads. */
void qmpi_elf_walk_start(void);

#endif
