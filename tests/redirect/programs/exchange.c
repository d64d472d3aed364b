/* SPDX-License-Identifier: MIT */
/*
 * Two ranks exchange data. Programs in other languages make the same MPI calls the same number of
 * times (see redirect_support.py), so each change must be made in all of them. The argument is a
 * folder, to which each rank writes a file. Each rank prints a sum of the data, sizes and counts
 * that it received.
 *
 * With PLUGIN, the exchange is a function of a shared library. It does not call MPI_Init if
 * REDIRECT_INITIALIZED is set, because plugin_host.c has then called it. With BY_NAME, the program
 * is not linked with MPI: see by_name.h.
 */
#include <mpi.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#ifdef BY_NAME
#include "by_name.h"
#endif

static int rank, other, sum;

static void ring(void)
{
    MPI_Status status;
    int token = 0, count = 0;
    for (int round = 1; round <= 3; round++) {
        if (rank == 0) {
            token += round;
            MPI_Send(&token, 1, MPI_INT, other, 1, MPI_COMM_WORLD);
            MPI_Recv(&token, 1, MPI_INT, other, 1, MPI_COMM_WORLD, &status);
        } else {
            MPI_Recv(&token, 1, MPI_INT, other, 1, MPI_COMM_WORLD, &status);
            token *= 2;
            MPI_Send(&token, 1, MPI_INT, other, 1, MPI_COMM_WORLD);
        }
    }
    MPI_Get_count(&status, MPI_INT, &count);
    sum += token * count;
}

static void swap(void)
{
    MPI_Request requests[2];
    MPI_Status statuses[2];
    int out = rank + 10, in = 0;
    MPI_Irecv(&in, 1, MPI_INT, other, 2, MPI_COMM_WORLD, &requests[0]);
    MPI_Isend(&out, 1, MPI_INT, other, 2, MPI_COMM_WORLD, &requests[1]);
    MPI_Waitall(2, requests, statuses);
    sum += in;
}

static void collectives(void)
{
    int value = rank == 0 ? 5 : 0, mine = rank + 1, result = 0, both[2] = {0, 0};
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Bcast(&value, 1, MPI_INT, 0, MPI_COMM_WORLD);
    MPI_Reduce(&mine, &result, 1, MPI_INT, MPI_SUM, 0, MPI_COMM_WORLD);
    sum += value + result;
    MPI_Allreduce(&mine, &result, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
    sum += result;
    MPI_Gather(&mine, 1, MPI_INT, both, 1, MPI_INT, 0, MPI_COMM_WORLD);
    sum += both[1];
    MPI_Allgather(&mine, 1, MPI_INT, both, 1, MPI_INT, MPI_COMM_WORLD);
    sum += both[1];
    MPI_Scatter(both, 1, MPI_INT, &result, 1, MPI_INT, 0, MPI_COMM_WORLD);
    sum += result;
    MPI_Scan(&mine, &result, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    sum += result;
}

static void every_type(void)
{
    const int counts[2] = {1, 1}, places[2] = {0, (int)sizeof(int)};
    const MPI_Datatype types[2] = {MPI_INT, MPI_INT};
    int out[2] = {rank + 20, rank + 30}, in[2] = {0, 0};
    MPI_Alltoallw(out, counts, places, types, in, counts, places, types, MPI_COMM_WORLD);
    sum += in[0] + in[1];
}

static void grid(void)
{
    MPI_Comm grid, line;
    const int extent[1] = {2}, around[1] = {1}, remain[1] = {1};
    int dimensions = 0, source = 0, target = 0, size = 0;
    MPI_Cart_create(MPI_COMM_WORLD, 1, extent, around, 0, &grid);
    MPI_Cartdim_get(grid, &dimensions);
    MPI_Cart_shift(grid, 0, 1, &source, &target);
    MPI_Cart_sub(grid, remain, &line);
    MPI_Comm_size(line, &size);
    MPI_Comm_free(&line);
    MPI_Comm_free(&grid);
    sum += dimensions + source + target + size;
}

static void graph(void)
{
    MPI_Comm graph;
    const int neighbors[1] = {other}, weights[1] = {1}, counts[1] = {1};
    const MPI_Aint places[1] = {0};
    const MPI_Datatype types[1] = {MPI_INT};
    int in = 0, out = 0, weighted = 0, sent = rank + 40, got = 0;
    MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, 1, neighbors, weights, 1, neighbors, weights,
                                   MPI_INFO_NULL, 0, &graph);
    MPI_Dist_graph_neighbors_count(graph, &in, &out, &weighted);
    MPI_Neighbor_alltoallw(&sent, counts, places, types, &got, counts, places, types, graph);
    MPI_Comm_free(&graph);
    sum += in + out + got;
}

static void half(void)
{
    MPI_Comm part;
    int size = 0;
    MPI_Comm_split(MPI_COMM_WORLD, rank, 0, &part);
    MPI_Comm_size(part, &size);
    MPI_Comm_free(&part);
    sum += size;
}

static void every_second(void)
{
    MPI_Datatype type;
    MPI_Status status;
    int out[3] = {rank + 50, 0, rank + 60}, in[2] = {0, 0}, size = 0;
    MPI_Type_vector(2, 1, 2, MPI_INT, &type);
    MPI_Type_commit(&type);
    MPI_Type_size(type, &size);
    MPI_Sendrecv(out, 1, type, other, 3, in, 2, MPI_INT, other, 3, MPI_COMM_WORLD, &status);
    MPI_Type_free(&type);
    sum += size + in[0] + in[1];
}

static void file(const char *folder)
{
    MPI_File file;
    char name[4096];
    int values[3] = {7, 8, 9};
    snprintf(name, sizeof name, "%s/file.%d", folder, rank);
    MPI_File_open(MPI_COMM_SELF, name, MPI_MODE_CREATE | MPI_MODE_WRONLY, MPI_INFO_NULL, &file);
    MPI_File_write_at(file, 0, values, 3, MPI_INT, MPI_STATUS_IGNORE);
    MPI_File_close(&file);
}

static void words(void)
{
    MPI_Info info;
    char name[MPI_MAX_OBJECT_NAME] = "";
    int length = 0;
    MPI_Comm_set_name(MPI_COMM_WORLD, "everybody");
    MPI_Comm_get_name(MPI_COMM_WORLD, name, &length);
    MPI_Info_create(&info);
    MPI_Info_set(info, "key", "value");
    MPI_Info_free(&info);
    sum += length;
}

#ifdef PLUGIN
int exchange(int argc, char **argv);
int exchange(int argc, char **argv)
#else
int main(int argc, char **argv)
#endif
{
    int size = 0;
    if (!getenv("REDIRECT_INITIALIZED"))
        MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    if (size != 2 || argc < 2)
        return 96;
    other = 1 - rank;
    const double start = MPI_Wtime();
    ring();
    swap();
    collectives();
    every_type();
    grid();
    graph();
    half();
    every_second();
    file(argv[1]);
    words();
    if (MPI_Wtime() < start)
        sum = -1;
    MPI_Finalize();
    printf("rank %d got %d\n", rank, sum);
    return 0;
}
