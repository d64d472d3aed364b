/* SPDX-License-Identifier: MIT */
/*
 * The memory that the library of a QMPI tool allocates itself, by malloc and similar functions and
 * by operator new: how much each layer keeps, from which calls, and how large a block is. Memory
 * that other libraries allocate for the tool is not known.
 */
#ifndef VALIDATOR_HEAP_H
#define VALIDATOR_HEAP_H

#include "validate/validate.h"

/* Watches the functions. */
void heap_start(void);

/* Watches operator new and delete, too, if a library that has been loaded by now needs them. */
void heap_prepare_operators(void);

/* Returns the size of a block that begins at an address; 0: there is none. Any thread. */
size_t heap_size(const void *address);

#endif
