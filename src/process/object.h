/* SPDX-License-Identifier: MIT */
/*
 * Classifies objects, in the process or as files: MPI library, language binding, libqmpi, PMPI
 * tool. No other code decides this.
 */
#ifndef QMPI_PROCESS_OBJECT_H
#define QMPI_PROCESS_OBJECT_H

#include "elf/elf.h"

#include <stdbool.h>

/* ---- Loaded objects -------------------------------------------------------------------------- */

/* Whether an object is an MPI library. */
bool qmpi_object_is_mpi_library(const struct qmpi_elf_loaded *object);

/* Whether an object is a language binding: a library that translates Fortran calls to C calls. */
bool qmpi_object_is_binding(const struct qmpi_elf_loaded *object);

/* Whether an object contains this code: libqmpi.so, or a program that is linked with libqmpi.a. */
bool qmpi_object_is_self(const struct qmpi_elf_loaded *object);

/* Whether an object is an MPI library, a binding of one, or a libqmpi. */
bool qmpi_object_is_mpi(const struct qmpi_elf_loaded *object);

/* Whether an object defines MPI functions, but is neither an MPI library, a binding or a libqmpi,
 * nor a QMPI tool. */
bool qmpi_object_is_pmpi_tool(const struct qmpi_elf_loaded *object);

/* Whether a loaded object refers to PMPI_X, but neither refers to MPI_X nor defines it. This is
 * usual for the libraries of a PMPI tool other than the one with its wrappers. */
bool qmpi_object_uses_pmpi_alone(const struct qmpi_elf_loaded *object);

/* ---- Images ---------------------------------------------------------------------------------- */

/* Whether an image defines an MPI function or refers to one, as MPI_X or PMPI_X. */
bool qmpi_object_uses_mpi(const struct qmpi_elf_image *image);

/* Whether the image of a file is that of an MPI library, of a language binding of one, or of a
 * libqmpi, like qmpi_object_is_mpi for a loaded object. */
bool qmpi_object_file_is_mpi(const struct qmpi_elf_image *image);

/* Returns the name of a PMPI tool for the path of its library: the file name without `lib` and
 * `.so…`. The caller frees it. */
char *qmpi_object_tool_name(const char *path);

/* Returns the path of the program's file, or a text to be used instead if it cannot be read. The
 * caller frees it. */
char *qmpi_object_program_path(void);

/* ---- Addresses ------------------------------------------------------------------------------- */

/* Whether an address is in an MPI library. False if qmpi_object_self_is_idle returned true. */
bool qmpi_object_mpi_library_contains(const void *address);

/* Whether an address is in libqmpi.so; false for libqmpi.a, which is part of the program. Any
 * thread. */
bool qmpi_object_self_contains(const void *address);

/* ---- libqmpi --------------------------------------------------------------------------------- */

/* Reads the object that contains this code. Returns false if the loader does not list it. */
bool qmpi_object_read_self(struct qmpi_elf_loaded *self);

/*
 * Whether another libqmpi is in use: the program contains libqmpi.a, and a tool that needs
 * libqmpi.so has loaded this one. Called once, by a constructor of libqmpi;
 * qmpi_object_mpi_library_contains and qmpi_object_self_contains use the result.
 */
bool qmpi_object_self_is_idle(void);

#endif
