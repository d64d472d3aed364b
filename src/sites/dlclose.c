/* SPDX-License-Identifier: MIT */
/* dlclose, exported: see closing.h. Compiled for libqmpi.so and for libqmpi.a, where the C
 * library's own is the program's. */
#define _GNU_SOURCE
#include "sites/closing.h"

#include "pmpi/pmpi.h"

atomic_int qmpi_closing_count;

#ifdef QMPI_STATIC
int (*const qmpi_exported_dlclose)(void *) = NULL;

bool qmpi_closing_is_seen(void)
{
    return false;
}
#else

#include "sites/modules.h"
#include "sites/walk.h"
#include "util/util.h"

#include <qmpi/qmpi.h>

#include <dlfcn.h>
#include <stdint.h>
#include <stdlib.h>

typedef int closer(void *handle);

/* The name by which libqmpi knows its function, even if somebody else's comes first. */
static closer close_library;
QMPI_API int dlclose(void *handle) __attribute__((alias("close_library")));

closer *const qmpi_exported_dlclose = close_library;

bool qmpi_closing_is_seen(void)
{
    /* As the loader has found it for everybody, or what has been written over that. */
    closer *volatile first = dlclose;
    return first == close_library || qmpi_tool_dlsym_gave_dlclose((const void *)(uintptr_t)first);
}

static int close_library(void *handle)
{
    static closer *_Atomic real;
    closer *function = real;
    if (!function) {
        function = (closer *)(uintptr_t)qmpi_next_symbol("dlclose");
        if (!function)
            abort(); /* no C library that we know is without it */
        real = function;
    }
    atomic_fetch_add(&qmpi_closing_count, 1);
    const int result = function(handle);
    qmpi_modules_close();
    qmpi_walk_forget();
    atomic_fetch_sub(&qmpi_closing_count, 1);
    return result;
}
#endif
