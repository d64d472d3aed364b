/* SPDX-License-Identifier: MIT */
/*
 * The loader loads a file once; a tool that stands in the stack twice needs its data twice. Further
 * layers load a copy from a temporary folder of this process. Private dependencies that belong to
 * another layer already are copied too, under another soname. The folder goes at exit; a small
 * process of its own removes it where this one is killed.
 */
#ifndef QMPI_COPIES_H
#define QMPI_COPIES_H

/*
 * Copies the library at `path`, and loads copies of those of its dependencies that another hosted
 * layer has. Returns the copy's path (to be freed), or NULL and *problem (to be freed).
 */
char *qmpi_copies_make(const char *path, char **problem);

/*
 * Whether a dependency of the library at `path` that has to do with MPI is loaded already, for
 * another layer or for the program.
 */
int qmpi_copies_needed(const char *path);

#endif
