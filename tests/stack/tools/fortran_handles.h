/* SPDX-License-Identifier: MIT */
/* Defines MPI_Fint, and the functions that convert communicators to it and back, for the standard
 * ABI, which has other names for these functions. */
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
