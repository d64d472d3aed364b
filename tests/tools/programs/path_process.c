/* SPDX-License-Identifier: MIT */
/* Cases of path.c: threads, regions, layers that are switched off, and unusual kinds of messages.
 */
#include "path.h"

#include <stdlib.h>

static int total;

/* ---- Threads --------------------------------------------------------------------------------- */

static void *chain_of_thread(void *comm)
{
    chain_on(*(MPI_Comm *)comm, MPI_Send);
    return NULL;
}

/* Two chains at the same time. */
void threads(void)
{
    pthread_t other;
    MPI_Comm comm;
    MPI_Comm_dup(world, &comm);
    pthread_create(&other, NULL, chain_of_thread, &comm);
    chain();
    pthread_join(other, NULL);
    MPI_Comm_free(&comm);
}

enum { THREADS = 3, MESSAGES = 200 };

/* All threads of rank 1 receive the messages of all threads of rank 0. */
static void *same_messages(void *unused)
{
    int sum = 0;
    (void)unused;
    for (int i = 0; i < MESSAGES; i++) {
        int value = i;
        MPI_Request request;
        if (!rank) {
            MPI_Send(&value, 1, MPI_INT, 1, 0, world);
            continue;
        }
        if (i % 3)
            MPI_Irecv(&value, 1, MPI_INT, i % 3 == 1 ? 0 : MPI_ANY_SOURCE, 0, world, &request);
        if (i % 3)
            MPI_Wait(&request, MPI_STATUS_IGNORE);
        else
            MPI_Recv(&value, 1, MPI_INT, 0, MPI_ANY_TAG, world, MPI_STATUS_IGNORE);
        sum += value;
    }
    pthread_mutex_lock(&lock);
    total += sum;
    pthread_mutex_unlock(&lock);
    return NULL;
}

void threads_same(void)
{
    pthread_t others[THREADS];
    for (int i = 0; i < THREADS; i++)
        pthread_create(&others[i], NULL, same_messages, NULL);
    for (int i = 0; i < THREADS; i++)
        pthread_join(others[i], NULL);
    if (rank && total != THREADS * (MESSAGES * (MESSAGES - 1) / 2))
        abort();
    MPI_Barrier(world);
    chain();
}

/* Messages of a process to itself, one-sided accesses and partitioned messages do not change the
 * path. */
void without_clock(void)
{
    int memory[2] = {0}, value = rank;
    MPI_Win window;
    MPI_Comm self;
    MPI_Request requests[2];
    MPI_Comm_dup(MPI_COMM_SELF, &self);
    MPI_Irecv(&memory[0], 1, MPI_INT, 0, 0, self, &requests[0]);
    MPI_Send(&value, 1, MPI_INT, 0, 0, self);
    wait_for(&requests[0]);
    MPI_Comm_free(&self);
    MPI_Win_create(memory, sizeof memory, sizeof *memory, MPI_INFO_NULL, world, &window);
    MPI_Win_lock(MPI_LOCK_SHARED, !rank, 0, window);
    MPI_Put(&value, 1, MPI_INT, !rank, 1, 1, MPI_INT, window);
    MPI_Win_unlock(!rank, window);
    MPI_Win_free(&window);
#ifdef MPI_SESSION_NULL
    MPI_Psend_init(&value, 1, 1, MPI_INT, !rank, 0, world, MPI_INFO_NULL, &requests[0]);
    MPI_Precv_init(&memory[0], 1, 1, MPI_INT, !rank, 0, world, MPI_INFO_NULL, &requests[1]);
    MPI_Startall(2, requests);
    MPI_Pready(0, requests[0]);
    MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
    MPI_Request_free(&requests[0]);
    MPI_Request_free(&requests[1]);
#endif
    chain();
}

