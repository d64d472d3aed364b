/* SPDX-License-Identifier: MIT */
/*
 * A communication matrix: the bytes that each rank sends to each other one, by messages, one-sided
 * accesses and neighborhood collectives, including those that MPI_Start starts. `report` is called
 * in MPI_Finalize, on the ranks that have the tool, and prints the elements that are not zero.
 * Without MPI_COMM_WORLD, in programs that use only sessions, there is no report.
 */
#include <qmpi/observer.h>
#include <stdio.h>
#include <stdlib.h>

static int size;             /* of MPI_COMM_WORLD */
static long long *sent[256]; /* by tool_id: from this rank to each other one */

static void add(void *row, const QMPIX_Transfer *transfer)
{
    if (transfer->sending && transfer->world >= 0 && transfer->world < size)
        __atomic_fetch_add((long long *)row + transfer->world, transfer->bytes, __ATOMIC_RELAXED);
}

static void after(const QMPIX_Call *call, QMPIX_Word *word)
{
    long long **row = call->observer->data;
    (void)word;
    if (call->function->number == MPI_INIT_T || call->function->number == MPI_INIT_THREAD_T) {
        PMPI_Comm_size(MPI_COMM_WORLD, &size);
        *row = calloc((size_t)size, sizeof **row);
    }
    QMPIX_Call_for_each_transfer(call, add, *row);
    QMPIX_Call_for_each_neighbor(call, add, *row);
}

static void report(int tool_id, uint64_t ticks)
{
    const int *ranks;
    int count;
    MPI_Comm comm;
    (void)ticks;
    if (QMPIX_Tool_get_ranks(tool_id, &ranks, &count) != MPI_SUCCESS ||
        QMPIX_Tool_create_comm(tool_id, &comm) != MPI_SUCCESS)
        return;
    long long *all = calloc((size_t)count * (size_t)size, sizeof *all);
    PMPI_Gather(sent[tool_id], size, MPI_LONG_LONG, all, size, MPI_LONG_LONG, 0, comm);
    for (int i = 0; i < count * size; i++) /* on other ranks than 0, all elements are zero */
        if (all[i])
            fprintf(stderr, "matrix: from %d to %d: %lld\n", ranks[i / size], i % size, all[i]);
    PMPI_Comm_free(&comm);
    free(all);
}

static void init(int tool_id)
{
    const QMPIX_Observer observer = {
        .size = sizeof observer, .after = after, .data = &sent[tool_id]};
    QMPIX_Register_tool_observer(tool_id, &observer);
    QMPIX_Register_finalizer(tool_id, report);
    QMPIX_Tool_keep_function(tool_id, MPI_INIT_T); /* even while off: all ranks need a row */
    QMPIX_Tool_keep_function(tool_id, MPI_INIT_THREAD_T);
}

__attribute__((constructor)) static void register_tool(void)
{
    QMPI_Register_tool_name("matrix", init);
}
