/* SPDX-License-Identifier: MIT */
/*
 * The functions that bound.c and cpp.cpp wrap, and that helper.c and passing.c pass on, as
 * W(RESULT, X, PARAMETERS, ARGUMENTS). WRAPS selects all of them (0), only MPI_Init and
 * MPI_Finalize (1), or only the others (2).
 */
#ifndef TEST_FUNCTIONS_H
#define TEST_FUNCTIONS_H

#include <mpi.h>

#ifndef WRAPS
#define WRAPS 0
#endif

#if WRAPS == 2
#define FUNCTIONS_ENDS(W)
#else
#define FUNCTIONS_ENDS(W)                                                                          \
    W(int, Init, (int *argc, char ***argv), (argc, argv))                                          \
    W(int, Finalize, (void), ())
#endif

#if WRAPS == 1
#define FUNCTIONS_MIDDLE(W)
#else
#define FUNCTIONS_MIDDLE(W)                                                                        \
    W(int, Comm_rank, (MPI_Comm comm, int *rank), (comm, rank))                                    \
    W(int, Comm_size, (MPI_Comm comm, int *size), (comm, size))                                    \
    W(int, Barrier, (MPI_Comm comm), (comm))                                                       \
    W(double, Wtime, (void), ())
#endif

/* The name PREFIX_X of a function in a helper library. */
#define JOINED(PREFIX, X) JOINED_TEXT(PREFIX, X)
#define JOINED_TEXT(PREFIX, X) PREFIX##_##X

#define FUNCTIONS(W)                                                                               \
    FUNCTIONS_ENDS(W)                                                                              \
    FUNCTIONS_MIDDLE(W)

#endif
