/* SPDX-License-Identifier: MIT */
/*
 * `random_calls SEED CALLS`: two threads make random MPI_T calls for variables of the layer
 * `publisher`, each in sessions of its own, and compare all results with a small model. The
 * publisher's counter is only raised while no thread makes random calls, so that each thread knows
 * the expected values.
 */
#define _GNU_SOURCE
#include <mpi.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SESSIONS = 4, HANDLES = 24, THREADS = 2, PHASE = 50 };

/* The model of a handle. */
struct handle {
    MPI_T_pvar_handle handle;
    int session; /* index of its session in struct client */
    bool continuous, started;
    unsigned long long frozen, base; /* frozen: the value of the handle while it is stopped; base:
                                        the raw value at which the handle has the value 0 */
};

struct client {
    unsigned seed;
    int steps;
    MPI_T_pvar_session sessions[SESSIONS];
    struct handle handles[HANDLES];
};

static unsigned long long raw; /* value of the publisher's counter; changes only while no thread
                                  makes random calls */
static pthread_barrier_t barrier;
static int calls_index, total_index;

static void expect(long long got, long long expected, const char *what)
{
    if (got == expected)
        return;
    printf("%s: %lld, not %lld\n", what, got, expected);
    fflush(stdout);
    _Exit(1);
}

static int any(struct client *client, int limit)
{
    return (int)(rand_r(&client->seed) % (unsigned)limit);
}

static unsigned long long model(const struct handle *handle)
{
    return handle->started ? raw - handle->base : handle->frozen;
}

static void set_model(struct handle *handle, unsigned long long value)
{
    handle->frozen = value;
    handle->base = raw - value;
}

static void toggle_session(struct client *client, int i)
{
    if (client->sessions[i] == MPI_T_PVAR_SESSION_NULL) {
        expect(MPI_T_pvar_session_create(&client->sessions[i]), MPI_SUCCESS, "session_create");
        return;
    }
    expect(MPI_T_pvar_session_free(&client->sessions[i]), MPI_SUCCESS, "session_free");
    expect(client->sessions[i] == MPI_T_PVAR_SESSION_NULL, true, "the freed session");
    for (int h = 0; h < HANDLES; h++) {
        if (client->handles[h].session == i)
            client->handles[h].handle = MPI_T_PVAR_HANDLE_NULL;
    }
}

static void allocate(struct client *client, struct handle *handle, int session)
{
    int count = -1;
    const bool continuous = any(client, 2);
    if (client->sessions[session] == MPI_T_PVAR_SESSION_NULL)
        return;
    expect(MPI_T_pvar_handle_alloc(client->sessions[session],
                                   continuous ? total_index : calls_index, NULL, &handle->handle,
                                   &count),
           MPI_SUCCESS, "handle_alloc");
    expect(count, 1, "count");
    handle->session = session;
    handle->continuous = handle->started = continuous;
    handle->frozen = 0;
    handle->base = 0;
}

static void start_or_stop(struct handle *handle, MPI_T_pvar_session session, bool start)
{
    const int result = start ? MPI_T_pvar_start(session, handle->handle)
                             : MPI_T_pvar_stop(session, handle->handle);
    expect(result, handle->continuous ? MPI_T_ERR_PVAR_NO_STARTSTOP : MPI_SUCCESS, "start or stop");
    if (!handle->continuous && handle->started != start) {
        const unsigned long long value = model(handle);
        handle->started = start;
        set_model(handle, value);
    }
}

static void on_handle(struct client *client, struct handle *handle)
{
    MPI_T_pvar_session session = client->sessions[handle->session];
    MPI_T_pvar_session other = client->sessions[(handle->session + 1) % SESSIONS];
    unsigned long long value = (unsigned long long)any(client, 1000000);
    switch (any(client, 8)) {
    case 0:
        start_or_stop(handle, session, true);
        break;
    case 1:
        start_or_stop(handle, session, false);
        break;
    case 2:
        expect(MPI_T_pvar_write(session, handle->handle, &value), MPI_SUCCESS, "write");
        set_model(handle, value);
        break;
    case 3:
        expect(MPI_T_pvar_reset(session, handle->handle), MPI_SUCCESS, "reset");
        set_model(handle, 0);
        break;
    case 4:
        expect(MPI_T_pvar_readreset(session, handle->handle, &value), MPI_SUCCESS, "readreset");
        expect((long long)value, (long long)model(handle), "the value from readreset");
        set_model(handle, 0);
        break;
    case 5:
        if (other != MPI_T_PVAR_SESSION_NULL)
            expect(MPI_T_pvar_read(other, handle->handle, &value), MPI_T_ERR_INVALID_HANDLE,
                   "read in another session");
        break;
    case 6:
        expect(MPI_T_pvar_handle_free(session, &handle->handle), MPI_SUCCESS, "handle_free");
        expect(handle->handle == MPI_T_PVAR_HANDLE_NULL, true, "the freed handle");
        break;
    default:
        expect(MPI_T_pvar_read(session, handle->handle, &value), MPI_SUCCESS, "read");
        expect((long long)value, (long long)model(handle), "the value from read");
    }
}

