/* SPDX-License-Identifier: MIT */
/* The exported dlclose: see modules.h. This file is compiled for libqmpi.so and libqmpi.a, but
 * programs that are linked with libqmpi.a call dlclose of the C library. */
#define _GNU_SOURCE
#include "pmpi/pmpi.h"

#ifdef QMPI_STATIC
int (*const qmpi_exported_dlclose)(void *) = NULL;
#else

#include "sites/modules.h"
#include "sites/sites.h"
#include "util/util.h"

#include <qmpi/qmpi.h>

#include <dlfcn.h>
#include <stdint.h>
#include <stdlib.h>

typedef int closer(void *handle);

/* The name by which libqmpi itself calls its function, even if the name dlclose is interposed. */
static closer close_library;
QMPI_API int dlclose(void *handle) __attribute__((alias("close_library")));

closer *const qmpi_exported_dlclose = close_library;

static int close_library(void *handle)
{
    /* Each thread that finds `real` empty stores the same function. */
    static closer *_Atomic real;
    closer *function = real;
    if (!function) {
        function = (closer *)(uintptr_t)qmpi_next_symbol("dlclose");
        if (!function)
            abort(); /* all known C libraries define it */
        real = function;
    }
    atomic_fetch_add(&qmpi_module_closing_count, 1);
    const int result = function(handle);
    qmpi_module_mark_closed();
    qmpi_sites_forget_rules();
    atomic_fetch_sub(&qmpi_module_closing_count, 1);
    return result;
}
#endif
