/* SPDX-License-Identifier: MIT */
/* The temporary directory of this process, and its removal. */
#ifndef QMPI_PMPI_TMPDIR_H
#define QMPI_PMPI_TMPDIR_H

/*
 * Creates a file `name` in a new subdirectory, open for writing. Returns its path, or NULL and sets
 * *problem; the caller frees both.
 */
char *qmpi_temporary_file(const char *name, int *descriptor, char **problem);

#endif
