/* SPDX-License-Identifier: MIT */
/* A tool that describes its options, and prints those of each of its layers. */
#include "trace.h"

#include <qmpi/qmpi.h>

static void note_option(int tool_id, const char *key)
{
    const char *value = "untouched";
    const int result = QMPIX_Tool_get_option(tool_id, key, &value);
    trace("options %d %s %s %s", tool_id, key,
          result == MPI_SUCCESS          ? "is"
          : result == MPI_ERR_INFO_NOKEY ? "has none:"
                                         : "fails:",
          value);
}

static void init(int tool_id)
{
    note_option(tool_id, "colour");
    note_option(tool_id, "size");
    note_option(tool_id, "unknown");
}

__attribute__((constructor)) static void register_tool(void)
{
    static const QMPIX_Tool_option options[] = {
        {"colour", "blue", "what it is painted in"}, {"size", NULL, "how big"}, {NULL, NULL, NULL}};
    static const QMPIX_Tool_info info = {
        .size = sizeof info, .description = "notes its options", .options = options};
    QMPI_Register_tool_name("options", init);
    QMPIX_Register_tool_info("options", &info);
}
