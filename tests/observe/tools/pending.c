/* SPDX-License-Identifier: MIT */
/*
 * Intercepts MPI_Waitall. If statuses are passed to this layer and the first operation fails, the
 * interceptor returns immediately and reports the other operations as pending, which MPI permits
 * (MPI 4.0, section 3.7.5).
 */
#include <qmpi/qmpi.h>

static int pending_waitall(QMPI_Context context, int count, MPI_Request *requests,
                           MPI_Status *statuses)
{
    if (count > 0 && statuses != MPI_STATUSES_IGNORE) {
        const int error = PMPI_Wait(&requests[0], &statuses[0]);
        if (error != MPI_SUCCESS) {
            statuses[0].MPI_ERROR = error;
            for (int i = 1; i < count; i++)
                statuses[i].MPI_ERROR = MPI_ERR_PENDING;
            return MPI_ERR_IN_STATUS;
        }
    }
    return QMPIX_NEXT(context, Waitall)(QMPIX_NEXT_CONTEXT(context), count, requests, statuses);
}

static void init(int tool_id)
{
    QMPI_Register_tool_function(tool_id, MPI_WAITALL_T, (void (*)(void))pending_waitall);
}

__attribute__((constructor)) static void register_tool(void)
{
    QMPI_Register_tool_name("pending", init);
}
