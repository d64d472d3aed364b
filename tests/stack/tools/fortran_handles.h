/* SPDX-License-Identifier: MIT */
/* The standard ABI has no MPI_Fint, and has other functions that convert handles to int and
 * back. */
#ifndef FORTRAN_HANDLES_H
#define FORTRAN_HANDLES_H

#include <mpi.h>

#if !defined(OPEN_MPI) && !defined(MPICH_VERSION)
typedef int MPI_Fint;
#define MPI_Comm_f2c MPI_Comm_fromint
#define PMPI_Comm_f2c PMPI_Comm_fromint
#define PMPI_Comm_c2f PMPI_Comm_toint
#endif

#endif
