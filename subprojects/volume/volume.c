/* SPDX-License-Identifier: MIT */
/*
 * volume: counts the messages that a program sends by MPI_Send and MPI_Isend, and their bytes. At
 * MPI_Finalize the sums over all ranks are printed on stderr.
 */
#include <qmpi/qmpi.h>

#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>

/* The data of one layer. A tool may be in the stack several times, and several threads may call MPI
 * at the same time. Therefore, there are no global variables, and the counters are atomic. */
struct layer {
    long minimum; /* the option min-bytes */
    atomic_llong messages;
    atomic_llong bytes;
};

/* Returns the data of the layer to which the context of an interceptor belongs. */
static struct layer *get_layer(QMPI_Context context, int *tool_id)
{
    void *layer = NULL;
    QMPIX_Context_get_tool_id(context, tool_id);
    QMPI_Context_get_storage(context, *tool_id, &layer);
    return layer;
}

/* For its own purposes, a tool calls PMPI_X, which no layer sees. */
static void count_message(QMPI_Context context, int count, MPI_Datatype datatype, int dest)
{
    int tool_id, size;
    struct layer *layer = get_layer(context, &tool_id);
    PMPI_Type_size(datatype, &size);
    const long long bytes = (long long)count * size;
    if (dest == MPI_PROC_NULL || bytes < layer->minimum)
        return;
    layer->messages++;
    layer->bytes += bytes;
}

/* ---- Interceptors ---------------------------------------------------------------------------- */

/* An interceptor has the parameters of the MPI function, with a context in front of them. */
static int my_Send(QMPI_Context context, const void *buf, int count, MPI_Datatype datatype,
                   int dest, int tag, MPI_Comm comm)
{
    const int result = QMPIX_NEXT(context, Send)(QMPIX_NEXT_CONTEXT(context), buf, count, datatype,
                                                 dest, tag, comm);
    if (result == MPI_SUCCESS)
        count_message(context, count, datatype, dest);
    return result;
}

static int my_Isend(QMPI_Context context, const void *buf, int count, MPI_Datatype datatype,
                    int dest, int tag, MPI_Comm comm, MPI_Request *request)
{
    const int result = QMPIX_NEXT(context, Isend)(QMPIX_NEXT_CONTEXT(context), buf, count, datatype,
                                                  dest, tag, comm, request);
    if (result == MPI_SUCCESS)
        count_message(context, count, datatype, dest);
    return result;
}

static int my_Finalize(QMPI_Context context)
{
    int tool_id, rank = -1;
    MPI_Comm comm; /* of the processes that have this layer */
    struct layer *layer = get_layer(context, &tool_id);
    long long mine[2] = {layer->messages, layer->bytes}, all[2];
    if (QMPIX_Tool_create_comm(tool_id, &comm) == MPI_SUCCESS) {
        PMPI_Comm_rank(comm, &rank);
        PMPI_Reduce(mine, all, 2, MPI_LONG_LONG, MPI_SUM, 0, comm);
        PMPI_Comm_free(&comm);
    }
    if (rank == 0)
        fprintf(stderr, "volume (layer %d): %lld messages, %lld bytes by MPI_Send and MPI_Isend\n",
                tool_id, all[0], all[1]);
    return QMPIX_NEXT(context, Finalize)(QMPIX_NEXT_CONTEXT(context));
}

/* ---- The tool -------------------------------------------------------------------------------- */

/* Runs once for each layer, before the first MPI call is carried out. */
static void init(int tool_id)
{
    const char *value = NULL;
    char *end;
    QMPIX_Tool_get_option(tool_id, "min-bytes", &value);
    struct layer *layer = calloc(1, sizeof *layer);
    if (!layer) {
        QMPIX_Tool_fail(tool_id, "out of memory");
        return;
    }
    layer->minimum = strtol(value, &end, 10);
    if (end == value || *end || layer->minimum < 0) {
        QMPIX_Tool_fail(tool_id, "min-bytes is not a valid number\n"
                                 "hint: give a number, such as min-bytes=1024");
        free(layer);
        return;
    }
    QMPI_Register_tool_storage(tool_id, layer);
    QMPIX_REGISTER(tool_id, Send, my_Send);
    QMPIX_REGISTER(tool_id, Isend, my_Isend);
    QMPIX_REGISTER(tool_id, Finalize, my_Finalize);
    /* MPI_Finalize reaches this layer even while it is off, because all ranks take part in the
     * reduction. */
    QMPIX_Tool_keep_function(tool_id, MPI_FINALIZE_T);
}

__attribute__((constructor)) static void register_tool(void)
{
    static const QMPIX_Tool_option options[] = {
        {"min-bytes", "0", "count only messages of at least this many bytes"},
        {NULL, NULL, NULL},
    };
    static const QMPIX_Tool_info info = {
        .size = sizeof info,
        .description = "counts the messages sent by MPI_Send and MPI_Isend, and their bytes",
        .version = "0.1.0",
        .options = options,
    };
    QMPI_Register_tool_name("volume", init);
    QMPIX_Register_tool_info("volume", &info);
}
