/* SPDX-License-Identifier: MIT */
/*
 * The modules of calling addresses: an address becomes module and offset, which are the same in all
 * ranks. Recorded when a call site is first seen, because the module may be unloaded later.
 */
#ifndef QMPI_SYMBOLS_MODULES_H
#define QMPI_SYMBOLS_MODULES_H

#include <stdbool.h>
#include <stdint.h>

/* Records the module that contains an address. Any thread, also in a signal handler. */
void modules_note(uint64_t address);

/* Returns the path of the module, and the offset in it; "" and the address itself if there is none.
 * The string lives for the whole run. Any thread, in the child of a struck process too. */
const char *modules_find(uint64_t address, uint64_t *offset);

/* The same with the name under which the module was loaded. Also in a signal handler. */
const char *modules_name(uint64_t address, uint64_t *offset);

/* Returns the path of this program; "": unknown. */
const char *modules_program(void);

#endif
