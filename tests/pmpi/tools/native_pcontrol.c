/* SPDX-License-Identifier: MIT */
/* Does the same as pcontrol.c, as a native tool. */
#include "trace.h"

#include <qmpi/qmpi.h>

QMPIX_PCONTROL_READER static int native_Pcontrol(QMPI_Context context, const int level, ...)
{
    QMPIX_Pcontrol_words words;
    QMPIX_PCONTROL_READ(words, level);
    trace("%s MPI_Pcontrol %d %s %g %ld %g", TOOL, level, (const char *)words.word[0],
          words.real[0], words.word[1], words.real[1]);
    return QMPIX_NEXT(context, Pcontrol)(QMPIX_NEXT_CONTEXT(context), level,
                                         QMPIX_PCONTROL_PASS(words));
}

static void init(int tool_id)
{
    QMPI_Register_tool_function(tool_id, MPI_PCONTROL_T, (void (*)(void))native_Pcontrol);
}

__attribute__((constructor)) static void register_tool(void)
{
    QMPI_Register_tool_name(TOOL, init);
}
