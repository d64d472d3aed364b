/* SPDX-License-Identifier: MIT */
/*
 * The libraries that contain the addresses that were asked for, and the program. An address becomes
 * library and offset, which are the same in all processes of a job. A library is recorded when one
 * of its addresses is first seen, because it may be closed later, and another one may then be
 * mapped at the same address.
 */
#ifndef QMPI_SITES_MODULES_H
#define QMPI_SITES_MODULES_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

/* Never freed. */
struct qmpi_module {
    uintptr_t begin, end;
    const void *map;  /* link_map of the dynamic loader */
    const char *name; /* as in the list of the loader; "" for the program */
    const char *path; /* the file: absolute, without symbolic links */
    atomic_bool is_closed;
    struct qmpi_module *next;
};

/* Returns the module that is mapped at an address; if there is none now, the last one that was
 * recorded there; NULL: none. Any thread, also in a signal handler. */
const struct qmpi_module *qmpi_module_find(uintptr_t address);

/* Whether a module is known to be mapped still: nothing closed it, and that would have been seen.
 * Any thread. */
bool qmpi_module_is_open(const struct qmpi_module *module);

/* Marks the modules that are no longer mapped. For dlclose. */
void qmpi_modules_close(void);

#endif
