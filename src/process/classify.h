/* SPDX-License-Identifier: MIT */
/*
 * Classifies the objects in the process: MPI library, language binding, libqmpi, PMPI tool. No
 * other code decides this.
 */
#ifndef QMPI_PROCESS_CLASSIFY_H
#define QMPI_PROCESS_CLASSIFY_H

#include "elf/elf.h"

#include <stdbool.h>

/* An MPI library. */
bool qmpi_is_mpi_library(const struct qmpi_elf_loaded *object);

/* A language binding: a library that translates Fortran calls to C calls. */
bool qmpi_is_binding(const struct qmpi_elf_loaded *object);

/* The object that contains this code: libqmpi.so, or a program that is linked with libqmpi.a. */
bool qmpi_is_self(const struct qmpi_elf_loaded *object);

/* An MPI library, a binding of one, or a libqmpi. */
bool qmpi_is_mpi(const struct qmpi_elf_loaded *object);

/* An object that defines MPI functions and is neither of these nor a QMPI tool. */
bool qmpi_is_pmpi_tool(const struct qmpi_elf_loaded *object);

/* Whether an address is in an MPI library whose calls pass through libqmpi. */
bool qmpi_is_in_mpi_library(const void *address);

/* Whether an address is in libqmpi.so; false for libqmpi.a, which is part of the program. Any
 * thread. */
bool qmpi_is_in_self(const void *address);

/* Reads the object that contains this code. Returns false if the loader does not list it. */
bool qmpi_self_read(struct qmpi_elf_loaded *self);

/*
 * Whether another libqmpi is in use: the program contains libqmpi.a, and a tool that needs
 * libqmpi.so has loaded this one. First called before the program starts; the result is saved.
 */
bool qmpi_self_is_idle(void);

#endif
