/* SPDX-License-Identifier: MIT */
/* The code to which the program's references to the procedures of fortran_inits.h lead; see
 * fortran.c. */
#include "dispatch/arch/entry.h"
#include "redirect/fortran_inits.h"

#define PLACE(NUMBER, NAME, F08) DEFERRED NUMBER;

DEFERRED_TABLE qmpi_fortran_deferred
QMPI_FORTRAN_INITS(PLACE)
DEFERRED_END qmpi_fortran_first
