/* SPDX-License-Identifier: MIT */
/*
 * The memory of call stacks and of files, read from /proc/self/maps, which takes about a
 * microsecond for each mapping up to that which is sought. The C library's query of it uses malloc,
 * so it is not used here. Any thread, also in a signal handler.
 */
#ifndef QMPI_UTIL_CALL_STACK_H
#define QMPI_UTIL_CALL_STACK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct qmpi_stack {
    uintptr_t begin, end; /* both 0: unknown */
};

/* Returns the stack that contains an address. That of the first thread begins where it may grow to.
 */
struct qmpi_stack qmpi_stack_find(uintptr_t address);

/* Returns the stack with which this thread started. */
struct qmpi_stack qmpi_stack_of_thread(void);

/* Stores the absolute path, without symbolic links, of the file that is mapped at an address; cut
 * to the size. False: there is none, or it is not known. */
bool qmpi_mapped_file(uintptr_t address, char *path, size_t size);

#endif
