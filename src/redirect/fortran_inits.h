/* SPDX-License-Identifier: MIT */
/*
 * The Fortran procedures that initialize MPI, with the names that compilers generate, and whether
 * they belong to mpi_f08, which has its own constants. Also read by the assembler.
 */
#ifndef QMPI_REDIRECT_FORTRAN_INITS_H
#define QMPI_REDIRECT_FORTRAN_INITS_H

/* clang-format off */
#define QMPI_FORTRAN_INITS(X) \
    X(0, "mpi_init_", 0) \
    X(1, "mpi_init__", 0) \
    X(2, "mpi_init", 0) \
    X(3, "MPI_INIT", 0) \
    X(4, "mpi_init_f08_", 1) \
    X(5, "mpi_init_thread_", 0) \
    X(6, "mpi_init_thread__", 0) \
    X(7, "mpi_init_thread", 0) \
    X(8, "MPI_INIT_THREAD", 0) \
    X(9, "mpi_init_thread_f08_", 1)
/* clang-format on */

#endif
