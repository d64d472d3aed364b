/* SPDX-License-Identifier: MIT */
/*
 * A communication matrix: the bytes that each rank sends to each other one, by point-to-point
 * messages and by neighborhood collectives, also by those that MPI_Start starts. A row is a sender.
 */
#include <qmpi/observer.h>
#include <stdio.h>
#include <stdlib.h>

static int id, size;
static long long *sent; /* by this rank, to each rank of MPI_COMM_WORLD */

static void add(void *data, const QMPIX_Transfer *transfer)
{
    long long *const row = data;
    if (transfer->sending && transfer->world >= 0) /* not MPI_PROC_NULL */
        __atomic_fetch_add(&row[transfer->world], transfer->bytes, __ATOMIC_RELAXED);
}

static void after(const QMPIX_Call *call, QMPIX_Word *word)
{
    (void)word;
    if (!sent && PMPI_Comm_size(MPI_COMM_WORLD, &size) == MPI_SUCCESS) /* MPI_Init has returned */
        sent = calloc((size_t)size, sizeof *sent);
    QMPIX_Call_for_each_transfer(call, add, sent);
    QMPIX_Call_for_each_neighbor(call, add, sent);
}

static int my_Finalize(QMPI_Context c)
{
    int rank;
    MPI_Comm comm; /* of the ranks with this tool: that of the program is not for tools */
    if (sent && QMPIX_Tool_create_comm(id, &comm) == MPI_SUCCESS) {
        long long *all = malloc((size_t)size * (size_t)size * sizeof *all);
        PMPI_Comm_rank(comm, &rank);
        PMPI_Gather(sent, size, MPI_LONG_LONG, all, size, MPI_LONG_LONG, 0, comm);
        for (int i = 0; rank == 0 && i < size * size; i++)
            fprintf(stderr, "%lld%c", all[i], i % size == size - 1 ? '\n' : ' ');
        PMPI_Comm_free(&comm);
        free(all);
    }
    return QMPIX_NEXT(c, Finalize)(QMPIX_NEXT_CONTEXT(c));
}

static void init(int tool_id)
{
    static const enum QMPI_Functions_enum inits[] = {MPI_INIT_T, MPI_INIT_THREAD_T};
    const QMPIX_Observer observer = {.size = sizeof observer,
                                     .after = after,
                                     .functions = inits,
                                     .function_count = 2,
                                     .groups = QMPIX_GROUP_POINT_TO_POINT | QMPIX_GROUP_COMPLETION |
                                               QMPIX_GROUP_COLLECTIVE};
    id = tool_id;
    QMPIX_Register_tool_observer(tool_id, &observer);
    QMPIX_REGISTER(tool_id, Finalize, my_Finalize);
}

__attribute__((constructor)) static void register_tool(void)
{
    QMPI_Register_tool_name("matrix", init);
}
