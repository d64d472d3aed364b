/* SPDX-License-Identifier: MIT */
/*
 * An application with errors: `faults HANDLER HOW STEP...`. HANDLER is `fatal`, `return` or `own`,
 * and is set on all objects except the session, which always has a handler of its own. HOW is `bad`
 * (most steps cause an error) or `good` (only `null` and, without MPICH, `information` cause one,
 * so that all other errors come from a tool). The program prints what it notices. Equal errors lead
 * to equal lines.
 */
#include <mpi.h>
#include <setjmp.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static MPI_Comm comm;
static MPI_Win window;
static MPI_File file;
static int bad, data[32], jumps;
static jmp_buf jump;

static void handled(const char *where, int code)
{
    int class, size;
    MPI_Error_class(code, &class);
    MPI_Comm_size(MPI_COMM_WORLD, &size); /* a handler may call MPI */
    printf("  handler: %s, class %d\n", where, class);
    if (jumps)
        longjmp(jump, 1);
}

static void on_comm(MPI_Comm *where, int *code, ...)
{
    handled(*where == comm             ? "communicator"
            : *where == MPI_COMM_WORLD ? "MPI_COMM_WORLD"
            : *where == MPI_COMM_SELF  ? "MPI_COMM_SELF"
                                       : "unknown",
            *code);
}

static void on_window(MPI_Win *where, int *code, ...)
{
    handled(*where == window ? "window" : "unknown window", *code);
}

static void on_file(MPI_File *where, int *code, ...)
{
    handled(*where == MPI_FILE_NULL ? "MPI_FILE_NULL"
            : *where == file        ? "file"
                                    : "unknown file",
            *code);
}

#ifdef MPI_SESSION_NULL
static void on_session(MPI_Session *where, int *code, ...)
{
    handled(*where == MPI_SESSION_NULL ? "no session" : "session", *code);
}
#endif

static int class_of(int code)
{
    int class = -1;
    MPI_Error_class(code, &class);
    return class;
}

/* ---- Steps: those with a single call return its result --------------------------------------- */

static int do_send(void)
{
    return MPI_Send(data, 1, MPI_INT, bad ? 99 : MPI_PROC_NULL, 0, comm);
}

static int do_bcast(void)
{
    return MPI_Bcast(data, 1, MPI_INT, bad ? 99 : 0, comm);
}

static int do_isend(void)
{
    MPI_Request request = MPI_REQUEST_NULL;
    const int code = MPI_Isend(data, 1, MPI_INT, bad ? 99 : MPI_PROC_NULL, 0, comm, &request);
    if (code == MPI_SUCCESS)
        MPI_Wait(&request, MPI_STATUS_IGNORE);
    return code;
}

/* Whether the receive of a message to this process is posted after the send, as with Open MPI: if
 * the receive is already posted, Open MPI truncates the message without an error. */
static bool receives_last;

static void ask_library(void)
{
    char version[MPI_MAX_LIBRARY_VERSION_STRING];
    int length;
    MPI_Get_library_version(version, &length);
    receives_last = strstr(version, "Open MPI") != NULL;
}

/* Sends four words to this process. In a bad step, the receive takes only three of them. */
static void exchange(MPI_Request requests[2])
{
    if (receives_last)
        MPI_Isend(data, 4, MPI_INT, 0, 1, comm, &requests[1]);
    MPI_Irecv(data + 8, bad ? 3 : 4, MPI_INT, 0, 1, comm, &requests[0]);
    if (!receives_last)
        MPI_Isend(data, 4, MPI_INT, 0, 1, comm, &requests[1]);
}

static int finish(int code, MPI_Request requests[2])
{
    for (int i = 0; i < 2; i++) /* the failed call may have left the requests incomplete */
        PMPI_Wait(&requests[i], MPI_STATUS_IGNORE);
    return code;
}

static int do_wait(void)
{
    MPI_Request requests[2];
    exchange(requests);
    return finish(MPI_Wait(&requests[0], MPI_STATUS_IGNORE), requests);
}

