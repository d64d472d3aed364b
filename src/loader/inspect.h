/* SPDX-License-Identifier: MIT */
/* What kind of tool a library is, read from its symbols before anything of it is loaded. */
#ifndef QMPI_LOADER_INSPECT_H
#define QMPI_LOADER_INSPECT_H

enum qmpi_kind {
    QMPI_KIND_NATIVE, /* refers to QMPI_Register_tool_name */
    QMPI_KIND_PMPI,   /* defines MPI functions of its own */
};

/*
 * Reads the kind of the library at `path`. Returns NULL on success, else what is wrong with the
 * library and a hint, to be freed. `base_soname` is the MPI library's (NULL: not known): a tool
 * built for another MPI is refused.
 */
char *qmpi_kind_read(const char *path, const char *base_soname, enum qmpi_kind *kind);

#endif
