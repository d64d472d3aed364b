/* SPDX-License-Identifier: MIT */
/* The exported dlclose: see modules.h. This file is compiled for libqmpi.so and libqmpi.a, but
 * programs that are linked with libqmpi.a call dlclose of the C library. */
#define _GNU_SOURCE
#include "pmpi/pmpi.h"

#ifdef QMPI_STATIC
qmpi_interpose_closer *const qmpi_exported_dlclose = NULL;

qmpi_interpose_closer *qmpi_interpose_dlclose_of(qmpi_interpose_closer *plain)
{
    return plain;
}
#else

#include "sites/modules.h"
#include "sites/sites.h"
#include "util/util.h"

#include <qmpi/qmpi.h>

#include <dlfcn.h>
#include <stdint.h>
#include <stdlib.h>

/* The name by which libqmpi itself calls its function, even if the name dlclose is interposed. */
static qmpi_interpose_closer close_library;
QMPI_API int dlclose(void *handle) __attribute__((alias("close_library")));

qmpi_interpose_closer *const qmpi_exported_dlclose = close_library;

static int close_by(qmpi_interpose_closer *function, void *handle)
{
    atomic_fetch_add(&qmpi_module_closing_count, 1);
    const int result = function(handle);
    qmpi_module_mark_closed();
    qmpi_sites_forget_rules();
    qmpi_module_tell_closed();
    atomic_fetch_sub(&qmpi_module_closing_count, 1);
    return result;
}

static int close_library(void *handle)
{
    /* Each thread that finds `next` empty stores the same function. */
    static qmpi_interpose_closer *_Atomic next;
    qmpi_interpose_closer *function = next;
    if (!function) {
        function = (qmpi_interpose_closer *)(uintptr_t)qmpi_next_symbol("dlclose");
        if (!function)
            abort(); /* all known C libraries define it */
        next = function;
    }
    return close_by(function, handle);
}

/* Set before anyone learns the address of close_in_c_library, always to the same function. */
static qmpi_interpose_closer *_Atomic in_c_library;

static int close_in_c_library(void *handle)
{
    return close_by(in_c_library, handle);
}

qmpi_interpose_closer *qmpi_interpose_dlclose_of(qmpi_interpose_closer *plain)
{
    in_c_library = plain;
    return close_in_c_library;
}
#endif
