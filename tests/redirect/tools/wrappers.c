/* SPDX-License-Identifier: MIT */
/*
 * A PMPI tool with wrappers in C and Fortran, like mpiP and dumpi. Each wrapper prints the library
 * or program that called it; this is the Fortran program if it calls the wrapper directly. With
 * PASSES_ON, the Fortran wrapper calls the Fortran procedure of PMPI, like that of TALP. With
 * FORTRAN_ALONE, it does the same, and there are no C wrappers.
 */
#define _GNU_SOURCE
#include "fortran_handles.h"
#include "trace.h"

#include <mpi.h>

#include <dlfcn.h>
#include <string.h>

static void note(const char *name, const void *caller)
{
    Dl_info info;
    const char *file = dladdr(caller, &info) ? info.dli_fname : "nowhere";
    const char *slash = strrchr(file, '/');
    trace("wrappers %s from %s", name, slash ? slash + 1 : file);
}

#ifndef FORTRAN_ALONE
static volatile int done;

int MPI_Barrier(MPI_Comm comm)
{
    note("MPI_Barrier", __builtin_return_address(0));
    const int result = PMPI_Barrier(comm);
    done++; /* prevents a tail call, because the layers below examine the stack */
    return result;
}

int MPI_Comm_rank(MPI_Comm comm, int *rank)
{
    note("MPI_Comm_rank", __builtin_return_address(0));
    return PMPI_Comm_rank(comm, rank);
}

#endif

void pmpi_barrier_(MPI_Fint *comm, MPI_Fint *error);
void mpi_barrier_(MPI_Fint *comm, MPI_Fint *error);
void mpi_barrier_(MPI_Fint *comm, MPI_Fint *error)
{
    note("mpi_barrier_", __builtin_return_address(0));
#if defined PASSES_ON || defined FORTRAN_ALONE
    pmpi_barrier_(comm, error);
#else
    *error = PMPI_Barrier(MPI_Comm_f2c(*comm));
#endif
}
