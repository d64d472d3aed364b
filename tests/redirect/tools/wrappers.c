/* SPDX-License-Identifier: MIT */
/*
 * A PMPI tool with Fortran wrappers of its own beside its C ones, as mpiP and dumpi have them. Each
 * notes the library or program that it was called from, the Fortran program if nothing is between.
 * With PASSES_ON, the Fortran wrapper calls PMPI in Fortran, as that of TALP does; with
 * FORTRAN_ALONE, so does it, and there are no wrappers in C.
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
    done++; /* else this function would have left the stack when the layers below look at it */
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
