/* SPDX-License-Identifier: MIT */
/*
 * From the name or path of a QMPI_TOOLS entry to a library file, and what kind of library it is,
 * read from its symbols without loading it.
 */
#ifndef QMPI_FIND_H
#define QMPI_FIND_H

enum qmpi_kind {
    QMPI_KIND_NATIVE, /* refers to QMPI_Register_tool_name */
    QMPI_KIND_PMPI,   /* defines MPI functions of its own */
};

/*
 * Finds the library of `name`. Returns its path, to be freed, or NULL; then *problem (to be freed)
 * says where it was sought, what stands in the way at each place, and the mend.
 */
char *qmpi_find_library(const char *name, char **problem);

/*
 * What kind of tool the library at `path` is. Returns NULL on success, else what is wrong with it,
 * to be freed. `base_soname` is the MPI library's: a tool built for another MPI is refused.
 */
char *qmpi_find_kind(const char *path, const char *base_soname, enum qmpi_kind *kind);

/* The folder of the installed tools, beside libqmpi. Constant once found. */
const char *qmpi_find_installed_folder(void);

#endif
