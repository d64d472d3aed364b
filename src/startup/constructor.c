/* SPDX-License-Identifier: MIT */
/*
 * See constructor.h. The loader does not tell who has its lock, but its own functions are on the
 * stack of who has: below those of dlopen, which called them. The constructors that run before
 * main() have nobody below the loader, and no lock.
 */
#define _GNU_SOURCE
#include "startup/constructor.h"

#include "elf/elf.h"
#include "util/util.h"

#include <link.h>
#include <stdlib.h>
#include <sys/auxv.h>

static int find_loader(struct dl_phdr_info *info, size_t size, void *data)
{
    struct qmpi_elf_loaded *loader = data;
    (void)size;
    if (info->dlpi_addr != getauxval(AT_BASE))
        return 0;
    *loader = (struct qmpi_elf_loaded){
        .base = info->dlpi_addr, .segments = info->dlpi_phdr, .segment_count = info->dlpi_phnum};
    return 1;
}

/* The return addresses on the whole stack, to be freed. */
static void **unwind_all(int *count)
{
    for (int room = 64;; room *= 2) {
        void **frames = qmpi_allocate((size_t)room, sizeof *frames);
        *count = qmpi_unwind(frames, room);
        if (*count < room)
            return frames;
        free(frames);
    }
}

bool qmpi_in_constructor(void)
{
    struct qmpi_elf_loaded loader = {.segment_count = 0};
    bool in_loader = false, called = false;
    int count;
    if (!getauxval(AT_BASE) || !qmpi_elf_walk(find_loader, &loader))
        return false; /* a static program */
    void **frames = unwind_all(&count);
    for (int i = 0; i < count && !called; i++) {
        const bool here = qmpi_elf_loaded_contains(&loader, frames[i]);
        called = in_loader && !here && frames[i];
        in_loader |= here;
    }
    free(frames);
    return called;
}
