/* SPDX-License-Identifier: MIT */
/* Functions that libqmpi exports in place of those of the C library, even if their names are
 * interposed. In arch/. */
#ifndef QMPI_PMPI_EXPORTED_H
#define QMPI_PMPI_EXPORTED_H

void *qmpi_dlopen(const char *file, int mode) __attribute__((visibility("hidden")));

#endif
