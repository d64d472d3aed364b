/* SPDX-License-Identifier: MIT */
/*
 * Ranks record, or are in a region, in different parts of the run.
 *
 * `messages FROM:TO…`: rank 0 sends 100 messages to rank 1; the i-th has i bytes. Every tenth one
 * is sent by MPI_Ssend, the others by MPI_Send if i is odd, and by MPI_Isend if it is even. Each
 * rank, which has an argument of its own, stops recording before its message FROM, and continues
 * before its message TO; 0 means never. Rank 1 may be several messages behind rank 0, until a
 * message is sent by MPI_Ssend.
 *
 * `regions FIRST…`: the same messages, and each rank is in the region `part` from its message FIRST
 * on.
 *
 * `collectives SEED`: random collectives on three communicators, and messages in a ring. Each rank
 * stops and continues recording at random.
 */
#include <mpi.h>

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MESSAGES = 100, BEHIND = 10, STEPS = 60, COMMS = 3 };

static int rank, size;

static void switch_at(int number, const char *places)
{
    int from = 0, to = 0;
    sscanf(places, "%d:%d", &from, &to);
    if (number == from)
        MPI_Pcontrol(0);
    if (number == to)
        MPI_Pcontrol(1, (char *)NULL);
}

static void enter_region(int number, const char *first)
{
    if (number == atoi(first))
        MPI_Pcontrol(1, "part");
}

static void send_all(void (*before)(int, const char *), const char *places)
{
    static char data[MESSAGES];
    MPI_Request request;
    for (int i = 1; i <= MESSAGES; i++) {
        before(i, places);
        if (i % BEHIND == 0) {
            MPI_Ssend(data, i, MPI_BYTE, 1, 1, MPI_COMM_WORLD);
        } else if (i % 2) {
            MPI_Send(data, i, MPI_BYTE, 1, 1, MPI_COMM_WORLD);
        } else {
            MPI_Isend(data, i, MPI_BYTE, 1, 1, MPI_COMM_WORLD, &request);
            MPI_Wait(&request, MPI_STATUS_IGNORE);
        }
    }
}

static void receive_all(void (*before)(int, const char *), const char *places)
{
    static char data[MESSAGES];
    for (int i = 1; i <= MESSAGES; i++) {
        before(i, places);
        MPI_Recv(data, MESSAGES, MPI_BYTE, 0, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    }
}

static uint64_t next_random(uint64_t *state, uint64_t count)
{
    *state = *state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (*state >> 33) % count;
}

static void call_collective(uint64_t which, int root, MPI_Comm comm)
{
    int in = 1, out = 0, here;
    switch (which) {
    case 0:
        MPI_Barrier(comm);
        break;
    case 1:
        MPI_Bcast(&in, 1, MPI_INT, root, comm);
        break;
    case 2:
        MPI_Reduce(&in, &out, 1, MPI_INT, MPI_SUM, root, comm);
        break;
    case 3:
        MPI_Allreduce(&in, &out, 1, MPI_INT, MPI_SUM, comm);
        break;
    case 4:
        MPI_Scan(&in, &out, 1, MPI_INT, MPI_SUM, comm);
        break;
    default:
        MPI_Comm_rank(comm, &here);
        MPI_Sendrecv(&in, 1, MPI_INT, (here + 1) % size, 1, &out, 1, MPI_INT,
                     (here + size - 1) % size, 1, comm, MPI_STATUS_IGNORE);
        break;
    }
}

static void call_collectives(const char *seed)
{
    uint64_t common = strtoull(seed, NULL, 10) * 7919 + 1;
    uint64_t private = common * 31 + (uint64_t)rank * 1000003;
    MPI_Comm comms[COMMS] = {MPI_COMM_WORLD};
    int is_on = 1;
    MPI_Comm_dup(MPI_COMM_WORLD, &comms[1]);
    MPI_Comm_split(MPI_COMM_WORLD, 0, size - rank, &comms[2]);
    for (int i = 0; i < STEPS; i++) {
        const uint64_t comm = next_random(&common, COMMS), which = next_random(&common, 6);
        const int root = (int)next_random(&common, (uint64_t)size);
        if (!next_random(&private, 4)) {
            is_on = !is_on;
            MPI_Pcontrol(is_on, (char *)NULL);
        }
        call_collective(which, root, comms[comm]);
    }
    MPI_Pcontrol(1, (char *)NULL);
    for (int i = 1; i < COMMS; i++)
        MPI_Comm_free(&comms[i]);
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    if (argc < 3)
        MPI_Abort(MPI_COMM_WORLD, 2);
    const char *mine = rank + 2 < argc ? argv[rank + 2] : "0";
    if (!strcmp(argv[1], "collectives"))
        call_collectives(argv[2]);
    else
        (rank ? receive_all : send_all)(strcmp(argv[1], "regions") ? switch_at : enter_region,
                                        mine);
    MPI_Finalize();
    return 0;
}
