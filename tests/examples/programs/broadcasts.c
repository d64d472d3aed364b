/* SPDX-License-Identifier: MIT */
/*
 * Broadcasts in ways that are difficult for a layer which changes broadcasts: small and large
 * data, compressible and other data, a root whose datatype differs from that of the other ranks,
 * every root, other communicators, MPI_BOTTOM, and errors. Prints the faults that it finds.
 */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LARGE = 60000 };

static int rank, size, wrong;

static void require(int good, const char *what)
{
    if (!good) {
        printf("rank %d: %s\n", rank, what);
        wrong = 1;
    }
}

/* If `easy`, the data can be compressed; otherwise, they look random. */
static void fill(int *data, int count, int easy, int seed)
{
    unsigned state = 12345U + (unsigned)seed;
    for (int i = 0; i < count; i++) {
        state = state * 1664525U + 1013904223U;
        data[i] = easy ? seed + i / 100 : (int)(state ^ (state >> 13) * 2654435761U);
    }
}

static void plain(int count, int easy, int root, MPI_Comm comm)
{
    static int data[LARGE], expected[LARGE];
    int comm_rank;
    MPI_Comm_rank(comm, &comm_rank);
    fill(expected, count, easy, root);
    memset(data, 0, sizeof data);
    if (comm_rank == root)
        memcpy(data, expected, (size_t)count * sizeof *data);
    require(MPI_Bcast(data, count, MPI_INT, root, comm) == MPI_SUCCESS, "MPI_Bcast failed");
    require(!memcmp(data, expected, (size_t)count * sizeof *data), "wrong data");
#if MPI_VERSION >= 4
    memset(data, comm_rank == root ? 1 : 0, sizeof data);
    if (comm_rank == root) /* MPI_Bcast_c and MPI_Bcast match each other */
        MPI_Bcast_c(data, count, MPI_INT, root, comm);
    else
        MPI_Bcast(data, count, MPI_INT, root, comm);
    require(!count || data[count - 1] == 0x01010101, "wrong data of MPI_Bcast_c");
#endif
}

/* The root sends every second integer of its array. The others receive them side by side. */
static void other_types(int root)
{
    static int data[LARGE];
    MPI_Datatype gaps;
    MPI_Type_vector(LARGE / 2, 1, 2, MPI_INT, &gaps);
    MPI_Type_commit(&gaps);
    for (int i = 0; i < LARGE; i++)
        data[i] = rank == root ? i : -1;
    if (rank == root)
        MPI_Bcast(data, 1, gaps, root, MPI_COMM_WORLD);
    else
        MPI_Bcast(data, LARGE / 2, MPI_INT, root, MPI_COMM_WORLD);
    for (int i = 0; i < LARGE / 2; i++)
        if (data[i] != (rank == root ? i : 2 * i)) {
            require(0, "wrong data of another type");
            break;
        }
    MPI_Type_free(&gaps);
}

static void from_bottom(void)
{
    static int data[LARGE];
    MPI_Datatype absolute;
    MPI_Aint address;
    const int length = LARGE;
    fill(data, LARGE, 1, rank);
    MPI_Get_address(data, &address);
    MPI_Type_create_hindexed(1, &length, &address, MPI_INT, &absolute);
    MPI_Type_commit(&absolute);
    MPI_Bcast(MPI_BOTTOM, 1, absolute, 0, MPI_COMM_WORLD);
    require(data[LARGE - 1] == (LARGE - 1) / 100, "wrong data from MPI_BOTTOM");
    MPI_Type_free(&absolute);
}

static void between_groups(void)
{
    static int data[LARGE];
    MPI_Comm half, inter;
    const int second = rank >= size / 2;
    MPI_Comm_split(MPI_COMM_WORLD, second, rank, &half);
    MPI_Intercomm_create(half, 0, MPI_COMM_WORLD, second ? 0 : size / 2, 7, &inter);
    fill(data, LARGE, 1, second ? 0 : 9);
    const int root = second ? 0 : rank == 0 ? MPI_ROOT : MPI_PROC_NULL;
    MPI_Bcast(data, LARGE, MPI_INT, root, inter);
    if (second)
        require(data[0] == 9, "wrong data between groups");
    MPI_Comm_free(&inter);
    MPI_Comm_free(&half);
}

static void errors(void)
{
    int data[2] = {0, 0}, class = 0;
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    MPI_Error_class(MPI_Bcast(data, -1, MPI_INT, 0, MPI_COMM_WORLD), &class);
    require(class == MPI_ERR_COUNT, "a negative count does not cause MPI_ERR_COUNT");
    MPI_Error_class(MPI_Bcast(data, 2, MPI_DATATYPE_NULL, 0, MPI_COMM_WORLD), &class);
    require(class == MPI_ERR_TYPE, "a null datatype does not cause MPI_ERR_TYPE");
    MPI_Error_class(MPI_Bcast(data, LARGE, MPI_INT, size, MPI_COMM_WORLD), &class);
    require(class == MPI_ERR_ROOT, "a wrong root does not cause MPI_ERR_ROOT");
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL);
}

int main(int argc, char **argv)
{
    static const int counts[] = {0, 1, 1023, 1024, LARGE};
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    for (int root = 0; root < size; root++) {
        for (size_t i = 0; i < sizeof counts / sizeof *counts; i++) {
            plain(counts[i], 1, root, MPI_COMM_WORLD);
            plain(counts[i], 0, root, MPI_COMM_WORLD);
        }
        other_types(root);
    }
    plain(LARGE, 1, 0, MPI_COMM_SELF);
    from_bottom();
    if (size > 1)
        between_groups();
    errors();
    MPI_Finalize();
    return wrong;
}
