/* SPDX-License-Identifier: MIT */
/*
 * A layer with an observer of all functions and with interceptors of MPI_Comm_rank and
 * MPI_Comm_size. The interceptor of MPI_Comm_size passes MPI_COMM_SELF to the layers below. Each
 * callback and interceptor prints a line, so that their order can be tested.
 */
#define _GNU_SOURCE
#include "trace.h"

#include <qmpi/observer.h>

static int my_data;

static int my_Comm_rank(QMPI_Context context, MPI_Comm comm, int *rank)
{
    trace("beside %d intercepts MPI_Comm_rank", context->tool_id);
    return QMPIX_NEXT(context, Comm_rank)(QMPIX_NEXT_CONTEXT(context), comm, rank);
}

static int my_Comm_size(QMPI_Context context, MPI_Comm comm, int *size)
{
    trace("beside %d intercepts MPI_Comm_size", context->tool_id);
    (void)comm;
    return QMPIX_NEXT(context, Comm_size)(QMPIX_NEXT_CONTEXT(context), MPI_COMM_SELF, size);
}

static void note(const char *when, const QMPIX_Call *call)
{
    int tool_id = -1;
    QMPIX_Context_get_tool_id(call->context, &tool_id);
    trace("beside %d %s %s%s", tool_id, when, call->function->name,
          call->observer->data == &my_data ? "" : " without its data");
}

static void before(const QMPIX_Call *call, QMPIX_Word *word)
{
    (void)word;
    note("before", call);
}

static void after(const QMPIX_Call *call, QMPIX_Word *word)
{
    (void)word;
    note("after", call);
}

static void init(int tool_id)
{
    /* libqmpi must copy the structure, because its contents are replaced below. */
    QMPIX_Observer observer = {
        .size = sizeof observer, .before = before, .after = after, .data = &my_data};
    QMPI_Register_tool_function(tool_id, MPI_COMM_RANK_T, (void (*)(void))my_Comm_rank);
    if (QMPIX_Register_tool_observer(tool_id, &observer) != MPI_SUCCESS)
        QMPIX_Tool_fail(tool_id, "no observer\nhint: none");
    QMPI_Register_tool_function(tool_id, MPI_COMM_SIZE_T, (void (*)(void))my_Comm_size);
    observer = (QMPIX_Observer){.size = 0};
}

__attribute__((constructor)) static void register_tool(void)
{
    QMPI_Register_tool_name("beside", init);
}
