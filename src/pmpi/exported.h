/* SPDX-License-Identifier: MIT */
/* Exported functions of ours that stand in for the C library's, whatever the loader finds under
 * their names. In arch/. */
#ifndef QMPI_PMPI_EXPORTED_H
#define QMPI_PMPI_EXPORTED_H

void *qmpi_dlopen(const char *file, int mode) __attribute__((visibility("hidden")));

#endif
