/* SPDX-License-Identifier: MIT */
/*
 * Attributes in Fortran. MPICH's language bindings access them through internal functions of the
 * MPI library (MPII_Comm_get_attr and others), because values are integers in Fortran and pointers
 * in C. These calls are redirected to the entry points of MPI_Comm_get_attr and similar functions,
 * so that all layers see each call once, with C types. The value that Fortran gets is the same as
 * without qmpi.
 */
#ifndef QMPI_REDIRECT_ATTRIBUTES_H
#define QMPI_REDIRECT_ATTRIBUTES_H

#include <stdbool.h>

/*
 * Returns the new target for a binding's reference to `name`. Returns NULL if `name` is not one of
 * these internal functions, or if the chains have been built without the functions of
 * qmpi_attributes_prepare. For qmpi_elf_rewrite.
 */
void *qmpi_attributes_target(const char *name);

/*
 * Replaces the terminators of the attribute functions by functions that keep the types of values.
 * Called if a binding is loaded, after qmpi_mpi_library_find. Calls after qmpi_chain_start and
 * further calls have no effect. Nor has a call if the MPI library lacks one of the internal
 * functions.
 */
void qmpi_attributes_prepare(void);

/* Returns whether an address is in the code between a binding and the entry points. May be called
 * by any thread. */
bool qmpi_attributes_hold(const void *address);

#endif
