/* SPDX-License-Identifier: MIT */
/* See functions.h. */
#include "functions/functions.h"

#include <stdint.h>
#include <string.h>

/*
 * Returns a hash of the eight bytes after `MPI_`, the last eight bytes, and the length; of a name
 * with fewer than twelve bytes, only what follows `MPI_`, and the length. It must be fast, because
 * during start-up, it is called for each symbol whose name may be that of an MPI function.
 * src/generate/emit_c.py computes the same hash.
 */
static uint32_t hash_name(const char *name, size_t length)
{
    uint64_t first = 0, last = 0;
    if (length >= 12) {
        memcpy(&first, name + 4, 8);
        memcpy(&last, name + length - 8, 8);
    } else if (length > 4) {
        memcpy(&first, name + 4, length - 4);
    }
    const uint64_t value =
        first * 0x9e3779b97f4a7c15u ^ last * 0xc2b2ae3d27d4eb4fu ^ (uint64_t)length << 56;
    return (uint32_t)(value >> 40);
}

int qmpi_function_find(const char *name)
{
    const size_t length = strlen(name);
    for (uint32_t place = hash_name(name, length);; place++) {
        const int number = qmpi_names_hashed[place % QMPI_NAMES_HASHED] - 1;
        if (number < 0 || !strcmp(qmpi_names[number].name, name))
            return number;
    }
}
