/* SPDX-License-Identifier: MIT */
/*
 * When the first message has been received, this layer probes the next one, before the layers above
 * learn that the receive is complete. It receives the next message when the program calls
 * MPI_Barrier.
 */
#include "trace.h"

#include <qmpi/qmpi.h>

#include <stdlib.h>

static MPI_Message next;

static int again_mrecv(QMPI_Context context, void *buf, int count, MPI_Datatype datatype,
                       MPI_Message *message, MPI_Status *status)
{
    static int calls;
    const MPI_Message given = *message;
    const int result = QMPIX_NEXT(context, Mrecv)(QMPIX_NEXT_CONTEXT(context), buf, count, datatype,
                                                  message, status);
    if (calls++)
        return result;
    if (MPI_Mprobe(MPI_ANY_SOURCE, 2, MPI_COMM_SELF, &next, MPI_STATUS_IGNORE) != MPI_SUCCESS)
        abort();
    trace("again: %s handle", next == given ? "the same" : "another");
    return result;
}

static int again_barrier(QMPI_Context context, MPI_Comm comm)
{
    int numbers[4];
    if (MPI_Mrecv(numbers, 4, MPI_INT, &next, MPI_STATUS_IGNORE) != MPI_SUCCESS)
        abort();
    return QMPIX_NEXT(context, Barrier)(QMPIX_NEXT_CONTEXT(context), comm);
}

static void init(int tool_id)
{
    QMPI_Register_tool_function(tool_id, MPI_MRECV_T, (void (*)(void))again_mrecv);
    QMPI_Register_tool_function(tool_id, MPI_BARRIER_T, (void (*)(void))again_barrier);
}

__attribute__((constructor)) static void register_tool(void)
{
    QMPI_Register_tool_name("again", init);
}
