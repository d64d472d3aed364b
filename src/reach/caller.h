/* SPDX-License-Identifier: MIT */
/*
 * The caller of the present MPI call: the address in the program, or in a tool that called MPI_X,
 * to which the call returns.
 */
#ifndef QMPI_CALLER_H
#define QMPI_CALLER_H

/*
 * Where the present MPI call of this thread entered the native layers; NULL outside a call. After a
 * longjmp out of a call it is found by unwinding.
 */
void *qmpi_caller_of_layers(void);

/*
 * The address in the program behind `caller`, where `caller` lies in a language binding or in a
 * hosted tool. To be called below the call of which it is the caller.
 */
void *qmpi_caller_of_program(void *caller);

#endif
