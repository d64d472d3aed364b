/* SPDX-License-Identifier: MIT */
/*
 * @NAME@: counts the calls of all functions that send data, and their bytes. At
 * MPI_Finalize the sums over all ranks are printed on stderr.
 */
#include <qmpi/observer.h>

#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>

/* The data of one layer. A tool may be in the stack several times, and several threads may call MPI
 * at the same time. Therefore, there are no global variables, and the counters are atomic. */
struct layer {
    int tool_id;
    long minimum; /* the option min-bytes */
    atomic_llong messages;
    atomic_llong bytes;
};

/* For its own purposes, a tool calls PMPI_X, which no layer sees. */
static void report(const struct layer *layer)
{
    long long mine[2] = {layer->messages, layer->bytes}, all[2];
    MPI_Comm comm; /* of the processes that have this layer */
    int rank = -1;
    if (QMPIX_Tool_create_comm(layer->tool_id, &comm) == MPI_SUCCESS) {
        PMPI_Comm_rank(comm, &rank);
        PMPI_Reduce(mine, all, 2, MPI_LONG_LONG, MPI_SUM, 0, comm);
        PMPI_Comm_free(&comm);
    }
    if (rank == 0)
        fprintf(stderr, "@NAME@ (layer %d): %lld messages, %lld bytes\n", layer->tool_id, all[0],
                all[1]);
}

/* ---- Callbacks: around every MPI function ---------------------------------------------------- */

/* `word` passes a value, such as a time, from here to `after` of the same call. */
static void before(const QMPIX_Call *call, QMPIX_Word *word)
{
    (void)word;
    if (call->function->number == MPI_FINALIZE_T)
        report(call->observer->data);
}

/* <qmpi/observer.h> contains further queries of a call: peer, tag, communicator, requests, … This
 * tool is built for the standard ABI and runs with all MPIs: read arguments with
 * QMPIX_Call_get_argument, not through call->arguments. */
static void after(const QMPIX_Call *call, QMPIX_Word *word)
{
    struct layer *layer = call->observer->data;
    MPI_Count sent = 0;
    (void)word;
    if (QMPIX_Call_get_bytes(call, &sent, NULL) != MPI_SUCCESS || !sent || sent < layer->minimum)
        return;
    layer->messages++;
    layer->bytes += sent;
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
    layer->tool_id = tool_id;
    layer->minimum = strtol(value, &end, 10);
    if (end == value || *end || layer->minimum < 0) {
        QMPIX_Tool_fail(tool_id, "min-bytes is not a valid number\n"
                                 "hint: give a number, such as min-bytes=1024");
        free(layer);
        return;
    }
    const QMPIX_Observer observer = {
        .size = sizeof observer, .before = before, .after = after, .data = layer};
    QMPIX_Register_tool_observer(tool_id, &observer);
    /* MPI_Finalize reaches this layer even while it is off, because all ranks take part in the
     * reduction. */
    QMPIX_Tool_keep_function(tool_id, MPI_FINALIZE_T);
}

__attribute__((constructor)) static void register_tool(void)
{
    static const QMPIX_Tool_option options[] = {
        {"min-bytes", "0", "count only calls that send at least this many bytes"},
        {NULL, NULL, NULL},
    };
    static const QMPIX_Tool_info info = {
        .size = sizeof info,
        .description = "counts the calls that send data, and their bytes",
        .version = "0.1.0",
        .options = options,
    };
    QMPI_Register_tool_name("@NAME@", init);
    QMPIX_Register_tool_info("@NAME@", &info);
}
