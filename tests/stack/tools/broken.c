/* SPDX-License-Identifier: MIT */
/*
 * Tools and other libraries, each with a different fault (BROKEN):
 *   1 fails     its init calls QMPIX_Tool_fail
 *   2 silent    refers to QMPI_Register_tool_name, but does not call it
 *   3 undefined needs a function that nobody defines
 *   4 plain     has nothing to do with MPI
 *   5 leaky     works, but branches on uninitialised memory, which valgrind must report
 *   6 twins     registers two tools
 *   7 dies      its constructor ends the process by a signal
 */
#if BROKEN == 4

int answer(void);
__attribute__((visibility("default"))) int answer(void)
{
    return 42;
}

#else

#include "trace.h"

#include <qmpi/qmpi.h>

#include <stdlib.h>

#if BROKEN == 3
void nobody_defines_this(void);
#endif

static int broken_rank(QMPI_Context context, MPI_Comm comm, int *rank)
{
    trace("broken MPI_Comm_rank");
    return QMPIX_NEXT(context, Comm_rank)(QMPIX_NEXT_CONTEXT(context), comm, rank);
}

__attribute__((unused)) static void init(int tool_id)
{
    QMPI_Register_tool_function(tool_id, MPI_COMM_RANK_T, (void (*)(void))broken_rank);
#if BROKEN == 1
    QMPIX_Tool_fail(tool_id, "its two\nlines of reason");
#elif BROKEN == 3
    nobody_defines_this();
#elif BROKEN == 5
    int *volatile memory = malloc(sizeof *memory);
    if (memory && *memory == 42)
        trace("broken: 42");
    free(memory);
#endif
}

__attribute__((constructor)) static void register_tool(void)
{
    trace("load broken");
#if BROKEN == 2
    if (getenv("QMPI_TEST_NEVER_SET"))
        QMPI_Register_tool_name("silent", init);
#elif BROKEN == 6
    QMPI_Register_tool_name("castor", init);
    QMPI_Register_tool_name("pollux", init);
#elif BROKEN == 7
    if (!getenv("QMPI_TEST_NEVER_SET"))
        abort();
    QMPI_Register_tool_name("broken", init);
#else
    QMPI_Register_tool_name("broken", init);
#endif
}

#endif
