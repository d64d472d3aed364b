/* SPDX-License-Identifier: MIT */
/* What the code at a return address belongs to. */
#ifndef QMPI_SITES_CODE_H
#define QMPI_SITES_CODE_H

#include <stdbool.h>
#include <stdint.h>

enum qmpi_code {
    QMPI_CODE_PROGRAM, /* or a library of it */
    QMPI_CODE_START,   /* the C library, or _start: it may be what calls `main` */
    QMPI_CODE_BETWEEN, /* libqmpi, a PMPI layer, a language binding */
    QMPI_CODE_LAYER    /* another layer */
};

/* `is_permanent`: the answer is the same as long as no library is closed, and closing is seen. Any
 * thread, also in a signal handler. */
enum qmpi_code qmpi_code_find(uintptr_t address, bool *is_permanent);

#endif
