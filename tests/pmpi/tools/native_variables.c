/* SPDX-License-Identifier: MIT */
/* A native tool that prints TEST_SET and TEST_UNSET. It must not see the variables of
 * other layers. */
#include "trace.h"

#include <qmpi/qmpi.h>

#include <stdlib.h>

static void note(const char *when)
{
    const char *set = getenv("TEST_SET"), *unset = getenv("TEST_UNSET");
    trace("%s %s: %s %s", TOOL, when, set ? set : "(none)", unset ? unset : "(none)");
}

static int native_init(QMPI_Context context, int *argc, char ***argv)
{
    note("MPI_Init");
    return QMPIX_NEXT(context, Init)(QMPIX_NEXT_CONTEXT(context), argc, argv);
}

static void init(int tool_id)
{
    note("beginning");
    QMPI_Register_tool_function(tool_id, MPI_INIT_T, (void (*)(void))native_init);
}

__attribute__((constructor)) static void register_tool(void)
{
    note("constructor");
    QMPI_Register_tool_name(TOOL, init);
}
