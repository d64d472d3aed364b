/* SPDX-License-Identifier: MIT */
/*
 * Runs four threads on each of two ranks, with MPI_THREAD_MULTIPLE. Each thread sends or receives
 * messages, takes part in a collective, and starts a persistent request. It uses a communicator of
 * its own, and a duplicate that it creates and frees in each round. The second argument is the
 * number of rounds.
 */
#include "expect.h"

#include <pthread.h>
#include <stdlib.h>

#define THREADS 4

static int rank, peer, rounds;
static MPI_Comm comms[THREADS];

static void exchange(MPI_Comm comm, int thread, int numbers[16])
{
    MPI_Request request;
    const int bytes = 4 * (thread + 1);
    expect_on(comm);
    if (rank == 0) {
        DO(Send, (numbers, thread + 1, MPI_INT, peer, thread, comm),
           says("@ sent=%d transfers=>1/1/%d/%d", bytes, thread, bytes));
        DO_AND_WAIT(Isend, (numbers, 2, MPI_INT, peer, thread, comm, &request), request,
                    says("@ sent=8 transfers=>1/1/%d/8", thread));
    } else {
        DO(Recv, (numbers, 16, MPI_INT, MPI_ANY_SOURCE, thread, comm, MPI_STATUS_IGNORE),
           says("@ received=%d transfers=<0/0/%d/%d received_before=64 "
                "transfers_before=<any/-/%d/64",
                bytes, thread, bytes, thread));
        DO_AND_WAIT(Irecv, (numbers, 2, MPI_INT, peer, thread, comm, &request), request,
                    says("@ received=8 transfers=<0/0/%d/8", thread));
    }
    DO(Allreduce, (MPI_IN_PLACE, numbers, 3, MPI_INT, MPI_SUM, comm), "@ sent=12 received=12");
}

static void start(MPI_Comm comm, int thread, int numbers[16])
{
    MPI_Request request;
    const int bytes = 4 * (thread + 2);
    if (rank == 0)
        DO(Send_init, (numbers, thread + 2, MPI_INT, peer, thread, comm, &request), "@");
    else
        DO(Recv_init, (numbers, thread + 2, MPI_INT, peer, thread, comm, &request), "@");
    DO(Start, (&request),
       rank == 0 ? says("@ root=* sent=%d transfers=>1/1/%d/%d started=%s", bytes, thread, bytes,
                        REQUEST(request))
                 : says("@ root=* received=%d transfers=<0/0/%d/%d started=%s", bytes, thread,
                        bytes, REQUEST(request)));
    const MPI_Request saved = request;
    DO(Wait, (&request, MPI_STATUS_IGNORE), says("completed=%s", REQUEST(saved)));
    DO(Request_free, (&request), "");
}

static void *run(void *argument)
{
    const int thread = *(int *)argument;
    int numbers[16] = {0};
    for (int i = 0; i < rounds; i++) {
        MPI_Comm comm, freed;
        exchange(comms[thread], thread, numbers);
        DO(Comm_dup, (comms[thread], &comm), "@");
        exchange(comm, thread, numbers);
        start(comm, thread, numbers);
        freed = comm;
        DO(Comm_free, (&comm), says("comm=%s comm_after=*", COMM(freed)));
    }
    return NULL;
}

int main(int argc, char **argv)
{
    int provided, numbers[THREADS];
    pthread_t threads[THREADS];
    expect_begin(argc, argv);
    rounds = argc > 2 ? atoi(argv[2]) : 20;
    DO(Init_thread, (&argc, &argv, MPI_THREAD_MULTIPLE, &provided), "");
    EXPECT_TRUE(provided == MPI_THREAD_MULTIPLE);
    PMPI_Comm_rank(MPI_COMM_WORLD, &rank);
    peer = 1 - rank;
    for (int i = 0; i < THREADS; i++)
        PMPI_Comm_dup(MPI_COMM_WORLD, &comms[i]);
    for (int i = 0; i < THREADS; i++) {
        numbers[i] = i;
        EXPECT_TRUE(!pthread_create(&threads[i], NULL, run, &numbers[i]));
    }
    for (int i = 0; i < THREADS; i++)
        EXPECT_TRUE(!pthread_join(threads[i], NULL));
    for (int i = 0; i < THREADS; i++)
        PMPI_Comm_free(&comms[i]);
    expect_finalize();
    return 0;
}
