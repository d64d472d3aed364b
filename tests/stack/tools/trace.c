/* SPDX-License-Identifier: MIT */
/*
 * Prints `TOOL TOOL_ID MPI_X` for each MPI call before it calls the next function. It also prints a
 * note when it is loaded, in init, in MPI_Finalize (the number of the layer's calls), and when the
 * process ends. It is compiled once, and linked with trace_name.c under several names. In each
 * call, it checks that its storage is that of the layer. With an option such as
 * functions=Comm_rank+Barrier, it intercepts only these functions.
 */
#define _GNU_SOURCE
#include "trace.h"

#include <qmpi/qmpi.h>
#include <qmpi/wrappers.h>

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

extern const char trace_tool[]; /* the name of the tool, in trace_name.c */

struct layer {
    int tool_id;
    atomic_int calls;
};

static void trace_note(QMPI_Context context, const char *function)
{
    int tool_id = -1;
    void *storage = NULL;
    if (QMPIX_Context_get_tool_id(context, &tool_id) != MPI_SUCCESS ||
        QMPI_Context_get_storage(context, tool_id, &storage) != MPI_SUCCESS) {
        trace("%s has a bad context in %s", trace_tool, function);
        return;
    }
    struct layer *layer = storage;
    if (layer->tool_id != tool_id)
        trace("%s %d got the storage of %d", trace_tool, tool_id, layer->tool_id);
    layer->calls++;
    trace("%s %d %s", trace_tool, tool_id, function);
    if (!strcmp(function, "MPI_Finalize"))
        trace("exit %s %d counted %d", trace_tool, tool_id, layer->calls);
}

#define WRAP(RESULT, X, NUMBER, PARAMETERS, ARGUMENTS)                                             \
    static RESULT trace_##X PARAMETERS                                                             \
    {                                                                                              \
        trace_note(context, "MPI_" #X);                                                            \
        return QMPIX_NEXT(context, X) ARGUMENTS;                                                   \
    }
QMPIX_FOR_EACH_FUNCTION(WRAP)

/* Returns whether `name` is in `list`, whose elements are separated by `+`. */
static int listed(const char *list, const char *name)
{
    const size_t length = strlen(name);
    for (const char *at = list; (at = strstr(at, name)); at++) {
        if ((at == list || at[-1] == '+') && (at[length] == '+' || at[length] == '\0'))
            return 1;
    }
    return 0;
}

static void init(int tool_id)
{
    const char *functions = NULL, *name = NULL;
    QMPIX_Tool_get_option(tool_id, "functions", &functions);
    QMPIX_Tool_get_name(tool_id, &name);
    trace("init %s %d", name, tool_id);
    struct layer *layer = calloc(1, sizeof *layer);
    if (!layer)
        abort();
    layer->tool_id = tool_id;
    QMPI_Register_tool_storage(tool_id, layer);
#define REGISTER(RESULT, X, NUMBER, PARAMETERS, ARGUMENTS)                                         \
    if (!functions || listed(functions, #X))                                                       \
        QMPI_Register_tool_function(tool_id, NUMBER, (void (*)(void))trace_##X);
    QMPIX_FOR_EACH_FUNCTION(REGISTER)
}

__attribute__((constructor)) static void register_tool(void)
{
    trace("load %s", trace_tool);
    QMPI_Register_tool_name(trace_tool, init);
}

__attribute__((destructor)) static void leave(void)
{
    trace("exit %s", trace_tool);
}
