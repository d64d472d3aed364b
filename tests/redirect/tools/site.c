/* SPDX-License-Identifier: MIT */
/*
 * Prints for each MPI call, except those of MPI_Pcontrol, the library or program and the function
 * that contain the caller, as dladdr finds them.
 */
#define _GNU_SOURCE
#include "trace.h"

#include <qmpi/qmpi.h>
#include <qmpi/wrappers.h>

#include <dlfcn.h>
#include <string.h>

static void note(QMPI_Context context, const char *function)
{
    Dl_info info;
    void *address = NULL;
    int tool_id = 0;
    QMPIX_Context_get_tool_id(context, &tool_id);
    const int result = QMPI_Context_get_calling_address(context, tool_id, (void *)&address);
    if (result != MPI_SUCCESS || !address || !dladdr(address, &info)) {
        trace("site %d %s from nowhere", tool_id, function);
        return;
    }
    const char *slash = strrchr(info.dli_fname, '/');
    trace("site %d %s from %s %s", tool_id, function, slash ? slash + 1 : info.dli_fname,
          info.dli_sname ? info.dli_sname : "-");
}

#define WRAP(RESULT, X, NUMBER, PARAMETERS, ARGUMENTS)                                             \
    static RESULT site_##X PARAMETERS                                                              \
    {                                                                                              \
        note(context, #X);                                                                         \
        return QMPIX_NEXT(context, X) ARGUMENTS;                                                   \
    }
QMPIX_FOR_EACH_FUNCTION(WRAP)

static void init(int tool_id)
{
#define REGISTER(RESULT, X, NUMBER, PARAMETERS, ARGUMENTS)                                         \
    QMPI_Register_tool_function(tool_id, NUMBER, (void (*)(void))site_##X);
    QMPIX_FOR_EACH_FUNCTION(REGISTER)
}

__attribute__((constructor)) static void register_tool(void)
{
    QMPI_Register_tool_name("site", init);
}
