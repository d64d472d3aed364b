/* SPDX-License-Identifier: MIT */
/*
 * Programs that are built with AddressSanitizer. Its run-time library ends a process in which it is
 * not the first library. libqmpi is the first one if a module file or `qmpi run` preloads it, also
 * in programs that do not use MPI. libqmpi defines no function for which the order matters (malloc,
 * …), and passes on calls of the few functions that both define. Therefore, libqmpi switches this
 * check off, in the function through which the sanitizer's library reads its options. A program
 * that defines this function itself needs the variable ASAN_OPTIONS, which `qmpi run` sets.
 *
 * The sanitizer's library calls this function before any constructor runs, and before instrumented
 * code may run.
 */
#define _GNU_SOURCE
#include "process/runtime_libraries.h"

#include "util/util.h"

#include <dlfcn.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#define EARLY __attribute__((no_sanitize("address", "undefined", "thread")))

typedef const char *options_function(void);

/* The sanitizer's library declares the function in this way. */
options_function __asan_default_options;

/* Returns the function that would be called if libqmpi were not loaded; NULL: none. */
EARLY static options_function *find_next(void)
{
    qmpi_next_symbol_finder *find = qmpi_next_symbol_dlsym();
    options_function *next =
        find ? (options_function *)(uintptr_t)find(RTLD_NEXT, QMPI_SANITIZER_FUNCTION) : NULL;
    return next == __asan_default_options ? NULL : next;
}

/* This definition is weak, so that the program's own takes precedence over that in libqmpi.a. */
__attribute__((weak, visibility("default"))) EARLY const char *__asan_default_options(void)
{
    static const char own_options[] = QMPI_SANITIZER_OPTION;
    options_function *function = find_next();
    const char *next = function ? function() : NULL;
    if (!next || !*next)
        return own_options;
    const size_t length = strlen(next);
    /* Calls the kernel directly, because the mmap of the sanitizer's library may not have found
     * that of the C library yet. */
    char *both = (char *)syscall(SYS_mmap, NULL, sizeof own_options + 1 + length,
                                 PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0L);
    if (both == MAP_FAILED)
        return next;
    memcpy(both, own_options, sizeof own_options - 1);
    both[sizeof own_options - 1] = ':';
    memcpy(both + sizeof own_options, next, length + 1); /* the later option takes precedence */
    return both;
}
