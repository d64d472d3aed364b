/* SPDX-License-Identifier: MIT */
/*
 * Tools with Fortran wrappers of their own. A Fortran call is to come in through the language
 * binding and the entries, so that every layer sees it in order; only a hosted tool on top of the
 * stack may take it itself, as it would without us, and so see the program's own call site.
 */
#ifndef QMPI_FORTRAN_H
#define QMPI_FORTRAN_H

#include "group.h"

/* Before the program begins: leads it past the Fortran wrappers of tools that are in the process.
 */
void qmpi_fortran_begin(void);

/* When the stack is built: leads it to those of the hosted tool on top. NULL: there is no such
 * tool. */
void qmpi_fortran_lead_to(const struct qmpi_group *top);

#endif
