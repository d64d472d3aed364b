/* SPDX-License-Identifier: MIT */
/* See permanent.h. */
#define _GNU_SOURCE
#include "util/permanent.h"

#include "util/message.h"

#include <stdint.h>
#include <sys/mman.h>

enum { BLOCK = 64 << 10, ALIGNMENT = 16 }; /* bytes */

void *qmpi_permanent_alloc(size_t count, size_t size)
{
    static char *next;
    static size_t left;
    const size_t all = (count * size + ALIGNMENT - 1) & ~(size_t)(ALIGNMENT - 1);
    if (all > BLOCK)
        return qmpi_allocate(count, size);
    if (all > left) {
        void *block = mmap(NULL, BLOCK, PROT_READ | PROT_WRITE,
                           MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
        if (block == MAP_FAILED)
            return qmpi_allocate(count, size);
        next = block;
        left = BLOCK;
    }
    void *memory = next;
    next += all;
    left -= all;
    return memory;
}
