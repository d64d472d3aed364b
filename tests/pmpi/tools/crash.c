/* SPDX-License-Identifier: MIT */
/* A tool that ends the process by a signal in its constructor or in MPI_Init, as CRASH selects. */
#include "trace.h"

#include <mpi.h>

#include <signal.h>

#define IN_CONSTRUCTOR 1
#define IN_INIT 2

#if CRASH == IN_CONSTRUCTOR
__attribute__((constructor)) static void begin(void)
{
    trace("%s crashes", TOOL);
    raise(SIGSEGV);
}
#endif

int MPI_Init(int *argc, char ***argv)
{
    trace("%s MPI_Init", TOOL);
#if CRASH == IN_INIT
    raise(SIGSEGV);
#endif
    return PMPI_Init(argc, argv);
}
