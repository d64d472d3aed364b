/* SPDX-License-Identifier: MIT */
/* Intercepts MPI_Comm_rank and passes it on. When MPI_Init has returned, it switches itself off. */
#include "announce.h"

#include <qmpi/qmpi.h>

#include <stdio.h>
#include <stdlib.h>

static int off_Init(QMPI_Context context, int *argc, char ***argv)
{
    int tool_id = 0;
    const int result = QMPIX_NEXT(context, Init)(QMPIX_NEXT_CONTEXT(context), argc, argv);
    QMPIX_Context_get_tool_id(context, &tool_id);
    if (QMPIX_Tool_set_enabled(tool_id, 0) != MPI_SUCCESS) {
        fprintf(stderr, "off: layer %d cannot be switched off\n", tool_id);
        exit(1);
    }
    return result;
}

static int off_Comm_rank(QMPI_Context context, MPI_Comm comm, int *rank)
{
    return QMPIX_NEXT(context, Comm_rank)(QMPIX_NEXT_CONTEXT(context), comm, rank);
}

void bench_init(int tool_id)
{
    QMPIX_REGISTER(tool_id, Init, off_Init);
    QMPIX_REGISTER(tool_id, Comm_rank, off_Comm_rank);
}
