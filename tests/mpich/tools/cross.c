/* SPDX-License-Identifier: MIT */
/*
 * A tool of MPICH's variant, which uses only a stock mpi.h. It prints some MPI calls on their way
 * down, as `TOOL TOOL_ID MPI_X`, and how many each layer saw. It asks for the layer's storage in
 * each call. It also asks for the next function in each call or, if CACHED is 1, uses the function
 * that it got in init.
 */
#include "trace.h"

#include <mpi.h>
#include <stdlib.h>
#include <string.h>

/* The arguments are W(result, X, number, (parameters), (arguments)). */
#define FOR_EACH_FUNCTION(W)                                                                       \
    W(int, Init, MPI_INIT_T, (QMPI_Context context, int tool_id, int *argc, char ***argv),         \
      (context, next.tool_id, argc, argv))                                                         \
    W(int, Init_thread, MPI_INIT_THREAD_T,                                                         \
      (QMPI_Context context, int tool_id, int *argc, char ***argv, int required, int *provided),   \
      (context, next.tool_id, argc, argv, required, provided))                                     \
    W(int, Comm_rank, MPI_COMM_RANK_T,                                                             \
      (QMPI_Context context, int tool_id, MPI_Comm comm, int *rank),                               \
      (context, next.tool_id, comm, rank))                                                         \
    W(int, Comm_size, MPI_COMM_SIZE_T,                                                             \
      (QMPI_Context context, int tool_id, MPI_Comm comm, int *size),                               \
      (context, next.tool_id, comm, size))                                                         \
    W(int, Barrier, MPI_BARRIER_T, (QMPI_Context context, int tool_id, MPI_Comm comm),             \
      (context, next.tool_id, comm))                                                               \
    W(double, Wtime, MPI_WTIME_T, (QMPI_Context context, int tool_id), (context, next.tool_id))    \
    W(int, Finalized, MPI_FINALIZED_T, (QMPI_Context context, int tool_id, int *flag),             \
      (context, next.tool_id, flag))                                                               \
    W(int, Finalize, MPI_FINALIZE_T, (QMPI_Context context, int tool_id), (context, next.tool_id))

struct next {
    void (*function)(void);
    int tool_id;
};

struct layer {
    int tool_id;
    int calls;
    struct next nexts[MPI_LAST_FUNC_T];
};

static struct layer *note(QMPI_Context context, int tool_id, const char *function)
{
    void *storage = NULL;
    if (QMPI_Get_tool_storage(context, tool_id, &storage) != MPI_SUCCESS || !storage) {
        trace(TOOL " has no storage in %s", function);
        abort();
    }
    struct layer *layer = storage;
    if (layer->tool_id != tool_id)
        trace(TOOL " %d got the storage of %d", tool_id, layer->tool_id);
    layer->calls++;
    trace(TOOL " %d %s", tool_id, function);
    if (!strcmp(function, "MPI_Finalize"))
        trace("exit " TOOL " %d counted %d", tool_id, layer->calls);
    return layer;
}

static struct next ask(const struct layer *layer, enum QMPI_Functions_enum number)
{
    struct next next = {NULL, -1};
    if (QMPI_Get_function(layer->tool_id, number, &next.function, &next.tool_id) != MPI_SUCCESS)
        trace(TOOL " %d finds no next function", layer->tool_id);
    return next;
}

#define WRAP(RESULT, X, NUMBER, PARAMETERS, ARGUMENTS)                                             \
    static RESULT cross_##X PARAMETERS                                                             \
    {                                                                                              \
        const struct layer *layer = note(context, tool_id, "MPI_" #X);                             \
        const struct next next = CACHED ? layer->nexts[NUMBER] : ask(layer, NUMBER);               \
        return ((QMPI_##X##_t *)next.function)ARGUMENTS;                                           \
    }
FOR_EACH_FUNCTION(WRAP)

static void init(int tool_id)
{
    trace("init " TOOL " %d", tool_id);
    struct layer *layer = calloc(1, sizeof *layer);
    if (!layer)
        abort();
    layer->tool_id = tool_id;
    QMPI_Register_tool_storage(tool_id, layer);
#define REGISTER(RESULT, X, NUMBER, PARAMETERS, ARGUMENTS)                                         \
    QMPI_Register_function(tool_id, NUMBER, (void (*)(void))cross_##X);                            \
    layer->nexts[NUMBER] = ask(layer, NUMBER);
    FOR_EACH_FUNCTION(REGISTER)
}

__attribute__((constructor)) static void register_tool(void)
{
    const int result = QMPI_Register_tool_name(TOOL, init);
    trace("load " TOOL "%s", result == MPI_SUCCESS ? "" : ", which nobody asked for");
}
