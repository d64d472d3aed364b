/* SPDX-License-Identifier: MIT */
/* A layer that does not pass MPI_Finalize on, like some tools of other projects. */
#include <qmpi/qmpi.h>

static int keeps_Finalize(QMPI_Context context)
{
    (void)context;
    return MPI_SUCCESS;
}

static void init(int tool_id)
{
    QMPIX_REGISTER(tool_id, Finalize, keeps_Finalize);
}

__attribute__((constructor)) static void register_tool(void)
{
    QMPI_Register_tool_name("keeps_finalize", init);
}
