/* SPDX-License-Identifier: MIT */
/* From the name or path of a QMPI_TOOLS entry to a library file. */
#ifndef QMPI_FIND_H
#define QMPI_FIND_H

/*
 * Finds the library of `name`. Returns its path, to be freed, or NULL; then *problem (to be freed)
 * says which tools are `announced`, where it was sought, what stands in the way at each place, and
 * the mend.
 */
char *qmpi_find_library(const char *name, const char *announced, char **problem);

/* The folder of the installed tools, beside libqmpi. Constant once found. */
const char *qmpi_find_installed_folder(void);

#endif
