/* SPDX-License-Identifier: MIT */
/* Makes, on two ranks, calls whose handles, constants and statuses differ between MPI libraries. */
#include <mpi.h>
#include <stddef.h>

static int rank;

static void messages(void)
{
    int out = rank, in[4] = {0};
    MPI_Status status;
    MPI_Request requests[2];
    MPI_Sendrecv(&out, 1, MPI_INT, 1 - rank, 5, in, 4, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG,
                 MPI_COMM_WORLD, &status);
    MPI_Recv(in, 4, MPI_INT, MPI_PROC_NULL, 6, MPI_COMM_SELF, &status);
    MPI_Recv(in, 4, MPI_INT, MPI_PROC_NULL, 6, MPI_COMM_SELF, MPI_STATUS_IGNORE);
    MPI_Irecv(in, 4, MPI_INT, 1 - rank, MPI_ANY_TAG, MPI_COMM_WORLD, &requests[0]);
    MPI_Isend(&out, 1, MPI_INT, 1 - rank, 7, MPI_COMM_WORLD, &requests[1]);
    MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
    MPI_Irecv(in, 4, MPI_INT, 1 - rank, 99, MPI_COMM_WORLD, &requests[0]);
    MPI_Cancel(&requests[0]);
    MPI_Wait(&requests[0], &status);
}

static void collectives(void)
{
    double value[4] = {1, 2, 3, 4}, sum[4];
    MPI_Allreduce(MPI_IN_PLACE, value, 4, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    MPI_Reduce(value, sum, 4, MPI_DOUBLE, MPI_MAX, 1, MPI_COMM_WORLD);
}

static void objects(void)
{
    const int lengths[2] = {1, 1};
    const MPI_Aint places[2] = {0, 8};
    const MPI_Datatype types[2] = {MPI_DOUBLE_INT, MPI_UNSIGNED_LONG_LONG};
    MPI_Datatype structure;
    MPI_Comm comm, graph;
    MPI_Group group;
    int result, combiner, integers, addresses, count, ranks[2] = {0, 1}, other[2];
    MPI_Comm_split(MPI_COMM_WORLD, rank ? MPI_UNDEFINED : 0, 0, &comm);
    if (comm != MPI_COMM_NULL)
        MPI_Comm_free(&comm);
    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    MPI_Comm_compare(comm, MPI_COMM_WORLD, &result);
    MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
    MPI_Send(NULL, 0, MPI_INT, 1000, 1, comm);
    MPI_Topo_test(comm, &result);
    MPI_Comm_group(MPI_COMM_SELF, &group);
    MPI_Group_translate_ranks(group, 1, ranks, MPI_GROUP_EMPTY, other);
    MPI_Group_free(&group);
    MPI_Dist_graph_create_adjacent(comm, 1, &(int){1 - rank}, MPI_UNWEIGHTED, 1, &(int){1 - rank},
                                   MPI_UNWEIGHTED, MPI_INFO_NULL, 0, &graph);
    MPI_Topo_test(graph, &result);
    MPI_Comm_free(&graph);
    MPI_Comm_free(&comm);
    MPI_Type_create_struct(2, lengths, places, types, &structure);
    MPI_Type_get_envelope(structure, &integers, &addresses, &count, &combiner);
    MPI_Type_free(&structure);
}

static void files_and_windows(void)
{
    MPI_Win win;
    MPI_File file;
    int memory = 0, mode;
    MPI_Win_create(&memory, sizeof memory, 1, MPI_INFO_NULL, MPI_COMM_SELF, &win);
    MPI_Win_lock(MPI_LOCK_SHARED, 0, MPI_MODE_NOCHECK, win);
    MPI_Win_unlock(0, win);
    MPI_Win_free(&win);
    if (MPI_File_open(MPI_COMM_SELF, "/dev/null", MPI_MODE_RDWR | MPI_MODE_DELETE_ON_CLOSE * 0,
                      MPI_INFO_NULL, &file) == MPI_SUCCESS) {
        MPI_File_get_amode(file, &mode);
        MPI_File_seek(file, 0, MPI_SEEK_END);
        MPI_File_close(&file);
    }
}

int main(int argc, char **argv)
{
    int provided;
    MPI_Init_thread(&argc, &argv, MPI_THREAD_FUNNELED, &provided);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    messages();
    collectives();
    objects();
    files_and_windows();
    MPI_Finalize();
    return 0;
}
