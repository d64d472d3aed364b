/* SPDX-License-Identifier: MIT */
/*
 * What an object in the process is: the MPI library, a language binding of one, libqmpi itself, a
 * PMPI tool. These questions are answered here alone.
 */
#ifndef QMPI_PROCESS_CLASSIFY_H
#define QMPI_PROCESS_CLASSIFY_H

#include "elf/loaded.h"

#include <stdbool.h>

/* An MPI library. */
bool qmpi_is_mpi_library(const struct qmpi_elf_loaded *object);

/* A language binding: a library that turns Fortran calls into C ones. */
bool qmpi_is_binding(const struct qmpi_elf_loaded *object);

/* What we are in: libqmpi.so, or a program that is linked with libqmpi.a. */
bool qmpi_is_self(const struct qmpi_elf_loaded *object);

/* An MPI library, a binding of one, or a libqmpi. */
bool qmpi_is_mpi(const struct qmpi_elf_loaded *object);

/* An object with MPI functions that is none of these and no QMPI tool. */
bool qmpi_is_pmpi_tool(const struct qmpi_elf_loaded *object);

/* Whether an address lies in an MPI library whose calls are ours to see. */
bool qmpi_is_in_mpi_library(const void *address);

/* Whether an address lies in libqmpi.so; a static libqmpi is a part of the program. Any thread. */
bool qmpi_is_in_self(const void *address);

/* What we are in. False: the loader does not know it. */
bool qmpi_self_read(struct qmpi_elf_loaded *self);

/*
 * Whether another libqmpi serves the program: one that holds libqmpi.a has its stack there, and a
 * tool that needs libqmpi.so has brought us along. Before the program begins; then the answer stays
 * known.
 */
bool qmpi_self_is_idle(void);

#endif
