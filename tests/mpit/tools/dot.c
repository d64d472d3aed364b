/* SPDX-License-Identifier: MIT */
/* Publishes a category `ted`; the name of the tool is set when it is built. */
#include <qmpi/mpit.h>

#include <stdlib.h>

static void init(int tool_id)
{
    const QMPIX_Category category = {.size = sizeof category, .name = "ted"};
    if (QMPIX_Category_create(tool_id, &category, NULL) != MPI_SUCCESS)
        abort();
}

__attribute__((constructor)) static void register_tool(void)
{
    QMPI_Register_tool_name(TOOL, init);
}
