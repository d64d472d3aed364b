/* SPDX-License-Identifier: MIT */
/*
 * A tool that finishes after main has returned. FINISH selects how: in an exit handler, in a
 * destructor, or in an exit handler that also finalizes MPI, as IPM does.
 */
#include "trace.h"

#include <mpi.h>
#include <stdlib.h>

#define IN_ATEXIT 1
#define IN_DESTRUCTOR 2
#define FINALIZES 3

static int calls;

static void report(void)
{
    int flag = -1;
    PMPI_Finalized(&flag);
    trace("%s at the end: %d calls, finalized %d", TOOL, calls, flag);
#if FINISH == FINALIZES
    int result = PMPI_Barrier(MPI_COMM_WORLD);
    trace("%s finalizes %d", TOOL, result);
    PMPI_Finalize();
    PMPI_Finalized(&flag);
    trace("%s has finalized %d", TOOL, flag);
#endif
}

#if FINISH == IN_DESTRUCTOR
__attribute__((destructor)) static void leave(void)
{
    report();
}
#endif

int MPI_Init(int *argc, char ***argv)
{
    calls++;
#if FINISH != IN_DESTRUCTOR
    atexit(report);
#endif
    return PMPI_Init(argc, argv);
}

int MPI_Comm_rank(MPI_Comm comm, int *rank)
{
    calls++;
    return PMPI_Comm_rank(comm, rank);
}

int MPI_Finalize(void)
{
    calls++;
    trace("%s MPI_Finalize", TOOL);
#if FINISH == FINALIZES
    return MPI_SUCCESS;
#else
    return PMPI_Finalize();
#endif
}