static int do_test(void)
{
    MPI_Request requests[2];
    int flag = 0, code = MPI_SUCCESS;
    exchange(requests);
    while (!flag && code == MPI_SUCCESS)
        code = MPI_Test(&requests[0], &flag, MPI_STATUS_IGNORE);
    return finish(code, requests);
}

static int do_start(void)
{
    MPI_Request requests[2];
    MPI_Recv_init(data + 8, bad ? 3 : 4, MPI_INT, 0, 1, comm, &requests[0]);
    if (receives_last)
        MPI_Isend(data, 4, MPI_INT, 0, 1, comm, &requests[1]);
    MPI_Start(&requests[0]);
    if (!receives_last)
        MPI_Isend(data, 4, MPI_INT, 0, 1, comm, &requests[1]);
    const int code = MPI_Wait(&requests[0], MPI_STATUS_IGNORE);
    if (requests[0] != MPI_REQUEST_NULL) /* in Open MPI, the failed call frees the request */
        MPI_Request_free(&requests[0]);
    PMPI_Wait(&requests[1], MPI_STATUS_IGNORE);
    return code;
}

/* Prints the status of the receive. That of the send is not printed, because the send may be
 * complete or pending. */
static void print_status(const MPI_Status *status)
{
    printf("  status: class %d\n", class_of(status->MPI_ERROR));
}

static int do_waitall(void)
{
    MPI_Request requests[2];
    MPI_Status statuses[2];
    exchange(requests);
    const int code = MPI_Waitall(2, requests, statuses);
    if (code == MPI_ERR_IN_STATUS)
        print_status(&statuses[0]);
    return finish(code, requests);
}

static int do_waitany(void)
{
    MPI_Request requests[2];
    int index;
    exchange(requests);
    return finish(MPI_Waitany(1, requests, &index, MPI_STATUS_IGNORE), requests);
}

static int do_testany(void)
{
    MPI_Request requests[2];
    int index, flag = 0, code = MPI_SUCCESS;
    exchange(requests);
    while (!flag && code == MPI_SUCCESS)
        code = MPI_Testany(1, requests, &index, &flag, MPI_STATUS_IGNORE);
    return finish(code, requests);
}

static int do_cancel(void)
{
    MPI_Request request = MPI_REQUEST_NULL;
    if (!bad)
        MPI_Irecv(data, 1, MPI_INT, 0, 2, comm, &request);
    const int code = MPI_Cancel(&request);
    if (request != MPI_REQUEST_NULL) {
        PMPI_Cancel(&request);
        PMPI_Wait(&request, MPI_STATUS_IGNORE);
    }
    return code;
}

static int do_waitall_ignore(void)
{
    MPI_Request requests[2];
    exchange(requests);
    return finish(MPI_Waitall(2, requests, MPI_STATUSES_IGNORE), requests);
}

/* Waits until both requests are complete, and prints the status of the receive if it failed. */
static int do_some(int tests)
{
    MPI_Request requests[2];
    MPI_Status statuses[2];
    int indices[2], count = 0, code = MPI_SUCCESS, worst = MPI_SUCCESS;
    exchange(requests);
    while (count != MPI_UNDEFINED) {
        code = tests ? MPI_Testsome(2, requests, &count, indices, statuses)
                     : MPI_Waitsome(2, requests, &count, indices, statuses);
        for (int i = 0; code == MPI_ERR_IN_STATUS && i < count; i++) {
            if (indices[i] == 0)
                print_status(&statuses[i]);
        }
        worst = code == MPI_SUCCESS ? worst : code;
    }
    return worst;
}

static int do_waitsome(void)
{
    return do_some(0);
}

static int do_testsome(void)
{
    return do_some(1);
}

static int do_testall(void)
{
    MPI_Request requests[2];
    MPI_Status statuses[2];
    int flag = 0, code = MPI_SUCCESS;
    exchange(requests);
    while (!flag && code == MPI_SUCCESS)
        code = MPI_Testall(2, requests, &flag, statuses);
    if (code == MPI_ERR_IN_STATUS)
        print_status(&statuses[0]);
    return finish(code, requests);
}

