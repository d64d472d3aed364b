/* SPDX-License-Identifier: MIT */
/* Counts calls of three functions, which several threads may make, and prints the counts in
 * MPI_Finalize. */
#include "trace.h"

#include <mpi.h>

#include <stdatomic.h>

static atomic_long inits, ranks, probes;

int MPI_Init_thread(int *argc, char ***argv, int required, int *provided)
{
    atomic_fetch_add(&inits, 1);
    return PMPI_Init_thread(argc, argv, required, provided);
}

int MPI_Comm_rank(MPI_Comm comm, int *rank)
{
    atomic_fetch_add(&ranks, 1);
    return PMPI_Comm_rank(comm, rank);
}

int MPI_Iprobe(int source, int tag, MPI_Comm comm, int *flag, MPI_Status *status)
{
    atomic_fetch_add(&probes, 1);
    return PMPI_Iprobe(source, tag, comm, flag, status);
}

int MPI_Finalize(void)
{
    trace("%s counted %ld %ld %ld", TOOL, atomic_load(&inits), atomic_load(&ranks),
          atomic_load(&probes));
    return PMPI_Finalize();
}