/* Like `shift` in path_messages.c, but with MPI_Isendrecv if the MPI library has it. */
void exchange(void)
{
    for (int i = 0; i < 2 * size; i++) {
        int out = i, in;
        work_of(i % size, 1);
#ifdef MPI_SESSION_NULL
        MPI_Request request;
        MPI_Isendrecv(&out, 1, MPI_INT, (rank + 1) % size, 0, &in, 1, MPI_INT,
                      i % 2 ? (rank + size - 1) % size : MPI_ANY_SOURCE, 0, world, &request);
        wait_for(&request);
#else
        MPI_Sendrecv(&out, 1, MPI_INT, (rank + 1) % size, 0, &in, 1, MPI_INT,
                     (rank + size - 1) % size, 0, world, MPI_STATUS_IGNORE);
#endif
    }
}

/* A communicator is freed while messages on it are in transit. */
void freed_comm(void)
{
    MPI_Comm copy;
    int in = 0;
    MPI_Request request;
    for (int i = 0; i < 4; i++) {
        MPI_Comm_dup(world, &copy);
        work_of(i % size, 1);
        if (i % size == rank)
            MPI_Isend(&in, 1, MPI_INT, (rank + 1) % size, 0, copy, &request);
        if ((i + 1) % size == rank)
            MPI_Irecv(&in, 1, MPI_INT, i % 4 < 2 ? MPI_ANY_SOURCE : i % size, 0, copy, &request);
        MPI_Comm_free(&copy);
        wait_for(&request);
    }
}

/* All ranks enter each region together. With two ranks, the critical path has 6 units in `chain`
 * and 2 * 3 units in `alternate`. The region `all` is not closed. */
void regions(void)
{
    MPI_Pcontrol(1, "all");
    work_of(0, 1);
    MPI_Barrier(world);
    MPI_Pcontrol(1, "chain");
    chain();
    MPI_Pcontrol(-1, "chain");
    for (int i = 0; i < 2; i++) {
        MPI_Barrier(world);
        MPI_Pcontrol(1, "alternate");
        work_of(0, 1);
        MPI_Barrier(world);
        work_of(1, 2);
        MPI_Barrier(world);
        MPI_Pcontrol(-1, "alternate");
    }
}

static void switch_layer(int enabled)
{
    int index, count, provided;
    MPI_T_cvar_handle handle;
    MPI_T_init_thread(MPI_THREAD_SINGLE, &provided);
    if (MPI_T_cvar_get_index("qmpi.profile.enabled", &index) == MPI_SUCCESS) {
        MPI_T_cvar_handle_alloc(index, NULL, &handle, &count);
        MPI_T_cvar_write(handle, &enabled);
        MPI_T_cvar_handle_free(&handle);
    }
    MPI_T_finalize();
}

/* The layer of profile, if there is one, is switched off on all ranks but rank 0 during the first
 * chain. */
void one_off(void)
{
    MPI_Comm copy;
    if (rank)
        switch_layer(0);
    MPI_Comm_dup(world, &copy);
    chain_on(copy, MPI_Send);
    MPI_Barrier(copy);
    MPI_Comm_free(&copy);
    if (rank)
        switch_layer(1);
    chain();
}

static int copies;

static int copy_attribute(MPI_Comm comm, int key, void *state, void *value, void *copy, int *flag)
{
    (void)comm;
    (void)key;
    (void)state;
    *(void **)copy = value;
    *flag = 1;
    copies++;
    return MPI_SUCCESS;
}

/* The copy callback of an attribute is called only for the communicators that the program creates,
 * and not for those of a tool. */
void attributes(void)
{
    int key;
    MPI_Comm copy, third;
    MPI_Comm_create_keyval(copy_attribute, MPI_COMM_NULL_DELETE_FN, &key, NULL);
    MPI_Comm_set_attr(world, key, &copies);
    MPI_Comm_dup(world, &copy);
    MPI_Comm_dup(copy, &third);
    if (copies != 2)
        abort();
    chain_on(third, MPI_Send);
    MPI_Comm_delete_attr(world, key);
    MPI_Comm_free(&third);
    MPI_Comm_free(&copy);
    MPI_Comm_free_keyval(&key);
}

void switched(void)
{
    chain();
    MPI_Barrier(world);
    MPI_Pcontrol(0);
    chain();
    MPI_Barrier(world);
    MPI_Pcontrol(1);
    chain();
}