static int do_mrecv(void)
{
    MPI_Request request;
    MPI_Message message;
    MPI_Isend(data, 4, MPI_INT, 0, 1, comm, &request);
    MPI_Mprobe(0, 1, comm, &message, MPI_STATUS_IGNORE);
    const int code = MPI_Mrecv(data + 8, bad ? 3 : 4, MPI_INT, &message, MPI_STATUS_IGNORE);
    PMPI_Wait(&request, MPI_STATUS_IGNORE);
    return code;
}

static int do_type(void)
{
    int size;
    return MPI_Type_size(bad ? MPI_DATATYPE_NULL : MPI_INT, &size);
}

static int do_group(void)
{
    MPI_Group all, none;
    int rank = bad ? 99 : 0;
    MPI_Comm_group(comm, &all);
    const int code = MPI_Group_incl(all, 1, &rank, &none);
    MPI_Group_free(&all);
    return code;
}

static int do_put(void)
{
    return MPI_Put(data, 1, MPI_INT, bad ? 99 : MPI_PROC_NULL, 0, 1, MPI_INT, window);
}

static int do_seek(void)
{
    return MPI_File_seek(file, bad ? -5 : 0, MPI_SEEK_SET);
}

static int do_open(void)
{
    MPI_File other;
    return MPI_File_open(comm, bad ? "no-such-file" : "faults.data", MPI_MODE_RDONLY, MPI_INFO_NULL,
                         &other);
}

/* A request remains valid when the handle of its communicator is freed. */
static int do_freed(void)
{
    MPI_Comm other;
    MPI_Request request;
    MPI_Comm_dup(MPI_COMM_SELF, &other);
    MPI_Irecv(data, 1, MPI_INT, MPI_PROC_NULL, 0, other, &request);
    MPI_Comm_free(&other);
    const int code = MPI_Wait(&request, MPI_STATUS_IGNORE);
    PMPI_Wait(&request, MPI_STATUS_IGNORE);
    return code;
}

static int do_null(void)
{
    return MPI_Ssend(data, 1, MPI_INT, MPI_PROC_NULL, 0, MPI_COMM_NULL);
}

/* Repeats a call, and writes the results to a file for each rank, because a launcher may mix the
 * output of ranks. */
static int do_many(void)
{
    char name[4096];
    int mine = 0;
    PMPI_Comm_rank(MPI_COMM_WORLD, &mine);
    snprintf(name, sizeof name, "%s.%d", getenv("FAULTS_MANY"), mine);
    FILE *lines = fopen(name, "w");
    for (int i = 0; lines && i < 100; i++) {
        int rank;
        putc(MPI_Comm_rank(comm, &rank) == MPI_SUCCESS ? '.' : 'x', lines);
    }
    if (lines)
        fclose(lines);
    return MPI_SUCCESS;
}

/* The handler does not return, and the next call must work like the first one. */
static int do_jump(void)
{
    volatile int times = 0;
    jumps = 1;
    setjmp(jump);
    if (times++ < 3)
        MPI_Send(data, 1, MPI_INT, bad ? 99 : MPI_PROC_NULL, 0, comm);
    jumps = 0;
    return MPI_SUCCESS;
}

#ifdef MPI_SESSION_NULL
static int do_session(void)
{
    MPI_Session session;
    MPI_Errhandler errhandler;
    int count;
    MPI_Session_create_errhandler(on_session, &errhandler);
    MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_RETURN, &session);
    MPI_Session_set_errhandler(session, errhandler);
    const int code = MPI_Session_get_num_psets(session, MPI_INFO_NULL, &count);
    MPI_Session_finalize(&session);
    MPI_Errhandler_free(&errhandler);
    return code;
}
#endif

static int do_information(void)
{
    int provided, index, code;
    code = MPI_T_init_thread(MPI_THREAD_SINGLE, &provided);
    if (code == MPI_SUCCESS) {
        code = MPI_T_cvar_get_index(bad ? "no such variable" : "MPIR_CVAR_BCAST_MIN_PROCS", &index);
        MPI_T_finalize();
    }
    return code;
}

static void compute(double seconds)
{
    const double start = PMPI_Wtime();
    while (PMPI_Wtime() - start < seconds)
        ;
}

