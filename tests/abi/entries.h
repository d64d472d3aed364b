/* SPDX-License-Identifier: MIT */
/* Generated: the predefined handles and constants that this MPI library and the standard ABI have.
 */
#ifndef TESTS_ABI_ENTRIES_H
#define TESTS_ABI_ENTRIES_H

#include "abi/values.h"

struct handle_entry {
    const char *name;
    QMPIX_Kind kind;
    uintptr_t abi, native;
};

struct constant_entry {
    const char *name; /* NULL: the end */
    int meaning, abi, native;
};

enum { HANDLE_ENTRIES = 200 };

/* Returns the number of entries. */
size_t list_handles(struct handle_entry *entries);
extern const struct constant_entry constants[];

#endif
