/* SPDX-License-Identifier: MIT */
/*
 * The program, and the libraries in which addresses have been looked up. An address is converted to
 * a library and an offset, which are the same in all processes of a job. A library is recorded when
 * one of its addresses is first seen, because it may be closed later, and another one may then be
 * mapped at the same address.
 */
#ifndef QMPI_SITES_MODULES_H
#define QMPI_SITES_MODULES_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

/* The program or a library. Never freed. */
struct qmpi_module {
    uintptr_t begin, end; /* without _dl_find_object, the end is unknown, and `end` is directly
                             after the address that was looked up */
    const void *map;      /* link_map of the dynamic loader */
    const char *name;     /* as in the list of the loader; "" for the program */
    const char *path; /* the file: absolute, without symbolic links. If it is not found: `name`, or
                         /proc/self/exe for the program */
    atomic_bool is_closed; /* it was no longer mapped when a library was closed */
    atomic_bool is_told;   /* the layers were told that it is closed */
    struct qmpi_module *next;
};

/* Returns the module that is mapped at an address. If there is none now, returns the last one that
 * was recorded there, or NULL. Also returns NULL if memory is exhausted. May be called by any
 * thread, also in a signal handler. */
const struct qmpi_module *qmpi_module_find(uintptr_t address);

/* Returns the beginning of the object that is mapped at an address, or 0 if there is none now. May
 * be called by any thread, also in a signal handler. */
uintptr_t qmpi_module_begin(uintptr_t address);

/* Returns the address of the section .eh_frame_hdr of the object that is mapped at an address, or 0
 * if the object has none or the C library provides no way to find the section. May be called by any
 * thread, also in a signal handler. */
uintptr_t qmpi_module_unwind_index(uintptr_t address);

/* ---- Code ------------------------------------------------------------------------------------ */

/* The kinds of code at a return address. */
enum qmpi_module_code {
    QMPI_CODE_PROGRAM, /* the program, or one of its libraries */
    QMPI_CODE_START,   /* the C library, or _start: this code may call `main` */
    QMPI_CODE_BETWEEN, /* libqmpi, a PMPI layer, a language binding */
    QMPI_CODE_LAYER    /* another layer */
};

/* Returns the kind of code at a return address. Sets `is_permanent` to whether the answer stays
 * valid until libqmpi notices that a library is closed. May be called by any thread, also in a
 * signal handler. */
enum qmpi_module_code qmpi_module_find_code(uintptr_t address, bool *is_permanent);

/* ---- Closing --------------------------------------------------------------------------------- */

/*
 * Data about code must be forgotten when its library is closed, because another one may be mapped
 * at the same address. Therefore, libqmpi exports dlclose (dlclose.c), which forgets the data after
 * dlclose of the C library has returned. While a library is being closed, the stored data is not
 * used.
 */

/* The number of threads in dlclose. It is decremented with release after the data about closed
 * libraries has been cleared, and loaded with acquire before the data is read. Therefore, code of a
 * library never finds data about a library that was mapped at the same address before. */
extern atomic_int qmpi_module_closing_count __attribute__((visibility("hidden")));

/* Returns whether a library is being closed. May be called by any thread. */
static inline bool qmpi_module_is_closing(void)
{
    return atomic_load_explicit(&qmpi_module_closing_count, memory_order_acquire) != 0;
}

/* Returns whether a module is known to be still mapped: it has not been closed, and libqmpi would
 * have noticed if it had been. May be called by any thread. */
bool qmpi_module_is_open(const struct qmpi_module *module);

/* Marks the modules that are no longer mapped. For dlclose. */
void qmpi_module_mark_closed(void);

/* Calls the callbacks of QMPIX_Register_library_closed for the modules that were marked since the
 * last call. For dlclose. */
void qmpi_module_tell_closed(void);

#endif