/* Prints the duration of ten calls with 5 ms of computation before each. */
static int do_timed(void)
{
    const double start = PMPI_Wtime();
    for (int i = 0; i < 10; i++) {
        compute(0.005);
        MPI_Barrier(comm);
    }
    printf("  seconds %.6f\n", PMPI_Wtime() - start);
    return MPI_SUCCESS;
}

static int do_wtime(void)
{
    return MPI_Wtime() > 0 ? MPI_SUCCESS : MPI_ERR_OTHER;
}

/* Rank 0 aborts its own communicator; the others wait until they are killed. */
static int do_abort(void)
{
    int rank = 0;
    PMPI_Comm_rank(MPI_COMM_WORLD, &rank);
    if (rank != 0)
        PMPI_Barrier(MPI_COMM_WORLD);
    return MPI_Abort(comm, 37);
}

static const struct step {
    const char *name;
    int (*run)(void);
} steps[] = {
    {"send", do_send},
    {"bcast", do_bcast},
    {"isend", do_isend},
    {"wait", do_wait},
    {"test", do_test},
    {"start", do_start},
    {"waitall", do_waitall},
    {"waitany", do_waitany},
    {"testany", do_testany},
    {"cancel", do_cancel},
    {"waitall_ignore", do_waitall_ignore},
    {"waitsome", do_waitsome},
    {"testsome", do_testsome},
    {"testall", do_testall},
    {"mrecv", do_mrecv},
    {"type", do_type},
    {"group", do_group},
    {"put", do_put},
    {"seek", do_seek},
    {"open", do_open},
    {"freed", do_freed},
    {"null", do_null},
    {"many", do_many},
    {"jump", do_jump},
#ifdef MPI_SESSION_NULL
    {"session", do_session},
#endif
    {"information", do_information},
    {"timed", do_timed},
    {"wtime", do_wtime},
    {"abort", do_abort},
};

static void run(const char *name)
{
    for (size_t i = 0; i < sizeof steps / sizeof *steps; i++) {
        if (strcmp(name, steps[i].name) != 0)
            continue;
        printf("%s\n", name);
        const int code = steps[i].run();
        printf("  returned class %d\n", class_of(code));
        fflush(stdout);
        return;
    }
    exit(99);
}

static void set_handlers(const char *how)
{
    MPI_Errhandler for_comm = MPI_ERRORS_RETURN, for_window = MPI_ERRORS_RETURN,
                   for_file = MPI_ERRORS_RETURN;
    if (!strcmp(how, "own")) {
        MPI_Comm_create_errhandler(on_comm, &for_comm);
        MPI_Win_create_errhandler(on_window, &for_window);
        MPI_File_create_errhandler(on_file, &for_file);
    } else if (!strcmp(how, "fatal")) {
        for_comm = for_window = for_file = MPI_ERRORS_ARE_FATAL;
    }
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, for_comm);
    MPI_Comm_set_errhandler(MPI_COMM_SELF, for_comm);
    MPI_Comm_set_errhandler(comm, for_comm);
    MPI_Win_set_errhandler(window, for_window);
    MPI_File_set_errhandler(file, for_file);
    MPI_File_set_errhandler(MPI_FILE_NULL, for_file);
}

int main(int argc, char **argv)
{
    if (argc < 3)
        return 99;
    MPI_Init(&argc, &argv);
    MPI_Comm_dup(MPI_COMM_SELF, &comm);
    MPI_Win_create(data, sizeof data, 1, MPI_INFO_NULL, comm, &window);
    MPI_Win_fence(0, window);
    MPI_File_open(comm, "faults.data", MPI_MODE_RDWR | MPI_MODE_CREATE, MPI_INFO_NULL, &file);
    bad = !strcmp(argv[2], "bad");
    ask_library();
    set_handlers(argv[1]);
    for (int i = 3; i < argc; i++)
        run(argv[i]);
    MPI_Win_fence(0, window);
    MPI_Win_free(&window);
    MPI_File_close(&file);
    MPI_Comm_free(&comm);
    MPI_Finalize();
    return 0;
}
