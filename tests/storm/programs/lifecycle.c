/* SPDX-License-Identifier: MIT */
/* Steps of the life cycle of a process: calls before MPI_Init, MPI_Init, the communicators of
 * threads, MPI_Finalize, and sessions. */
#include "../../stack/tools/fortran_handles.h"
#include "program.h"

#include <dlfcn.h>

/* Makes three calls that are allowed before MPI_Init and after MPI_Finalize, a[1] times, perhaps in
 * several threads at the same time. a[0] is 0 before MPI_Init, 1 after it, and 2 after
 * MPI_Finalize. */
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

/* Calls MPI_Init if a[0] is 0, otherwise MPI_Init_thread with the level that a[1] selects. */
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

/* Creates the communicators of the threads. Initializes MPI_T, only once, because some versions of
 * MPICH crash if it is initialized a second time. Makes the first call of MPI_Wtime here, while
 * no other thread calls MPI and there are no signals: in this call, Open MPI sets the origin of its
 * clock without a lock, and a second thread that does so at the same time would get a negative
 * time. */
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
#ifdef MPI_Comm_c2f /* a macro in MPICH 4.0 and 5.0, a function in 4.2 */
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

static int in_destructor;

__attribute__((destructor)) static void leave(void)
{
    if (in_destructor)
        storm_run_rest();
}

/* finalize_last HOW: all later phases, which begin with MPI_Finalize, are carried out when the
 * process ends. HOW is 0 to 2: by a library of the program (see tools/last.c); 3: in a destructor
 * of the program; 4: in an exit handler of the program. The destructor of the library runs before
 * those of the tools if the library was preloaded, and after them if it is opened here. */
static void finalize_last(struct storm_thread *thread, const long *a)
{
    enum { IN_PROGRAM = 3, BY_ATEXIT = 4 };
    char path[512];
    (void)thread;
    storm_leave_rest();
    if (a[0] == IN_PROGRAM) {
        in_destructor = 1;
    } else if (a[0] == BY_ATEXIT) {
        CHECK(atexit(storm_run_rest) == 0);
    } else {
        snprintf(path, sizeof path, "%s/storm_last.so", getenv("STORM_LIBRARIES"));
        void *library = dlopen(path, RTLD_NOW);
        void (*call)(void (*)(void), int) =
            library ? (void (*)(void (*)(void), int))(uintptr_t)dlsym(library, "storm_last_call")
                    : NULL;
        if (call)
            call(storm_run_rest, (int)a[0]);
        else
            storm_wrong(storm, "%s cannot be loaded", path);
    }
}

/* ---- Sessions -------------------------------------------------------------------------------- */

#ifdef MPI_SESSION_NULL
enum { SESSIONS = 4 };

static struct {
    MPI_Session session;
    MPI_Comm comm; /* a communicator of all processes */
} sessions[SESSIONS];

/* If `untold` is set, tools have already reported, so they need not report this call. */
#define IN_SESSION(X, ARGUMENTS)                                                                   \
    do {                                                                                           \
        storm_add(&storm->untold[STORM_##X], untold ? 1 : 0);                                      \
        OK(X, ARGUMENTS);                                                                          \
    } while (0)

static void session_comm(int number, int untold)
{
    MPI_Group group;
    IN_SESSION(Group_from_session_pset, (sessions[number].session, "mpi://WORLD", &group));
    IN_SESSION(Comm_create_from_group,
               (group, "storm", MPI_INFO_NULL, MPI_ERRORS_RETURN, &sessions[number].comm));
    IN_SESSION(Group_free, (&group));
}

/* Before MPI_Init, storm_rank and storm_size are not set, so rank and size are taken from the
 * communicator. */
static void session_use(int number, int rounds, int untold)
{
    MPI_Comm comm = sessions[number].comm;
    int rank = -1, size = -1;
    IN_SESSION(Comm_rank, (comm, &rank));
    IN_SESSION(Comm_size, (comm, &size));
    for (int i = 0; i < rounds; i++) {
        int mine = rank + i, sum = -1, other = -1;
        IN_SESSION(Barrier, (comm));
        IN_SESSION(Allreduce, (&mine, &sum, 1, MPI_INT, MPI_SUM, comm));
        CHECK(sum == size * (size - 1) / 2 + size * i);
        IN_SESSION(Sendrecv, (&mine, 1, MPI_INT, (rank + 1) % size, i, &other, 1, MPI_INT,
                              (rank + size - 1) % size, i, comm, MPI_STATUS_IGNORE));
        CHECK(other == (rank + size - 1) % size + i);
    }
}
#endif

/* session WHAT NUMBER ROUNDS UNTOLD: does WHAT (OPEN to CLOSE) with session NUMBER. Does nothing if
 * this MPI has no sessions. */
static void session(struct storm_thread *thread, const long *a)
{
    (void)thread;
    (void)a;
#ifdef MPI_SESSION_NULL
    enum { OPEN, COMM, USE, FREE, DISCONNECT, CLOSE };
    const int number = (int)a[1], untold = (int)a[3];
    switch (a[0]) {
    case OPEN:
        IN_SESSION(Session_init, (MPI_INFO_NULL, MPI_ERRORS_RETURN, &sessions[number].session));
        break;
    case COMM:
        session_comm(number, untold);
        break;
    case USE:
        session_use(number, (int)a[2], untold);
        break;
    case FREE:
        IN_SESSION(Comm_free, (&sessions[number].comm));
        break;
    case DISCONNECT:
        IN_SESSION(Comm_disconnect, (&sessions[number].comm));
        break;
    default:
        IN_SESSION(Session_finalize, (&sessions[number].session));
    }
#endif
}

const struct storm_action storm_lifecycle_actions[] = {
    {"session", session},   {"finalize_last", finalize_last},
    {"outside", outside},   {"init", init},
    {"setup", setup},       {"cleanup", cleanup},
    {"finalize", finalize}, {0}};
