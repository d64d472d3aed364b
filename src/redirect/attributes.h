/* SPDX-License-Identifier: MIT */
/*
 * Attributes in Fortran. MPICH's language bindings reach them through functions of the MPI library
 * that are not MPI's own (MPII_Comm_get_attr and its like), because Fortran's values are integers
 * where C's are pointers. Here such a call is led through the entry of MPI_Comm_get_attr, so that
 * every layer sees it, once and in C's terms; the value reaches Fortran as it does without us.
 */
#ifndef QMPI_REDIRECT_ATTRIBUTES_H
#define QMPI_REDIRECT_ATTRIBUTES_H

#include <stdbool.h>

/*
 * What a binding's reference to `name` is to lead to; NULL: it is none of those functions, or it is
 * too late, because the chains have their bases already. For qmpi_elf_rewrite.
 */
void *qmpi_attributes_target(const char *name);

/*
 * Where a binding is loaded: puts what keeps the types of values at the end of the chains of the
 * functions for attributes. Between qmpi_base_find and qmpi_chain_start; does nothing at any other
 * time, or a second time.
 */
void qmpi_attributes_prepare(void);

/* Whether a caller is the code here that stands between a binding and the entries. Any thread. */
bool qmpi_attributes_hold(const void *address);

#endif
