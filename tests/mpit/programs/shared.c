/* SPDX-License-Identifier: MIT */
/*
 * `shared WHAT ROUNDS`: two threads access the same objects at the same time.
 * - handles: Both threads use one session. One thread allocates, uses and frees handles; the other
 *   one starts, stops and resets all handles of the session.
 * - sessions: Each thread creates a session, uses a handle in it, and frees the session.
 * - objects: One thread creates an object, uses a handle for the watermark `level` of this object,
 *   and frees both; the other one samples the watermark.
 *
 * Every call must succeed, whatever the other thread does.
 */
#include <mpi.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int rounds, index_of_pvar;
static atomic_int done;
static MPI_T_pvar_session session;
static MPI_T_cvar_handle sample;

#define EXPECT(call) expect(call, #call)

static void expect(int result, const char *what)
{
    if (result == MPI_SUCCESS)
        return;
    printf("%s: %d\n", what, result);
    fflush(stdout);
    _Exit(1);
}

static void use(MPI_T_pvar_session mine, MPI_T_pvar_handle handle)
{
    unsigned long long value;
    EXPECT(MPI_T_pvar_start(mine, handle));
    EXPECT(MPI_T_pvar_read(mine, handle, &value));
    EXPECT(MPI_T_pvar_stop(mine, handle));
}

static void *come_and_go(void *unused)
{
    for (int i = 0; i < rounds; i++) {
        MPI_T_pvar_handle handles[8];
        int count;
        for (int h = 0; h < 8; h++) {
            EXPECT(MPI_T_pvar_handle_alloc(session, index_of_pvar, NULL, &handles[h], &count));
            use(session, handles[h]);
        }
        for (int h = 0; h < 8; h++)
            EXPECT(MPI_T_pvar_handle_free(session, &handles[h]));
    }
    done = 1;
    return unused;
}

static void *all_of_them(void *unused)
{
    while (!done) {
        EXPECT(MPI_T_pvar_start(session, MPI_T_PVAR_ALL_HANDLES));
        EXPECT(MPI_T_pvar_reset(session, MPI_T_PVAR_ALL_HANDLES));
        EXPECT(MPI_T_pvar_stop(session, MPI_T_PVAR_ALL_HANDLES));
    }
    return unused;
}

static void *sessions(void *unused)
{
    for (int i = 0; i < rounds; i++) {
        MPI_T_pvar_session mine;
        MPI_T_pvar_handle handle;
        int count;
        EXPECT(MPI_T_pvar_session_create(&mine));
        EXPECT(MPI_T_pvar_handle_alloc(mine, index_of_pvar, NULL, &handle, &count));
        use(mine, handle);
        EXPECT(MPI_T_pvar_session_free(&mine));
    }
    return unused;
}

static void *objects(void *unused)
{
    for (int i = 0; i < rounds; i++) {
        MPI_Info info;
        MPI_T_pvar_handle handle;
        int count;
        EXPECT(MPI_Info_create(&info));
        EXPECT(MPI_T_pvar_handle_alloc(session, index_of_pvar, &info, &handle, &count));
        use(session, handle);
        EXPECT(MPI_T_pvar_start(session, handle));
        EXPECT(MPI_T_pvar_handle_free(session, &handle));
        EXPECT(MPI_Info_free(&info));
    }
    done = 1;
    return unused;
}

static void *samples(void *unused)
{
    const int one = 1;
    while (!done)
        EXPECT(MPI_T_cvar_write(sample, &one));
    return unused;
}

static const struct {
    const char *name;
    void *(*threads[2])(void *);
    const char *pvar;
    int var_class;
} modes[] = {
    {"handles", {come_and_go, all_of_them}, "qmpi.publisher.calls", MPI_T_PVAR_CLASS_COUNTER},
    {"sessions", {sessions, sessions}, "qmpi.publisher.calls", MPI_T_PVAR_CLASS_COUNTER},
    {"objects", {objects, samples}, "qmpi.mortal.level", MPI_T_PVAR_CLASS_HIGHWATERMARK},
};

int main(int argc, char **argv)
{
    int provided, mode = 0, count;
    pthread_t threads[2];
    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
    if (argc < 3)
        return 2;
    while (mode < 2 && strcmp(argv[1], modes[mode].name) != 0)
        mode++;
    rounds = atoi(argv[2]);
    EXPECT(MPI_T_init_thread(MPI_THREAD_MULTIPLE, &provided));
    EXPECT(MPI_T_pvar_get_index(modes[mode].pvar, modes[mode].var_class, &index_of_pvar));
    EXPECT(MPI_T_pvar_session_create(&session));
    if (mode == 2) {
        int index;
        EXPECT(MPI_T_cvar_get_index("qmpi.mortal.sample", &index));
        EXPECT(MPI_T_cvar_handle_alloc(index, NULL, &sample, &count));
    }
    for (int i = 0; i < 2; i++)
        pthread_create(&threads[i], NULL, modes[mode].threads[i], NULL);
    for (int i = 0; i < 2; i++)
        pthread_join(threads[i], NULL);
    EXPECT(MPI_T_pvar_session_free(&session));
    EXPECT(MPI_T_finalize());
    puts("done");
    MPI_Finalize();
    return 0;
}
