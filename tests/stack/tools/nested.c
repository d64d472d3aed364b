/* SPDX-License-Identifier: MIT */
/*
 * Makes MPI calls of its own. In its constructor and in its init, it calls MPI_Initialized. In
 * MPI_Barrier, it calls MPI_Comm_size, which enters the stack at the top, and PMPI_Comm_rank, which
 * no layer sees. The tool prints the caller of MPI_Barrier before and after MPI_Comm_size, and at
 * the end.
 */
#define _GNU_SOURCE
#include "trace.h"

#include <qmpi/qmpi.h>

#include <dlfcn.h>

static void note_caller(QMPI_Context context, int tool_id, const char *when)
{
    void *address = NULL;
    Dl_info info;
    QMPI_Context_get_calling_address(context, tool_id, &address);
    if (!dladdr(address, &info) || !info.dli_sname)
        info.dli_sname = "unknown";
    trace("nested %d caller %s %s", tool_id, when, info.dli_sname);
}

static int nested_barrier(QMPI_Context context, MPI_Comm comm)
{
    int tool_id = 0, size = -1, rank = -1;
    QMPIX_Context_get_tool_id(context, &tool_id);
    trace("nested %d MPI_Barrier", tool_id);
    note_caller(context, tool_id, "before");
    MPI_Comm_size(comm, &size);
    note_caller(context, tool_id, "after MPI_Comm_size");
    PMPI_Comm_rank(comm, &rank);
    trace("nested: rank %d size %d", rank, size);
    const int result = QMPIX_NEXT(context, Barrier)(QMPIX_NEXT_CONTEXT(context), comm);
    note_caller(context, tool_id, "after the next");
    return result;
}

/* Must not be called for the layer's own calls in its constructor and in init. */
static int nested_initialized(QMPI_Context context, int *flag)
{
    trace("nested MPI_Initialized");
    return QMPIX_NEXT(context, Initialized)(QMPIX_NEXT_CONTEXT(context), flag);
}

static void call_initialized(const char *where)
{
    int flag = -1;
    trace("nested %s begins", where);
    const int result = MPI_Initialized(&flag);
    trace("nested %s ends: result %d, flag %d", where, result, flag);
}

static void init(int tool_id)
{
    QMPI_Register_tool_function(tool_id, MPI_BARRIER_T, (void (*)(void))nested_barrier);
    QMPI_Register_tool_function(tool_id, MPI_INITIALIZED_T, (void (*)(void))nested_initialized);
    call_initialized("init");
}

__attribute__((constructor)) static void register_tool(void)
{
    QMPI_Register_tool_name("nested", init);
    call_initialized("constructor");
}
