/* SPDX-License-Identifier: MIT */
/* The interface of the generated entries.c: the predefined handles and constants that both this MPI
 * library and the standard ABI declare. */
#ifndef TESTS_ABI_ENTRIES_H
#define TESTS_ABI_ENTRIES_H

#include "abi/values.h"

struct handle_entry {
    const char *name;
    QMPIX_Kind kind;
    uintptr_t abi, native;
};

struct constant_entry {
    const char *name;         /* NULL in the last entry */
    int meaning, abi, native; /* meaning: a QMPIX_Constants */
};

enum { HANDLE_ENTRIES = 200 };

/* Sets `entries`, which has room for HANDLE_ENTRIES, to the handles. Returns their number. */
size_t list_handles(struct handle_entry *entries);
extern const struct constant_entry constants[];

#endif
