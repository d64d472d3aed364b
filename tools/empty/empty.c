/* SPDX-License-Identifier: MIT */
/*
 * The tool empty intercepts every MPI function and passes each call on unchanged. It is used to
 * measure the cost of a layer that does nothing, and in the stacks of tests.
 */
#include "generate/build.h"
#include "tools/empty_manifest.h"

#include <qmpi/qmpi.h>
#include <qmpi/wrappers.h>

#define WRAP(RESULT, X, NUMBER, PARAMETERS, ARGUMENTS)                                             \
    static RESULT empty_##X PARAMETERS                                                             \
    {                                                                                              \
        return QMPIX_NEXT(context, X) ARGUMENTS;                                                   \
    }
QMPIX_FOR_EACH_FUNCTION(WRAP)

QMPIX_PCONTROL_READER static int empty_Pcontrol(QMPI_Context context, const int level, ...)
{
    QMPIX_Pcontrol_words words;
    QMPIX_PCONTROL_READ(words, level);
    return QMPIX_NEXT(context, Pcontrol)(QMPIX_NEXT_CONTEXT(context), level,
                                         QMPIX_PCONTROL_PASS(words));
}

static void init_empty_layer(int tool_id)
{
#define REGISTER(RESULT, X, NUMBER, PARAMETERS, ARGUMENTS) QMPIX_REGISTER(tool_id, X, empty_##X);
    QMPIX_FOR_EACH_FUNCTION(REGISTER)
    QMPIX_REGISTER(tool_id, Pcontrol, empty_Pcontrol);
}

__attribute__((constructor)) static void register_tool(void)
{
    static const QMPIX_Tool_info info = {
        .size = sizeof info,
        .description = TOOL_DESCRIPTION,
        .version = QMPI_VERSION,
    };
    QMPI_Register_tool_name("empty", init_empty_layer);
    QMPIX_Register_tool_info("empty", &info);
}
