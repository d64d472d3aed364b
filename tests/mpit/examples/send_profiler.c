/* SPDX-License-Identifier: MIT */
/*
 * The MPI standard's first PMPI tool (MPI 4.0, section 15.2 "Profiling Interface", examples): it
 * accumulates the amount of data sent by MPI_Send and the time spent in it. Only MPI_Finalize,
 * which prints the results, was added.
 */
#include <mpi.h>
#include <stdio.h>

static int totalBytes = 0;
static double totalTime = 0.0;

int MPI_Send(const void *buffer, int count, MPI_Datatype datatype, int dest, int tag, MPI_Comm comm)
{
    double tstart = MPI_Wtime(); /* Pass on all arguments */
    int size;
    int result = PMPI_Send(buffer, count, datatype, dest, tag, comm);

    totalTime += MPI_Wtime() - tstart; /* and accumulate time */

    MPI_Type_size(datatype, &size); /* Compute size */
    totalBytes += count * size;

    return result;
}

int MPI_Finalize(void)
{
    fprintf(stderr, "trace: sent %d bytes, time is %s\n", totalBytes,
            totalTime > 0 ? "positive" : "zero");
    return PMPI_Finalize();
}
