/* SPDX-License-Identifier: MIT */
/* See startup_frames.h. */
#define _GNU_SOURCE
#include "record/startup_frames.h"

#include <gnu/lib-names.h>
#include <link.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include <sys/auxv.h>

enum { START_SIZE = 64 /* bytes, more than _start has */, LIBRARIES = 2 };

struct duration {
    uintptr_t begin, end;
};

/* Before glibc 2.34 threads began in a library of their own. */
static const char *const names[LIBRARIES] = {LIBC_SO, LIBPTHREAD_SO};
static struct duration libraries[LIBRARIES], start;

static bool holds(const struct duration *duration, uintptr_t address)
{
    return address >= duration->begin && address < duration->end;
}

static int look_at(struct dl_phdr_info *object, size_t size, void *data)
{
    const char *slash = strrchr(object->dlpi_name, '/');
    (void)size;
    (void)data;
    for (int i = 0; i < LIBRARIES; i++) {
        if (strcmp(slash ? slash + 1 : object->dlpi_name, names[i]) != 0)
            continue;
        for (int k = 0; k < object->dlpi_phnum; k++) {
            const ElfW(Phdr) *segment = &object->dlpi_phdr[k];
            const uintptr_t begin = object->dlpi_addr + segment->p_vaddr;
            if (segment->p_type == PT_LOAD && segment->p_flags & PF_X)
                libraries[i] = (struct duration){begin, begin + segment->p_memsz};
        }
    }
    return 0;
}

void start_code_find(void)
{
    if (start.begin)
        return;
    start.begin = (uintptr_t)getauxval(AT_ENTRY);
    start.end = start.begin + START_SIZE;
    dl_iterate_phdr(look_at, NULL);
}

static bool is_library(uintptr_t address)
{
    bool is = false;
    for (int i = 0; i < LIBRARIES; i++)
        is |= holds(&libraries[i], address);
    return is;
}

int start_code_trim(void *const *frames, int count)
{
    if (count && holds(&start, (uintptr_t)frames[count - 1]))
        count--;
    while (count && is_library((uintptr_t)frames[count - 1]))
        count--;
    return count;
}
