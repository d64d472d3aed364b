/* SPDX-License-Identifier: MIT */
/* Steps of a process's course: before MPI_Init, MPI_Init, the threads' communicators, the end. */
#include "../../stack/tools/fortran_handles.h"
#include "program.h"

#include <dlfcn.h>

/* Allowed before MPI_Init and after MPI_Finalize, and from several threads at once. */
static void outside(struct storm_thread *thread, const long *a)
{
    int flag = -1, version = 0, subversion = 0;
    (void)thread;
    for (long i = 0; i < a[1]; i++) {
        OK(Initialized, (&flag));
        CHECK(flag == (a[0] > 0));
        OK(Finalized, (&flag));
        CHECK(flag == (a[0] > 1));
        OK(Get_version, (&version, &subversion));
        CHECK(version == MPI_VERSION && subversion == MPI_SUBVERSION);
    }
}

/* a[0]: 0 MPI_Init, 1 MPI_Init_thread with a[1] as MPI_THREAD_SINGLE … MPI_THREAD_MULTIPLE. */
static void init(struct storm_thread *thread, const long *a)
{
    static const int levels[] = {MPI_THREAD_SINGLE, MPI_THREAD_FUNNELED, MPI_THREAD_SERIALIZED,
                                 MPI_THREAD_MULTIPLE};
    const int wanted = levels[a[1] % 4];
    int provided = -1;
    (void)thread;
    if (a[0] == 0) {
        OK(Init, (NULL, NULL));
    } else {
        OK(Init_thread, (NULL, NULL, wanted, &provided));
        CHECK(provided >= wanted);
    }
}

/* MPI_T is initialised once: some versions of MPICH do not survive a second time. The first call of
 * MPI_Wtime comes here, where one thread runs and no signal comes: Open MPI takes the origin of its
 * clock in it, without a lock, and a second thread that does the same gets a negative time. */
static void setup(struct storm_thread *thread, const long *a)
{
    int provided = -1;
    (void)thread;
    (void)a;
    OK(T_init_thread, (MPI_THREAD_MULTIPLE, &provided));
    OK(Comm_rank, (MPI_COMM_WORLD, &storm_rank));
    OK(Comm_size, (MPI_COMM_WORLD, &storm_size));
    OK(Query_thread, (&storm_level));
    CHECK(M(Wtime, ()) >= 0);
    for (int i = 0; i < storm_thread_count; i++) {
        MPI_Comm *comm = &storm_threads[i].comm;
        OK(Comm_dup, (MPI_COMM_WORLD, comm));
        OK(Comm_set_errhandler, (*comm, MPI_ERRORS_RETURN));
#ifdef MPI_Comm_c2f /* a macro, as in MPICH 4.0 and 5.0; in 4.2 a function */
        storm_threads[i].fortran_comm = MPI_Comm_c2f(*comm);
#else
        storm_threads[i].fortran_comm = PMPI_Comm_c2f(*comm);
#endif
    }
}

static void cleanup(struct storm_thread *thread, const long *a)
{
    (void)thread;
    (void)a;
    for (int i = 0; i < storm_thread_count; i++)
        OK(Comm_free, (&storm_threads[i].comm));
    OK(T_finalize, ());
}

static void finalize(struct storm_thread *thread, const long *a)
{
    (void)thread;
    (void)a;
    OK(Finalize, ());
}

static void finalize_at_exit(void)
{
    OK(Finalize, ());
}

/* The library is preloaded: tools are loaded later, and their destructors run before its own. */
static void finalize_last(struct storm_thread *thread, const long *a)
{
    void (*call)(void (*)(void)) =
        (void (*)(void (*)(void)))(uintptr_t)dlsym(RTLD_DEFAULT, "storm_last_call");
    (void)thread;
    (void)a;
    if (call)
        call(finalize_at_exit);
    else
        storm_wrong(storm, "storm_last.so is not loaded");
}

/* a[0]: 1 opens a session, 0 closes it. */
static void session(struct storm_thread *thread, const long *a)
{
    (void)thread;
    (void)a;
#ifdef MPI_SESSION_NULL
    static MPI_Session opened;
    if (a[0])
        OK(Session_init, (MPI_INFO_NULL, MPI_ERRORS_RETURN, &opened));
    else
        OK(Session_finalize, (&opened));
#endif
}

const struct storm_action storm_lifecycle_actions[] = {
    {"session", session},   {"finalize_last", finalize_last},
    {"outside", outside},   {"init", init},
    {"setup", setup},       {"cleanup", cleanup},
    {"finalize", finalize}, {0}};
