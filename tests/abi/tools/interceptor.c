/* SPDX-License-Identifier: MIT */
/* A tool that is compiled for the standard ABI, and registers an interceptor. qmpi refuses it in
 * programs of an MPI with another ABI, because the arguments of interceptors are not converted. */
#include <qmpi/observer.h>

static void init(int tool_id)
{
    const QMPIX_Observer observer = {.size = sizeof observer};
    QMPIX_Register_tool_observer(tool_id, &observer);
    QMPI_Register_tool_function(tool_id, MPI_SEND_T, (void (*)(void))init);
}

__attribute__((constructor)) static void register_tool(void)
{
    QMPI_Register_tool_name("interceptor", init);
}
