/* SPDX-License-Identifier: MIT */
/* Determines the kind of a tool from the symbols of its library file, before the library is loaded.
 */
#ifndef QMPI_LOADER_INSPECT_H
#define QMPI_LOADER_INSPECT_H

enum qmpi_kind {
    QMPI_KIND_NATIVE, /* refers to QMPI_Register_tool_name */
    QMPI_KIND_PMPI,   /* defines MPI functions of its own */
    QMPI_KIND_ABI,    /* is compiled for the standard ABI, but the MPI library has another one */
};

/* The functions to which a tool may refer that is compiled for the standard ABI, sorted; then NULL.
 * Generated. */
extern const char *const qmpi_abi_exports[];

/*
 * Reads the kind of the library at `path`. Returns NULL on success, otherwise a message with a
 * hint, which the caller frees. `base_soname` is the soname of the MPI library (NULL: unknown): a
 * tool built for another MPI is rejected.
 */
char *qmpi_kind_read(const char *path, const char *base_soname, enum qmpi_kind *kind);

#endif
