/* SPDX-License-Identifier: MIT */
/*
 * The Fortran wrappers of a PMPI tool, which the program calls if the tool is the layer on top of
 * the stack. If a wrapper calls PMPI in Fortran, the language binding makes the C call, which
 * enters the stack at the top. If the tool also has a C wrapper of this function, it would see the
 * call twice; therefore, the program calls the binding instead, and the tool sees only the C call.
 * With @fortran=yes, the program calls all wrappers; with @fortran=no, none.
 */
#ifndef QMPI_PMPI_FORTRAN_WRAPPERS_H
#define QMPI_PMPI_FORTRAN_WRAPPERS_H

#include "registry/registry.h"

#include <stdbool.h>

struct qmpi_fortran_wrappers {
    bool any;       /* there are Fortran wrappers, and the option @fortran does not exclude them */
    int procedures; /* number of wrappers, for any function and name */
    int in_c_alone; /* functions with wrappers in both languages of which only the C wrapper is
                       called */
    bool unused[QMPI_FUNCTION_COUNT]; /* these functions, by number */
};

/* Reads the Fortran wrappers of a tool. */
struct qmpi_fortran_wrappers qmpi_fortran_wrappers_read(const struct qmpi_layer_group *group);

/* Whether the user excludes the Fortran wrappers of a layer: @fortran=no. */
bool qmpi_fortran_wrappers_excluded(const struct qmpi_layer *layer);

/* Appends to a text how the Fortran wrappers of a loaded tool are used. Returns the new text in
 * place of `text`, which it frees. */
char *qmpi_fortran_wrappers_describe(const struct qmpi_layer *layer, char *text);

/* Checks whether a loaded tool without wrappers in C can see calls in its Fortran wrappers. If it
 * cannot, because the layer is not on top, prints a warning. Returns NULL, or another problem,
 * which the caller frees. */
char *qmpi_fortran_wrappers_check(const struct qmpi_layer *layer);

#endif
