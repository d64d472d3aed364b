/* SPDX-License-Identifier: MIT */
/*
 * Random messages and collectives that carry a logical clock of the program: path_random SEED
 * ROUNDS. The clock advances outside MPI, is sent in each message, and is updated by each message
 * that is received. At the end, the program prints the largest clock, which is the length of the
 * critical path, and the sum of the received data. `qmpi report --path` must find this length
 * without the contents of the messages.
 */
#include <mpi.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { MESSAGES = 256, TAGS = 3, NEVER = 9, COLLECTIVES = 5 };

struct message {
    double clock, value;
};

struct planned {
    int source, dest, tag;
};

/* How the receives of a round specify source and tag. */
enum style { NAMED, ANY_RANK, ANY_TAG, ANY, LAST_ARE_ANY, STYLES };

static int rank, size;
static double clock_now, left; /* the logical clock, and the time when MPI was last left */
static double sum;
/* States of random generators: one that is equal on all ranks, one of this rank, and one for the
 * data that it sends. */
static unsigned shared, mine, values;

static double now(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}

static int next_number(unsigned *state, int limit)
{
    *state = *state * 1664525U + 1013904223U;
    return (int)((*state >> 8) % (unsigned)limit);
}

static int choose(int limit)
{
    return next_number(&mine, limit);
}

static void work(void)
{
    const struct timespec time = {0, 1000000L * choose(4)};
    if (time.tv_nsec)
        nanosleep(&time, NULL);
}

#define CALL(...)                                                                                  \
    do {                                                                                           \
        clock_now += now() - left;                                                                 \
        __VA_ARGS__;                                                                               \
        left = now();                                                                              \
    } while (0)

static void reach(const struct message *message)
{
    if (message->clock > clock_now)
        clock_now = message->clock;
    sum += message->value;
}

static void shuffle(int *order, int count)
{
    for (int i = 0; i < count; i++)
        order[i] = i;
    for (int i = count - 1; i > 0; i--) {
        const int other = choose(i + 1), old = order[i];
        order[i] = order[other];
        order[other] = old;
    }
}

/* ---- One round ------------------------------------------------------------------------------- */

static struct message in[MESSAGES], out[MESSAGES];
static MPI_Request receives[MESSAGES], sends[MESSAGES];
static int receive_count, send_count;

static int plan(struct planned *planned)
{
    int count = 0;
    for (int source = 0; source < size; source++) {
        for (int dest = 0; dest < size; dest++) {
            for (int i = next_number(&shared, 5); source != dest && i > 0; i--)
                planned[count++] = (struct planned){source, dest, next_number(&shared, TAGS)};
        }
    }
    return count;
}

static void post_one(const struct planned *it, enum style style, MPI_Comm comm, int persistent)
{
    const int source = style == ANY_RANK || style == ANY ? MPI_ANY_SOURCE : it->source;
    const int tag = style == ANY_TAG || style == ANY ? MPI_ANY_TAG : it->tag;
    struct message *buffer = &in[receive_count];
    MPI_Request *request = &receives[receive_count++];
    if (persistent) {
        CALL(MPI_Recv_init(buffer, 2, MPI_DOUBLE, source, tag, comm, request));
        CALL(MPI_Start(request));
    } else {
        CALL(MPI_Irecv(buffer, 2, MPI_DOUBLE, source, tag, comm, request));
    }
}

static void post(const struct planned *planned, int count, enum style style, MPI_Comm comm,
                 int persistent)
{
    int order[MESSAGES], wild = 0;
    shuffle(order, count);
    for (int i = 0; i < count; i++) {
        const struct planned *it = &planned[order[i]];
        if (it->dest != rank)
            continue;
        if (style == LAST_ARE_ANY && choose(2))
            wild++;
        else
            post_one(it, style == LAST_ARE_ANY ? NAMED : style, comm, persistent);
        if (!choose(4))
            work();
    }
    while (wild--)
        post_one(&planned[0], ANY, comm, persistent);
}

static void send_one(const struct planned *it, MPI_Comm comm)
{
    struct message *buffer = &out[send_count];
    MPI_Request *request = &sends[send_count++];
    buffer->value = next_number(&values, 1000);
    clock_now += now() - left;
    left = now();
    buffer->clock = clock_now;
    switch (choose(4)) {
    case 0:
        CALL(MPI_Issend(buffer, 2, MPI_DOUBLE, it->dest, it->tag, comm, request));
        break;
    case 1:
        CALL(MPI_Ibsend(buffer, 2, MPI_DOUBLE, it->dest, it->tag, comm, request));
        break;
    default:
        CALL(MPI_Isend(buffer, 2, MPI_DOUBLE, it->dest, it->tag, comm, request));
        break;
    }
}

static void send_all(const struct planned *planned, int count, MPI_Comm comm)
{
    int order[MESSAGES];
    shuffle(order, count);
    for (int i = 0; i < count; i++) {
        if (planned[order[i]].source != rank)
            continue;
        work();
        send_one(&planned[order[i]], comm);
    }
}

static void complete_each(void)
{
    int order[MESSAGES];
    shuffle(order, receive_count);
    for (int i = 0; i < receive_count; i++) {
        int done = 0;
        if (choose(2))
            CALL(MPI_Test(&receives[order[i]], &done, MPI_STATUS_IGNORE));
        if (!done)
            CALL(MPI_Wait(&receives[order[i]], MPI_STATUS_IGNORE));
        reach(&in[order[i]]);
        work();
    }
}

static void complete_any(void)
{
    for (int i = 0; i < receive_count; i++) {
        int index;
        CALL(MPI_Waitany(receive_count, receives, &index, MPI_STATUS_IGNORE));
        reach(&in[index]);
        work();
    }
}

