/* SPDX-License-Identifier: MIT */
/* Handles as keys of the tables that know requests and messages: an MPI library's handles are
 * integers or pointers. */
#ifndef QMPI_OBSERVE_HANDLE_KEY_H
#define QMPI_OBSERVE_HANDLE_KEY_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

static inline uintptr_t qmpi_handle_key(const void *handle, size_t size)
{
    uintptr_t key = 0;
    memcpy(&key, handle, size);
    return key;
}

/* The key of a handle that is in a variable, and the handle again. */
#define QMPI_KEY_OF(handle) qmpi_handle_key(&(handle), sizeof(handle))
#define QMPI_KEY_TO(handle, key) memcpy(&(handle), &(uintptr_t){key}, sizeof(handle))

/* A place for it among 2^bits. */
static inline size_t qmpi_handle_place(uintptr_t key, unsigned bits)
{
    return (key ^ key >> bits ^ key >> 2 * bits) & (((size_t)1 << bits) - 1);
}

#endif
