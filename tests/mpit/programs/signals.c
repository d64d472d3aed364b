/* SPDX-License-Identifier: MIT */
/*
 * A signal handler reads, writes, resets, starts and stops handles of variables that were published
 * with an address. The signals interrupt a program that uses the same handles, allocates memory,
 * samples watermarks, and allocates and frees other handles. No call may fail, hang or return an
 * impossible value.
 */
#define _GNU_SOURCE
#include <mpi.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <unistd.h>

static MPI_T_pvar_session session;
static MPI_T_pvar_handle calls, total, high, array, mine;
static volatile sig_atomic_t handled, failures;

static void expect(int result)
{
    if (result != MPI_SUCCESS)
        failures++;
}

/* The publisher's counter is 1000, so no value of `calls` may be larger. */
static void handle(int number)
{
    unsigned long long value = 0, four[4];
    (void)number;
    expect(MPI_T_pvar_read(session, calls, &value));
    if (value > 1000)
        failures++;
    switch (handled++ % 5) {
    case 0:
        expect(MPI_T_pvar_start(session, calls));
        break;
    case 1:
        expect(MPI_T_pvar_stop(session, calls));
        break;
    case 2:
        expect(MPI_T_pvar_reset(session, calls));
        break;
    case 3:
        expect(MPI_T_pvar_readreset(session, total, &value));
        break;
    default:
        value = 7;
        expect(MPI_T_pvar_write(session, total, &value));
    }
    expect(MPI_T_pvar_read(session, high, &value));
    expect(MPI_T_pvar_read(session, array, four));
    for (int i = 1; i < 4; i++) {
        if (four[i] != four[0])
            failures++;
    }
}

static MPI_T_pvar_handle open_pvar(const char *name, int var_class)
{
    MPI_T_pvar_handle opened = MPI_T_PVAR_HANDLE_NULL;
    int index = -1, count;
    expect(MPI_T_pvar_get_index(name, var_class, &index));
    expect(MPI_T_pvar_handle_alloc(session, index, NULL, &opened, &count));
    return opened;
}

static void set(const char *name, const void *value)
{
    MPI_T_cvar_handle cvar;
    int index = -1, count;
    expect(MPI_T_cvar_get_index(name, &index));
    expect(MPI_T_cvar_handle_alloc(index, NULL, &cvar, &count));
    expect(MPI_T_cvar_write(cvar, value));
    expect(MPI_T_cvar_handle_free(&cvar));
}

static void work(void)
{
    unsigned long long value = 0, four[4];
    expect(MPI_T_pvar_start(session, calls));
    expect(MPI_T_pvar_start(session, array));
    expect(MPI_T_pvar_read(session, array, four));
    expect(MPI_T_pvar_stop(session, array));
    expect(MPI_T_pvar_stop(session, calls));
    expect(MPI_T_pvar_read(session, calls, &value));
    if (value > 1000)
        failures++;
    mine = open_pvar("qmpi.publisher.high", MPI_T_PVAR_CLASS_HIGHWATERMARK);
    expect(MPI_T_pvar_handle_free(session, &mine));
    set("qmpi.publisher.raw.level", &value);
    free(malloc(1000));
}

int main(int argc, char **argv)
{
    const unsigned long long thousand = 1000;
    const struct itimerval often = {{0, 1000}, {0, 1000}}, never = {{0, 0}, {0, 0}};
    const int wanted = argc > 1 ? atoi(argv[1]) : 1000;
    int provided;
    expect(MPI_T_init_thread(MPI_THREAD_SINGLE, &provided));
    expect(MPI_T_pvar_session_create(&session));
    set("qmpi.publisher.raw.counter", &thousand);
    calls = open_pvar("qmpi.publisher.calls", MPI_T_PVAR_CLASS_COUNTER);
    total = open_pvar("qmpi.publisher.total", MPI_T_PVAR_CLASS_COUNTER);
    high = open_pvar("qmpi.publisher.high", MPI_T_PVAR_CLASS_HIGHWATERMARK);
    array = open_pvar("qmpi.publisher.array", MPI_T_PVAR_CLASS_COUNTER);
    signal(SIGALRM, handle);
    setitimer(ITIMER_REAL, &often, NULL);
    while (handled < wanted)
        work();
    setitimer(ITIMER_REAL, &never, NULL);
    expect(MPI_T_pvar_session_free(&session));
    expect(MPI_T_finalize());
    fprintf(stderr, "trace: %d signals\n", (int)handled);
    if (failures)
        printf("%d calls failed in %d signals\n", (int)failures, (int)handled);
    else
        puts("done");
    return 0;
}
