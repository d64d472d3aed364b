/* SPDX-License-Identifier: MIT */
/*
 * Tools with their own Fortran wrappers. A Fortran call passes through the language binding and the
 * entry points, so that all layers see it in order. Only a PMPI tool on top of the stack may
 * receive the call in its own wrapper, as without qmpi, so that the tool sees the call site of the
 * program. pmpi/fortran_wrappers.h explains which wrappers are not used.
 *
 * Such wrappers may need data that the tool's own mpi_init_ stored, such as the address of
 * MPI_IN_PLACE in Fortran. Therefore, the program's references to the procedures that initialize
 * MPI are redirected to code that builds the stack first, and then jumps to the tool's wrapper or
 * the binding's procedure. If a tool has a wrapper for initialization, the program is redirected to
 * its other wrappers only after this one has been called.
 */
#ifndef QMPI_REDIRECT_FORTRAN_H
#define QMPI_REDIRECT_FORTRAN_H

#include "dispatch/dispatch.h"
#include "elf/elf.h"
#include "registry/registry.h"

/*
 * Called by the constructor of libqmpi, and again before the stack is built, because the
 * constructor of a preloaded tool may run earlier and build the stack by its first MPI call. Only
 * the first call has an effect. Redirects the program to the language binding instead of the
 * Fortran wrappers of tools, and its references to initialization procedures to code that calls
 * `start` to build the stack. `passes` returns whether a layer is now called for a function. The
 * program does not call the layer's wrappers for other functions. With `in_constructor`, does
 * nothing if another thread is in this function.
 */
void qmpi_fortran_begin(void (*start)(void), bool (*passes)(int tool_id, int number),
                        bool in_constructor);

/* The objects of the program with references to Fortran procedures, held so that they can be
 * redirected. Must be held before any lock is taken (see elf/loaded.h). */
struct qmpi_fortran_callers {
    struct qmpi_elf_held *held;
    int count;
};
struct qmpi_fortran_callers qmpi_fortran_hold(void);
void qmpi_fortran_release(struct qmpi_fortran_callers *callers);

/* Sets the PMPI tool on top of the stack, or NULL if there is none, and redirects the program
 * accordingly. Called when the stack is built or changes, or when the set of functions for which
 * the tool is called changes. */
void qmpi_fortran_set_callers(const struct qmpi_layer_group *group,
                              const struct qmpi_fortran_callers *callers);

/* Returns whether a PMPI tool has Fortran wrappers, and the user does not exclude them. */
bool qmpi_fortran_has_wrappers(const struct qmpi_layer_group *group);

/* Returns the target of a call of procedure `number` of fortran_inits.h; builds the stack if
 * necessary. `caller` is not used. Called only by assembler code. */
qmpi_function *qmpi_fortran_first(int number, const void *caller) QMPI_HIDDEN;

#endif
