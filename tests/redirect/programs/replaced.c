/* SPDX-License-Identifier: MIT */
/* A library with a wrapper of a Fortran procedure of MPI. Tests preload it, but do not list it
 * as a tool. */
#include "trace.h"

#include <mpi.h>

void pmpi_allreduce_(void *in, void *out, MPI_Fint *count, MPI_Fint *type, MPI_Fint *op,
                     MPI_Fint *comm, MPI_Fint *error);
void mpi_allreduce_(void *in, void *out, MPI_Fint *count, MPI_Fint *type, MPI_Fint *op,
                    MPI_Fint *comm, MPI_Fint *error);
void mpi_allreduce_(void *in, void *out, MPI_Fint *count, MPI_Fint *type, MPI_Fint *op,
                    MPI_Fint *comm, MPI_Fint *error)
{
    trace("replaced mpi_allreduce_");
    pmpi_allreduce_(in, out, count, type, op, comm, error);
}
