/* SPDX-License-Identifier: MIT */
/*
 * After MPI_Init, registers an interceptor of MPI_Barrier for each layer of the stack, and prints
 * the results. The interceptor prints the layer for which it is called.
 */
#include "trace.h"

#include <qmpi/qmpi.h>

static int late_Barrier(QMPI_Context context, MPI_Comm comm)
{
    int tool_id = -1;
    QMPIX_Context_get_tool_id(context, &tool_id);
    trace("late MPI_Barrier of layer %d", tool_id);
    return QMPIX_NEXT(context, Barrier)(QMPIX_NEXT_CONTEXT(context), comm);
}

static const char *name_of(int result)
{
    return result == MPI_SUCCESS     ? "MPI_SUCCESS"
           : result == MPI_ERR_OTHER ? "MPI_ERR_OTHER"
                                     : "another error";
}

static int late_Init_thread(QMPI_Context context, int *argc, char ***argv, int required,
                            int *provided)
{
    const int result = QMPIX_NEXT(context, Init_thread)(QMPIX_NEXT_CONTEXT(context), argc, argv,
                                                        required, provided);
    int count = 0;
    QMPIX_Tool_count(&count);
    for (int tool_id = 1; tool_id <= count; tool_id++)
        trace("late for layer %d: %s", tool_id,
              name_of(QMPIX_REGISTER(tool_id, Barrier, late_Barrier)));
    return result;
}

static void init(int tool_id)
{
    QMPIX_REGISTER(tool_id, Init_thread, late_Init_thread);
}

__attribute__((constructor)) static void register_tool(void)
{
    QMPI_Register_tool_name("late", init);
}
