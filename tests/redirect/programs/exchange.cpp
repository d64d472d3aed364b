// SPDX-License-Identifier: MIT
// The exchange of exchange.c with MPI's C++ bindings, whose functions are inlined into the program.
// Functions that these bindings lack, or whose bindings make other MPI calls, are called as in C.
#include <mpi.h>

#include <array>
#include <cstdio>
#include <string>

namespace
{

const MPI::Intracomm &world = MPI::COMM_WORLD;
int rank, other, sum;

void ring()
{
    MPI::Status status;
    int token = 0;
    for (int round = 1; round <= 3; round++) {
        if (rank == 0) {
            token += round;
            world.Send(&token, 1, MPI::INT, other, 1);
            world.Recv(&token, 1, MPI::INT, other, 1, status);
        } else {
            world.Recv(&token, 1, MPI::INT, other, 1, status);
            token *= 2;
            world.Send(&token, 1, MPI::INT, other, 1);
        }
    }
    sum += token * status.Get_count(MPI::INT);
}

void swap()
{
    std::array<MPI::Request, 2> requests;
    std::array<MPI::Status, 2> statuses;
    int out = rank + 10, in = 0;
    requests[0] = world.Irecv(&in, 1, MPI::INT, other, 2);
    requests[1] = world.Isend(&out, 1, MPI::INT, other, 2);
    MPI::Request::Waitall(2, requests.data(), statuses.data());
    sum += in;
}

void collectives()
{
    int value = rank == 0 ? 5 : 0, mine = rank + 1, result = 0, both[2] = {0, 0};
    world.Barrier();
    world.Barrier();
    world.Bcast(&value, 1, MPI::INT, 0);
    world.Reduce(&mine, &result, 1, MPI::INT, MPI::SUM, 0);
    sum += value + result;
    world.Allreduce(&mine, &result, 1, MPI::INT, MPI::MAX);
    sum += result;
    world.Gather(&mine, 1, MPI::INT, both, 1, MPI::INT, 0);
    sum += both[1];
    world.Allgather(&mine, 1, MPI::INT, both, 1, MPI::INT);
    sum += both[1];
    world.Scatter(both, 1, MPI::INT, &result, 1, MPI::INT, 0);
    sum += result;
    world.Scan(&mine, &result, 1, MPI::INT, MPI::SUM);
    sum += result;
}

// Calls MPI_Alltoallw in C, because its C++ binding queries the size of the communicator many
// times.
void every_type()
{
    const int counts[2] = {1, 1}, places[2] = {0, sizeof(int)};
    const MPI_Datatype types[2] = {MPI_INT, MPI_INT};
    int out[2] = {rank + 20, rank + 30}, in[2] = {0, 0};
    MPI_Alltoallw(out, counts, places, types, in, counts, places, types, MPI_COMM_WORLD);
    sum += in[0] + in[1];
}

void grid()
{
    const int extent[1] = {2};
    const bool around[1] = {true};
    const bool remain[10] = {true}; // the binding reads ten elements
    int source = 0, target = 0;
    MPI::Cartcomm all = world.Create_cart(1, extent, around, false);
    sum += all.Get_dim();
    all.Shift(0, 1, source, target);
    MPI::Cartcomm line = all.Sub(remain);
    sum += source + target + line.Get_size();
    line.Free();
    all.Free();
}

void graph()
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

void half()
{
    MPI::Intracomm part = world.Split(rank, 0);
    sum += part.Get_size();
    part.Free();
}

void every_second()
{
    MPI::Status status;
    int out[3] = {rank + 50, 0, rank + 60}, in[2] = {0, 0};
    MPI::Datatype type = MPI::INT.Create_vector(2, 1, 2);
    type.Commit();
    sum += type.Get_size();
    world.Sendrecv(out, 1, type, other, 3, in, 2, MPI::INT, other, 3, status);
    type.Free();
    sum += in[0] + in[1];
}

void file(const std::string &folder)
{
    const int values[3] = {7, 8, 9};
    const std::string name = folder + "/file." + std::to_string(rank);
    MPI::File file = MPI::File::Open(MPI::COMM_SELF, name.c_str(),
                                     MPI::MODE_CREATE | MPI::MODE_WRONLY, MPI::INFO_NULL);
    file.Write_at(0, values, 3, MPI::INT);
    file.Close();
}

void words()
{
    char name[MPI_MAX_OBJECT_NAME] = "";
    int length = 0;
    MPI::COMM_WORLD.Set_name("everybody");
    world.Get_name(name, length);
    MPI::Info info = MPI::Info::Create();
    info.Set("key", "value");
    info.Free();
    sum += length;
}

} // namespace

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    rank = world.Get_rank();
    other = 1 - rank;
    if (world.Get_size() != 2 || argc < 2)
        return 96;
    const double start = MPI::Wtime();
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
    if (MPI::Wtime() < start)
        sum = -1;
    MPI::Finalize();
    std::printf("rank %d got %d\n", rank, sum);
    return 0;
}
