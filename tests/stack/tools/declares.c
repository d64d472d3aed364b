/* SPDX-License-Identifier: MIT */
/*
 * Declares in its description what it provides, and with what it conflicts. Its init prints a note.
 * The macro DECLARES selects what the tool declares:
 *   1  provides adds-messages, and conflicts with adds-*
 *   2  provides adds-messages
 *   3  conflicts with the tools [a]lpha and other_* (there is no tool of the latter pattern)
 *   4  conflicts with adds-* and with itself, so that it can be listed only once
 *   5  is like a tool compiled with a header without `flags` and the members that follow: in this
 *      tool, they contain garbage, which libqmpi must not read
 *   6  the same for a header without `conflicts`
 */
#include "trace.h"

#include <qmpi/qmpi.h>

#include <stdint.h>

static const char *const adds[] = {"something", "adds-messages", NULL};
static const char *const excludes[] = {DECLARES == 3 ? "other_*" : "adds-*",
                                       DECLARES == 3   ? "[a]lpha"
                                       : DECLARES == 4 ? TOOL
                                                       : NULL,
                                       NULL};

static void init(int tool_id)
{
    trace("%s %d is initialized", TOOL, tool_id);
}

__attribute__((constructor)) static void register_tool(void)
{
    static QMPIX_Tool_info info = {.size = sizeof info, .description = "declares"};
    const char *const *garbage = (const char *const *)(uintptr_t)64;
    if (DECLARES <= 2)
        info.provides = adds;
    if (DECLARES != 2)
        info.conflicts = excludes;
    if (DECLARES == 5) {
        info.size = offsetof(QMPIX_Tool_info, flags);
        info.flags = ~0U;
        info.provides = garbage;
    }
    if (DECLARES == 6)
        info.size = offsetof(QMPIX_Tool_info, conflicts);
    if (DECLARES >= 5)
        info.conflicts = garbage;
    QMPI_Register_tool_name(TOOL, init);
    if (QMPIX_Register_tool_info(TOOL, &info) != MPI_SUCCESS)
        trace("%s WRONG: its description is rejected", TOOL);
}
