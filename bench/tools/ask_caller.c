/* SPDX-License-Identifier: MIT */
/*
 * Asks for the calling address once or (BENCH_NINE_TIMES) nine times in each call, and passes the
 * call on. An eighth of the difference is the cost of asking, without that of the layer.
 */
#include "announce.h"

#include <qmpi/qmpi.h>

static int ask_Comm_rank(QMPI_Context context, MPI_Comm comm, int *rank)
{
    void *caller = NULL;
    int tool_id;
    if (QMPIX_Context_get_tool_id(context, &tool_id) != MPI_SUCCESS)
        return MPI_ERR_INTERN;
    QMPI_Context_get_calling_address(context, tool_id, &caller);
#if BENCH_NINE_TIMES /* not a loop, whose own instructions would count */
    QMPI_Context_get_calling_address(context, tool_id, &caller);
    QMPI_Context_get_calling_address(context, tool_id, &caller);
    QMPI_Context_get_calling_address(context, tool_id, &caller);
    QMPI_Context_get_calling_address(context, tool_id, &caller);
    QMPI_Context_get_calling_address(context, tool_id, &caller);
    QMPI_Context_get_calling_address(context, tool_id, &caller);
    QMPI_Context_get_calling_address(context, tool_id, &caller);
    QMPI_Context_get_calling_address(context, tool_id, &caller);
#endif
    if (!caller)
        return MPI_ERR_INTERN;
    return QMPIX_NEXT(context, Comm_rank)(QMPIX_NEXT_CONTEXT(context), comm, rank);
}

void bench_init(int tool_id)
{
    QMPIX_REGISTER(tool_id, Comm_rank, ask_Comm_rank);
}
