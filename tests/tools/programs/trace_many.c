/* SPDX-License-Identifier: MIT */
/*
 * Makes many calls: `trace_many [STEP…]`.
 * - early=N: makes N calls before MPI_Init_thread. This must be the first step.
 * - calls=N: makes N calls.
 * - trips=N: sends a message from rank 0 to rank 1 and back, N times.
 * - threads=N: N threads, at most 64, make 1000 calls each.
 * - together=N: N threads make a call, wait until all have done so, and make 100 more calls.
 * - bursts=N: 8 threads make N calls each, one thread after the other.
 * - signals=N: makes calls while N signals arrive, whose handler makes a call.
 * - wait: waits until the file `go` exists.
 * - usr2: raises SIGUSR2.
 * - limit=N: limits the size of files to N bytes.
 * - receive: rank 0 makes a receive that lasts until `go` exists, or for ever with a single rank.
 * - within: makes a call within another call; both last until the file `go` exists.
 * - abort: when the file `go` exists, rank 0 aborts while all other ranks are in a call.
 * - within_calls: signals arrive while rank 0 sends messages to rank 1 and takes part in a barrier;
 *   their handler makes a call.
 * - hang: another thread makes its only call, which never returns.
 * - sessions: uses a session instead of MPI_Init. This must be the only step.
 */
#define _GNU_SOURCE
#include <mpi.h>

#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

static void initialized(long count)
{
    int flag;
    for (long i = 0; i < count; i++)
        MPI_Initialized(&flag);
}

