/* SPDX-License-Identifier: MIT */
/*
 * The MPI standard's first profiling example (MPI 4.0, section 15.2, "Profiler Implementation
 * Example") as a QMPI tool: how much data MPI_Send sent and how long that took. Where the
 * standard's example calls MPI_Wtime and MPI_Type_size, a layer calls PMPI_Wtime and
 * PMPI_Type_size, so that no other layer sees these calls. Each layer has its own totals, so that
 * the tool can be listed twice.
 */
#include <qmpi/qmpi.h>
#include <stdatomic.h>
#include <stdio.h>

struct totals {
    _Atomic long long bytes;
    _Atomic long long nanoseconds; /* an integer: several threads may add to it */
};
static struct totals all[256]; /* one for each layer */

static struct totals *totals_of(QMPI_Context c, int tool_id)
{
    void *totals = NULL;
    QMPI_Context_get_storage(c, tool_id, &totals);
    return totals;
}

static int my_Send(QMPI_Context c, const void *buffer, int count, MPI_Datatype datatype, int dest,
                   int tag, MPI_Comm comm)
{
    int tool_id = 0, size = 0;
    QMPIX_Context_get_tool_id(c, &tool_id);
    struct totals *totals = totals_of(c, tool_id);
    const double start = PMPI_Wtime();
    const int result =
        QMPIX_NEXT(c, Send)(QMPIX_NEXT_CONTEXT(c), buffer, count, datatype, dest, tag, comm);
    const double time = PMPI_Wtime() - start;
    if (result == MPI_SUCCESS) { /* now the arguments are known to be valid */
        PMPI_Type_size(datatype, &size);
        totals->bytes += (long long)size * count;
        totals->nanoseconds += (long long)(time * 1e9);
    }
    return result;
}

static int my_Finalize(QMPI_Context c)
{
    int tool_id = 0, rank = 0;
    QMPIX_Context_get_tool_id(c, &tool_id);
    const struct totals *totals = totals_of(c, tool_id);
    PMPI_Comm_rank(MPI_COMM_WORLD, &rank);
    fprintf(stderr, "send_totals (layer %d), rank %d: %lld bytes in %.6f s\n", tool_id, rank,
            (long long)totals->bytes, (double)totals->nanoseconds * 1e-9);
    return QMPIX_NEXT(c, Finalize)(QMPIX_NEXT_CONTEXT(c));
}

static void init(int tool_id)
{
    QMPI_Register_tool_storage(tool_id, &all[tool_id]);
    QMPIX_REGISTER(tool_id, Send, my_Send);
    QMPIX_REGISTER(tool_id, Finalize, my_Finalize);
}

__attribute__((constructor)) static void register_tool(void)
{
    QMPI_Register_tool_name("send_totals", init);
}