static void on_all(struct client *client, int session)
{
    MPI_T_pvar_session handle = client->sessions[session];
    const int what = any(client, 3);
    if (handle == MPI_T_PVAR_SESSION_NULL)
        return;
    const int result = what == 0   ? MPI_T_pvar_start(handle, MPI_T_PVAR_ALL_HANDLES)
                       : what == 1 ? MPI_T_pvar_stop(handle, MPI_T_PVAR_ALL_HANDLES)
                                   : MPI_T_pvar_reset(handle, MPI_T_PVAR_ALL_HANDLES);
    expect(result, MPI_SUCCESS, "all handles");
    for (int i = 0; i < HANDLES; i++) {
        struct handle *each = &client->handles[i];
        if (each->handle == MPI_T_PVAR_HANDLE_NULL || each->session != session)
            continue;
        if (what == 2) {
            set_model(each, 0);
        } else if (!each->continuous && each->started != (what == 0)) {
            const unsigned long long value = model(each);
            each->started = what == 0;
            set_model(each, value);
        }
    }
}

static void query(struct client *client)
{
    char name[300];
    int num = 0, length = sizeof name, index = -1;
    expect(MPI_T_cvar_get_num(&num), MPI_SUCCESS, "cvar_get_num");
    const int i = any(client, num);
    expect(MPI_T_cvar_get_info(i, name, &length, NULL, NULL, NULL, NULL, NULL, NULL, NULL),
           MPI_SUCCESS, "cvar_get_info");
    expect(MPI_T_cvar_get_index(name, &index), MPI_SUCCESS, "cvar_get_index");
    expect(index, i, "the index");
}

static void step(struct client *client)
{
    struct handle *handle = &client->handles[any(client, HANDLES)];
    switch (any(client, 20)) {
    case 0:
        toggle_session(client, any(client, SESSIONS));
        break;
    case 1:
        on_all(client, any(client, SESSIONS));
        break;
    case 2:
        query(client);
        break;
    default:
        if (handle->handle == MPI_T_PVAR_HANDLE_NULL)
            allocate(client, handle, any(client, SESSIONS));
        else
            on_handle(client, handle);
    }
}

static void raise_counter(unsigned long long by)
{
    static MPI_T_cvar_handle handle;
    int index, count;
    if (handle == MPI_T_CVAR_HANDLE_NULL) {
        expect(MPI_T_cvar_get_index("qmpi.publisher.raw.counter", &index), MPI_SUCCESS, "raw");
        expect(MPI_T_cvar_handle_alloc(index, NULL, &handle, &count), MPI_SUCCESS, "raw");
    }
    raw += by;
    expect(MPI_T_cvar_write(handle, &raw), MPI_SUCCESS, "raw");
}

static void *run(void *data)
{
    struct client *client = data;
    for (int i = 0; i < client->steps; i++) {
        if (i % PHASE == 0) {
            if (pthread_barrier_wait(&barrier) == PTHREAD_BARRIER_SERIAL_THREAD)
                raise_counter((unsigned long long)any(client, 1000));
            pthread_barrier_wait(&barrier);
        }
        step(client);
    }
    for (int i = 0; i < SESSIONS; i++) {
        if (client->sessions[i] != MPI_T_PVAR_SESSION_NULL)
            toggle_session(client, i);
    }
    return NULL;
}

int main(int argc, char **argv)
{
    struct client clients[THREADS];
    pthread_t threads[THREADS];
    int provided;
    if (argc < 3)
        return 2;
    expect(MPI_T_init_thread(MPI_THREAD_MULTIPLE, &provided), MPI_SUCCESS, "init_thread");
    MPI_T_pvar_get_index("qmpi.publisher.calls", MPI_T_PVAR_CLASS_COUNTER, &calls_index);
    MPI_T_pvar_get_index("qmpi.publisher.total", MPI_T_PVAR_CLASS_COUNTER, &total_index);
    pthread_barrier_init(&barrier, NULL, THREADS);
    memset(clients, 0, sizeof clients);
    for (int i = 0; i < THREADS; i++) {
        clients[i].seed = (unsigned)atoi(argv[1]) * THREADS + (unsigned)i;
        clients[i].steps = atoi(argv[2]) / THREADS;
        pthread_create(&threads[i], NULL, run, &clients[i]);
    }
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    expect(MPI_T_finalize(), MPI_SUCCESS, "finalize");
    puts("done");
    return 0;
}
