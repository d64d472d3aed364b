/* SPDX-License-Identifier: MIT */
/*
 * The files that callers lie in: an address as module and offset, which is the same in all ranks.
 * Noted when a call site is first seen, for the module may be unloaded before the end.
 */
#ifndef QMPI_SYMBOLS_MODULES_H
#define QMPI_SYMBOLS_MODULES_H

#include <stdbool.h>
#include <stdint.h>

/* Remembers the module that the address lies in. Any thread, in a signal handler too. */
void modules_note(uint64_t address);

/* The path of the module and the offset in it; "" and the address itself where there is none. The
 * string lives for the whole run. Any thread, in the child of a struck process too. */
const char *modules_find(uint64_t address, uint64_t *offset);

/* The same with the name that the module was loaded by. In a signal handler too. */
const char *modules_name(uint64_t address, uint64_t *offset);

/* This program's path; "" where it cannot be had. */
const char *modules_program(void);

#endif
