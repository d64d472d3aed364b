/* SPDX-License-Identifier: MIT */
/* A tool that is compiled for the standard ABI, and calls an MPI function whose arguments are not
 * converted. qmpi refuses it in programs of an MPI with another ABI. */
#include <qmpi/observer.h>

static void init(int tool_id)
{
    const QMPIX_Observer observer = {.size = sizeof observer};
    QMPIX_Register_tool_observer(tool_id, &observer);
    PMPI_Comm_free_keyval(&tool_id);
}

__attribute__((constructor)) static void register_tool(void)
{
    QMPI_Register_tool_name("keyval", init);
}