static void complete_some(void)
{
    int poll = 3;
    for (int left_over = receive_count; left_over > 0;) {
        int indices[MESSAGES], count;
        if (--poll < 0 || choose(2))
            CALL(MPI_Waitsome(receive_count, receives, &count, indices, MPI_STATUSES_IGNORE));
        else
            CALL(MPI_Testsome(receive_count, receives, &count, indices, MPI_STATUSES_IGNORE));
        for (int i = 0; i < count; i++)
            reach(&in[indices[i]]);
        left_over -= count;
        work();
    }
}

static void complete_all(void)
{
    CALL(MPI_Waitall(receive_count, receives, MPI_STATUSES_IGNORE));
    for (int i = 0; i < receive_count; i++)
        reach(&in[i]);
}

/* Cancels receives for which nobody sends. */
static void cancel_some(MPI_Comm comm)
{
    static struct message never[3];
    for (int i = 0; i < choose(4); i++) {
        MPI_Request request;
        CALL(MPI_Irecv(&never[i % 3], 2, MPI_DOUBLE, choose(2) ? MPI_ANY_SOURCE : !rank, NEVER,
                       comm, &request));
        CALL(MPI_Cancel(&request));
        if (choose(2))
            CALL(MPI_Wait(&request, MPI_STATUS_IGNORE));
        else
            CALL(MPI_Request_free(&request));
    }
}

static void exchange(MPI_Comm comm, int styles)
{
    static void (*const completions[])(void) = {complete_each, complete_any, complete_some,
                                                complete_all};
    struct planned planned[MESSAGES];
    const int count = plan(planned), persistent = !choose(3);
    receive_count = send_count = 0;
    cancel_some(comm);
    if (choose(2))
        post(planned, count, (enum style)choose(styles), comm, persistent);
    send_all(planned, count, comm);
    if (!receive_count)
        post(planned, count, (enum style)choose(styles), comm, persistent);
    completions[choose(4)]();
    for (int i = 0; persistent && i < receive_count; i++)
        CALL(MPI_Request_free(&receives[i]));
    CALL(MPI_Waitall(send_count, sends, MPI_STATUSES_IGNORE));
}

static void collect(MPI_Comm comm, int kind)
{
    const int root = next_number(&shared, size);
    double most = 0, given;
    MPI_Request request;
    work();
    clock_now += now() - left;
    left = now();
    given = clock_now;
    switch (kind) {
    case 0:
        most = given;
        CALL(MPI_Bcast(&most, 1, MPI_DOUBLE, root, comm));
        break;
    case 1:
        CALL(MPI_Reduce(&given, &most, 1, MPI_DOUBLE, MPI_MAX, root, comm));
        break;
    case 2:
        CALL(MPI_Scan(&given, &most, 1, MPI_DOUBLE, MPI_MAX, comm));
        break;
    case 3:
        CALL(MPI_Iallreduce(&given, &most, 1, MPI_DOUBLE, MPI_MAX, comm, &request));
        work();
        CALL(MPI_Wait(&request, MPI_STATUS_IGNORE));
        break;
    default:
        CALL(MPI_Allreduce(&given, &most, 1, MPI_DOUBLE, MPI_MAX, comm));
        break;
    }
    if (most > clock_now)
        clock_now = most;
}

/* `qmpi report --path` takes the creation of a communicator for a synchronization, so the clocks
 * are synchronized here as well. */
static MPI_Comm copy_of(MPI_Comm comm)
{
    MPI_Comm copy;
    double most;
    CALL(MPI_Comm_dup(comm, &copy));
    CALL(MPI_Allreduce(&clock_now, &most, 1, MPI_DOUBLE, MPI_MAX, copy));
    if (most > clock_now)
        clock_now = most;
    return copy;
}

int main(int argc, char **argv)
{
    static char buffer[MESSAGES * (sizeof(struct message) + MPI_BSEND_OVERHEAD)];
    MPI_Comm comm;
    double totals[2], clocks;
    MPI_Init(&argc, &argv);
    left = now();
    CALL(MPI_Comm_rank(MPI_COMM_WORLD, &rank));
    CALL(MPI_Comm_size(MPI_COMM_WORLD, &size));
    CALL(MPI_Buffer_attach(buffer, sizeof buffer));
    shared = (unsigned)atoi(argv[1]);
    mine = values = shared + 17U * (unsigned)(rank + 1);
    comm = copy_of(MPI_COMM_WORLD);
    for (int i = 0; i < atoi(argv[2]); i++) {
        /* A receive from any rank might take a message of the next round. So in rounds with such
         * receives, all ranks wait for each other at the end. */
        exchange(i % 3 ? comm : MPI_COMM_WORLD, i % 3 ? STYLES : NAMED + 1);
        if (!next_number(&shared, 3))
            collect(comm, next_number(&shared, COLLECTIVES));
        if (i % 3)
            collect(comm, COLLECTIVES);
        if (!next_number(&shared, 5)) {
            CALL(MPI_Comm_free(&comm));
            comm = copy_of(MPI_COMM_WORLD);
        }
    }
    CALL(MPI_Comm_free(&comm));
    CALL(MPI_Allreduce(&clock_now, &clocks, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD));
    CALL(MPI_Reduce(&sum, totals, 1, MPI_DOUBLE, MPI_SUM, 0, MPI_COMM_WORLD));
    if (!rank)
        printf("path %.9f\nsum %.0f\n", clocks, totals[0]);
    MPI_Finalize();
    return 0;
}
