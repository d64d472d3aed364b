/* SPDX-License-Identifier: MIT */
/*
 * The steps of `steps`, in a program that refuses memory to libqmpi and its tools. From the step
 * starve=N on, they can allocate only N more times. The MPI library and the program itself get all
 * the memory that they request, because MPICH crashes in MPI_Finalize without memory, even without
 * tools. The step `fed` ends the refusal, and prints how often libqmpi and the tools have requested
 * memory meanwhile.
 *
 * An allocation belongs to the library or program that contains the innermost frame outside system
 * libraries.
 */
#define _GNU_SOURCE
#include "steps.h"

#include <dlfcn.h>
#include <errno.h>
#include <execinfo.h>
#include <link.h>
#include <malloc.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

void *__libc_malloc(size_t size);
void *__libc_calloc(size_t count, size_t size);
void *__libc_realloc(void *memory, size_t size);
void *__libc_memalign(size_t alignment, size_t size);

static atomic_bool starves;
static atomic_long left, asked; /* allocations that may succeed, and that were requested */
static _Thread_local bool is_looking __attribute__((tls_model("initial-exec")));

/* The first call of backtrace loads a library, so it is made before memory is refused. */
__attribute__((constructor)) static void load_unwinder(void)
{
    void *frame;
    backtrace(&frame, 1);
}

static bool has_any(const char *name, const char *const *parts)
{
    for (; *parts; parts++) {
        if (strstr(name, *parts))
            return true;
    }
    return false;
}

/* Returns whether the allocation that returns to `caller` belongs to libqmpi or a tool. */
static bool is_ours(const void *caller)
{
    static const char *const system[] = {"/libc.so", "/libc-",   "/ld-linux", "/libstdc++",
                                         "/libgcc",  "/libdw",   "/libelf",   "/libz.",
                                         "/libzstd", "/liblzma", "/libbz2",   NULL};
    static const char *const tools[] = {"/libqmpi", "/qmpi/",   "/qmpi-",
                                        "/tools/",  "/libotf2", NULL};
    enum { FRAMES = 64 };
    void *frames[FRAMES];
    const int count = backtrace(frames, FRAMES);
    int i = 0;
    while (i < count && frames[i] != caller)
        i++;
    for (; i < count; i++) {
        /* dladdr would wait for a thread that holds the loader's lock and may be waiting for this
         * one. _dl_find_object takes no lock. The link map of the program itself has an empty name,
         * which contains none of `tools`. */
        struct dl_find_object object;
        if (_dl_find_object(frames[i], &object) || has_any(object.dlfo_link_map->l_name, system))
            continue;
        return has_any(object.dlfo_link_map->l_name, tools) &&
               !strstr(object.dlfo_link_map->l_name, "/programs/");
    }
    return false;
}

/* Returns whether the caller gets no memory. */
static bool refuse(const void *caller)
{
    if (!atomic_load(&starves) || is_looking)
        return false;
    is_looking = true;
    const bool refused = is_ours(caller) && atomic_fetch_add(&asked, 1) >= atomic_load(&left);
    is_looking = false;
    if (refused)
        errno = ENOMEM;
    return refused;
}

#define EXPORTED __attribute__((visibility("default"), noinline))

EXPORTED void *malloc(size_t size)
{
    return refuse(__builtin_return_address(0)) ? NULL : __libc_malloc(size);
}

EXPORTED void *calloc(size_t count, size_t size)
{
    return refuse(__builtin_return_address(0)) ? NULL : __libc_calloc(count, size);
}

EXPORTED void *realloc(void *memory, size_t size)
{
    return refuse(__builtin_return_address(0)) ? NULL : __libc_realloc(memory, size);
}

EXPORTED void *reallocarray(void *memory, size_t count, size_t size)
{
    return refuse(__builtin_return_address(0)) ? NULL : __libc_realloc(memory, count * size);
}

EXPORTED void *memalign(size_t alignment, size_t size)
{
    return refuse(__builtin_return_address(0)) ? NULL : __libc_memalign(alignment, size);
}

EXPORTED void *aligned_alloc(size_t alignment, size_t size)
{
    return refuse(__builtin_return_address(0)) ? NULL : __libc_memalign(alignment, size);
}

EXPORTED int posix_memalign(void **memory, size_t alignment, size_t size)
{
    void *found = refuse(__builtin_return_address(0)) ? NULL : __libc_memalign(alignment, size);
    if (found)
        *memory = found;
    return found ? 0 : ENOMEM;
}

EXPORTED void *mmap(void *address, size_t size, int protection, int flags, int file, off_t offset)
{
    if (refuse(__builtin_return_address(0)))
        return MAP_FAILED;
    return (void *)syscall(SYS_mmap, address, size, protection, flags, file, offset); /* NOLINT */
}

/* Defined in tools_starving_fortran. */
void fortran_init(void) __attribute__((weak));
void fortran_barrier(void) __attribute__((weak));

int starving_step(const char *step, const char *value)
{
    if (!strcmp(step, "starve")) {
        atomic_store(&asked, 0);
        atomic_store(&left, atol(value));
        atomic_store(&starves, true);
    } else if (!strcmp(step, "fed")) {
        atomic_store(&starves, false);
        dprintf(1, "asked %ld\n", atomic_load(&asked));
    } else if (!strcmp(step, "fortran_init") && fortran_init) {
        fortran_init();
    } else if (!strcmp(step, "fortran_barrier") && fortran_barrier) {
        fortran_barrier();
    } else {
        return 0;
    }
    return 1;
}
