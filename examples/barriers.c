/* SPDX-License-Identifier: MIT */
/* docs/write/README.md: "The smallest tool". Counts barriers, for each layer. */
#include <qmpi/qmpi.h>
#include <stdio.h>

static int barriers[256]; /* one for each layer: a tool_id is at most 255 */

static int my_Barrier(QMPI_Context c, MPI_Comm comm)
{
    int tool_id = 0;
    QMPIX_Context_get_tool_id(c, &tool_id);
    barriers[tool_id]++;
    return QMPIX_NEXT(c, Barrier)(QMPIX_NEXT_CONTEXT(c), comm);
}

static int my_Finalize(QMPI_Context c)
{
    int tool_id = 0;
    QMPIX_Context_get_tool_id(c, &tool_id);
    fprintf(stderr, "layer %d: %d barriers\n", tool_id, barriers[tool_id]);
    return QMPIX_NEXT(c, Finalize)(QMPIX_NEXT_CONTEXT(c));
}

static void init(int tool_id) /* once for each layer */
{
    QMPIX_REGISTER(tool_id, Barrier, my_Barrier);
    QMPIX_REGISTER(tool_id, Finalize, my_Finalize);
}

__attribute__((constructor)) static void register_tool(void)
{
    QMPI_Register_tool_name("barriers", init);
}
