/* SPDX-License-Identifier: MIT */
/* aarch64: see registers.h. This file can be compiled for any processor. */
#ifndef QMPI_SITES_ARCH_TABLES_AARCH64_H
#define QMPI_SITES_ARCH_TABLES_AARCH64_H

#include "sites/frame_table.h"

/* x29, sp, x30 and vg */
#define QMPI_FRAME_TABLES_AARCH64                                                                  \
    {                                                                                              \
        .fp = 29, .sp = 31, .ra = 30, .ra_is_register = true, .signs_ra = true, .scale = 46        \
    }

#endif