static void trips(long count)
{
    char data[8] = "";
    int rank;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    for (long i = 0; i < count && rank < 2; i++) {
        if (rank == 0)
            MPI_Send(data, sizeof data, MPI_BYTE, 1, 0, MPI_COMM_WORLD);
        MPI_Recv(data, sizeof data, MPI_BYTE, !rank, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        if (rank == 1)
            MPI_Send(data, sizeof data, MPI_BYTE, 0, 0, MPI_COMM_WORLD);
    }
}

static void *run_thread(void *data)
{
    initialized(1000);
    return data;
}

static void threads(long count)
{
    pthread_t all[64];
    for (long i = 0; i < count && i < 64; i++)
        pthread_create(&all[i], NULL, run_thread, NULL);
    for (long i = 0; i < count && i < 64; i++)
        pthread_join(all[i], NULL);
}

static pthread_barrier_t barrier;
static void *run_together(void *data)
{
    initialized(1);
    pthread_barrier_wait(&barrier);
    initialized(100);
    return data;
}

static void together(long count)
{
    pthread_t *all = calloc((size_t)count, sizeof *all);
    pthread_barrier_init(&barrier, NULL, (unsigned)count);
    for (long i = 0; i < count; i++)
        pthread_create(&all[i], NULL, run_together, NULL);
    for (long i = 0; i < count; i++)
        pthread_join(all[i], NULL);
    free(all);
}

static void *run_burst(void *count)
{
    initialized(*(const long *)count);
    return count;
}

static void bursts(long count)
{
    for (int i = 0; i < 8; i++) {
        pthread_t thread;
        pthread_create(&thread, NULL, run_burst, &count);
        pthread_join(thread, NULL);
    }
}

static volatile sig_atomic_t signals;
static void on_signal(int number)
{
    int size;
    (void)number;
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    signals++;
}

static void interrupt(long count)
{
    const struct itimerval often = {{0, 200}, {0, 200}}, never = {{0, 0}, {0, 0}};
    struct sigaction action;
    int rank;
    memset(&action, 0, sizeof action);
    action.sa_handler = on_signal;
    sigaction(SIGALRM, &action, NULL);
    setitimer(ITIMER_REAL, &often, NULL);
    while (signals < count)
        MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    setitimer(ITIMER_REAL, &never, NULL);
    printf("signals %d\n", (int)signals);
}

/* Makes a call, and creates the file `place`, upon the tenth signal after `place` was set: the
 * process is by then within the call that waits for the file. */
static const char *volatile place;
static volatile sig_atomic_t hits;
static void answer(int number)
{
    int flag;
    (void)number;
    if (!place || ++hits < 10)
        return;
    MPI_Initialized(&flag);
    close(open(place, O_CREAT | O_WRONLY, 0666));
    place = NULL;
}

/* Rank 0 expects a signal; all other ranks wait until it has come. */
static void expect_signal(int rank, const char *file)
{
    const struct timespec pause = {0, 1000000};
    if (rank == 0) {
        hits = 0;
        place = file;
    }
    while (rank && access(file, F_OK))
        nanosleep(&pause, NULL);
}

static void send_interrupted(int rank, MPI_Datatype type, const char *file)
{
    int data[2] = {0, 0};
    expect_signal(rank, file);
    if (rank == 0)
        MPI_Ssend(data, 1, type, 1, 0, MPI_COMM_WORLD);
    else if (rank == 1)
        MPI_Recv(data, 1, type, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

static void interrupt_within_calls(void)
{
    const struct itimerval often = {{0, 1000}, {0, 1000}}, never = {{0, 0}, {0, 0}};
    struct sigaction action;
    MPI_Datatype pair;
    int rank;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Type_contiguous(2, MPI_INT, &pair);
    MPI_Type_commit(&pair);
    memset(&action, 0, sizeof action);
    action.sa_handler = answer;
    action.sa_flags = SA_RESTART;
    sigaction(SIGALRM, &action, NULL);
    setitimer(ITIMER_REAL, &often, NULL);
    send_interrupted(rank, MPI_INT, "first");
    send_interrupted(rank, MPI_INT, "second");
    send_interrupted(rank, pair, "derived");
    expect_signal(rank, "barrier");
    MPI_Barrier(MPI_COMM_WORLD);
    setitimer(ITIMER_REAL, &never, NULL);
    MPI_Type_free(&pair);
}

static void wait_for_file(void)
{
    const struct timespec pause = {0, 1000000};
    while (access("go", F_OK))
        nanosleep(&pause, NULL);
}

/* Rank 0 receives from the last rank. All other ranks send when `go` exists; a single rank never
 * sends. */
static void receive(void)
{
    int rank, size;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    if (rank == 0) {
        MPI_Recv(NULL, 0, MPI_INT, size - 1, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    } else {
        wait_for_file();
        MPI_Send(NULL, 0, MPI_INT, 0, 1, MPI_COMM_WORLD);
    }
}

/* Two nested calls of MPI_Comm_dup call this function. In the outer one, `state` is set, and the
 * function makes the inner call. In the inner one, the function waits. */
static int copy(MPI_Comm comm, int keyval, void *state, void *value, void *to, int *flag)
{
    (void)comm, (void)keyval, (void)value, (void)to;
    if (state)
        MPI_Comm_dup(MPI_COMM_WORLD, state);
    else
        wait_for_file();
    *flag = 0;
    return MPI_SUCCESS;
}

static void wait_within(void)
{
    static MPI_Comm inner;
    MPI_Comm comm;
    int keyval;
    MPI_Comm_create_keyval(copy, MPI_COMM_NULL_DELETE_FN, &keyval, NULL);
    MPI_Comm_set_attr(MPI_COMM_WORLD, keyval, NULL);
    MPI_Comm_create_keyval(copy, MPI_COMM_NULL_DELETE_FN, &keyval, &inner);
    MPI_Comm_set_attr(MPI_COMM_SELF, keyval, NULL);
    MPI_Comm_dup(MPI_COMM_SELF, &comm);
}

static void end_others(void)
{
    int rank;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    if (rank)
        MPI_Barrier(MPI_COMM_WORLD);
    wait_for_file();
    MPI_Abort(MPI_COMM_WORLD, 3);
}

static void *hang(void *data)
{
    MPI_Probe(0, 2, MPI_COMM_SELF, MPI_STATUS_IGNORE);
    return data;
}

static void hang_in_thread(void)
{
    pthread_t thread;
    pthread_create(&thread, NULL, hang, NULL);
    pthread_detach(thread);
}

/* Opens a session with a communicator of all processes. */
static void run_sessions(void)
{
#ifdef MPI_SESSION_NULL
    MPI_Session session;
    MPI_Group group;
    MPI_Comm comm;
    MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, &session);
    MPI_Group_from_session_pset(session, "mpi://WORLD", &group);
    MPI_Comm_create_from_group(group, "trace", MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, &comm);
    MPI_Barrier(comm);
    MPI_Comm_free(&comm);
    MPI_Group_free(&group);
    MPI_Session_finalize(&session);
#endif
}

static void run_step(const char *step, long count)
{
    if (!strcmp(step, "early") || !strcmp(step, "calls"))
        initialized(count);
    else if (!strcmp(step, "trips"))
        trips(count);
    else if (!strcmp(step, "threads"))
        threads(count);
    else if (!strcmp(step, "together"))
        together(count);
    else if (!strcmp(step, "bursts"))
        bursts(count);
    else if (!strcmp(step, "signals"))
        interrupt(count);
    else if (!strcmp(step, "within_calls"))
        interrupt_within_calls();
    else if (!strcmp(step, "wait"))
        wait_for_file();
    else if (!strcmp(step, "receive"))
        receive();
    else if (!strcmp(step, "within"))
        wait_within();
    else if (!strcmp(step, "abort"))
        end_others();
    else if (!strcmp(step, "hang"))
        hang_in_thread();
    else if (!strcmp(step, "usr2"))
        raise(SIGUSR2);
    else if (!strcmp(step, "limit"))
        setrlimit(RLIMIT_FSIZE, &(struct rlimit){(rlim_t)count, (rlim_t)count});
}

int main(int argc, char **argv)
{
    int provided, first = 1;
    if (argc > 1 && !strcmp(argv[1], "sessions")) {
        run_sessions();
        return 0;
    }
    if (argc > 1 && !strncmp(argv[1], "early=", 6))
        run_step("early", atol(argv[first++] + 6));
    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
    for (int i = first; i < argc; i++) {
        char *equals = strchr(argv[i], '=');
        if (equals)
            *equals = '\0';
        run_step(argv[i], equals ? atol(equals + 1) : 1);
    }
    MPI_Finalize();
    return 0;
}
