/* SPDX-License-Identifier: MIT */
/*
 * Finds the library of an entry of the stack, and determines which kind of tool it is by the
 * symbols that it defines and refers to, and by the libraries that it needs. No code of the library
 * runs.
 */
#ifndef QMPI_LOADER_LIBRARY_H
#define QMPI_LOADER_LIBRARY_H

#include "config/config.h"

/* ---- Finding --------------------------------------------------------------------------------- */

/*
 * Finds the library of `entry`; `installed` is the directory of the installed tools. Returns its
 * path, which the caller frees, or NULL. If it returns NULL, *problem, which the caller frees,
 * contains the places searched, the reason why each of them does not have the library, and a hint.
 * `registered` is the list of the registered tools (an empty string: none), which *problem also
 * contains if the entry is a name.
 */
char *qmpi_library_find(const struct qmpi_tool_entry *entry, const char *installed,
                        const char *registered, char **problem);

/* Returns the path of the tool that has the same name as a stack; the caller frees the path. NULL:
 * there is no such tool.
 */
char *qmpi_library_find_namesake(const char *stack, const char *installed);

/*
 * Returns the directory of the tools that are compiled for the standard ABI, beside that of the
 * other tools; the caller frees it. NULL: `installed` is this directory itself.
 */
char *qmpi_library_abi_folder(const char *installed);

/*
 * Returns the path of qmpi-abi.module (tools/abi_name.c), which the caller frees; NULL: not found.
 * The file is searched for in `installed`, the directory of the installed tools, then in the
 * directory of the tool, whose path is `tool`, and in that of the installed tools beside it.
 */
char *qmpi_library_find_abi_name(const char *installed, const char *tool);

/* ---- Inspecting ------------------------------------------------------------------------------ */

enum qmpi_library_kind {
    QMPI_KIND_QMPI, /* refers to QMPI_Register_tool_name, or to its name in the standard ABI if the
                       MPI library has this ABI */
    QMPI_KIND_PMPI, /* defines MPI functions, in C or Fortran, or needs a library that does */
    QMPI_KIND_ABI,  /* is compiled for the standard ABI, but the MPI library has another one */
};

/* The functions to which a tool for the standard ABI may refer, sorted, with NULL at the end.
 * Generated. */
extern const char *const qmpi_abi_exports[];

/*
 * Sets *kind to the kind of the library at `path`. Returns NULL on success, otherwise a message
 * with a hint, which the caller frees. `mpi_soname` is the soname of the MPI library (NULL:
 * unknown). If it is known, a tool that was built for another MPI is rejected.
 */
char *qmpi_library_inspect(const char *path, const char *mpi_soname, enum qmpi_library_kind *kind);

#endif
