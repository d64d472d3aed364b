/* SPDX-License-Identifier: MIT */
/*
 * Tools with Fortran wrappers of their own. A Fortran call is to come in through the language
 * binding and the entries, so that every layer sees it in order; only a hosted tool on top of the
 * stack may take it itself, as it would without us, and so see the program's own call site.
 *
 * Such wrappers may rely on what the tool's own mpi_init_ has stored, the addresses of Fortran's
 * MPI_IN_PLACE and its like. So the program's references to the procedures that initialise MPI lead
 * to code that builds the stack first and then goes where it says; and the program is led into
 * other wrappers of a tool that has one for initialisation only once it has gone through that.
 */
#ifndef QMPI_REDIRECT_FORTRAN_H
#define QMPI_REDIRECT_FORTRAN_H

#include "dispatch/chain.h"
#include "elf/held.h"
#include "registry/objects.h"

/* Before the program begins: leads it past the Fortran wrappers of tools that are in the process,
 * and its initialisation to the stack, which `start` builds if nobody has. */
void qmpi_fortran_begin(void (*start)(void));

/* The program's objects with references to Fortran's procedures, held for those who are to lead
 * them; to be taken before any lock (see elf/held.h). */
struct qmpi_fortran_callers {
    struct qmpi_elf_held *held;
    int count;
};
struct qmpi_fortran_callers qmpi_fortran_hold(void);
void qmpi_fortran_let_go(struct qmpi_fortran_callers *callers);

/* When the stack is built, and when it changes: which hosted tool is on top; NULL: none is. */
void qmpi_fortran_set_callers(const struct qmpi_group *group,
                              const struct qmpi_fortran_callers *callers);

/* Whether a hosted tool has Fortran wrappers. */
bool qmpi_fortran_has_wrappers(const struct qmpi_group *group);

/* Where the call of procedure `number` of fortran_inits.h leads; builds the stack first if nobody
 * has. Called by the assembler alone. */
qmpi_function *qmpi_fortran_first(int number, const void *caller) QMPI_HIDDEN;

#endif
