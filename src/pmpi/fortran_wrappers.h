/* SPDX-License-Identifier: MIT */
/*
 * The Fortran wrappers of a PMPI tool. In the layer on top of the stack, the program calls them. A
 * wrapper that calls PMPI in Fortran leads into the language binding, whose C call enters the stack
 * at the top: if the tool has a wrapper of this function in C, it would see the call a second time.
 * The program then calls the binding, and the tool sees the call in C alone. With @fortran=yes, the
 * program calls all wrappers; with @fortran=no, none.
 */
#ifndef QMPI_PMPI_FORTRAN_WRAPPERS_H
#define QMPI_PMPI_FORTRAN_WRAPPERS_H

#include "registry/registry.h"

#include <stdbool.h>

struct qmpi_fortran_wrappers {
    bool any;       /* there are Fortran wrappers, and the option @fortran does not exclude them */
    int procedures; /* how many there are, for any function and name */
    int in_c_alone; /* functions with wrappers in both languages that are called in C alone */
    bool unused[QMPI_FUNCTION_COUNT]; /* these functions, by number */
};

/* Reads the Fortran wrappers of a tool. */
struct qmpi_fortran_wrappers qmpi_fortran_wrappers_read(const struct qmpi_layer_group *group);

/* Whether the user excludes the Fortran wrappers of a layer: @fortran=no. */
bool qmpi_fortran_wrappers_excluded(const struct qmpi_layer *layer);

/* Appends to a text how the Fortran wrappers of a loaded tool are used. Returns the new text in
 * place of `text`, which it frees. */
char *qmpi_fortran_wrappers_describe(const struct qmpi_layer *layer, char *text);

/* Checks whether a loaded tool without wrappers in C can see calls in its Fortran wrappers. Returns
 * NULL, or a problem, which the caller frees. */
char *qmpi_fortran_wrappers_check(const struct qmpi_layer *layer);

#endif
