/* SPDX-License-Identifier: MIT */
/* The temporary folder of this process, and its end. */
#ifndef QMPI_PMPI_TMPDIR_H
#define QMPI_PMPI_TMPDIR_H

/*
 * Makes a new file called `name`, in a folder of its own, open for writing. Returns its path (to be
 * freed), or NULL and *problem (to be freed).
 */
char *qmpi_temporary_file(const char *name, int *descriptor, char **problem);

#endif
