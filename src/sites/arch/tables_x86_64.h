/* SPDX-License-Identifier: MIT */
/* x86-64: see registers.h. This file can be compiled for any processor. */
#ifndef QMPI_SITES_ARCH_TABLES_X86_64_H
#define QMPI_SITES_ARCH_TABLES_X86_64_H

#include "sites/frame_table.h"

#define QMPI_FRAME_TABLES_X86_64                                                                   \
    {                                                                                              \
        .fp = 6, .sp = 7, .ra = 16                                                                 \
    }

#endif
