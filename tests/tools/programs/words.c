/* SPDX-License-Identifier: MIT */
/*
 * An application of one process whose calls have arguments of many kinds. Apart from addresses and
 * handles, the arguments are the same in each run, so that the lines of a log are known. `words
 * PART [FILE]` runs one part; the part windows_and_files uses the file.
 */
#define _GNU_SOURCE
#include <mpi.h>
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <ucontext.h>

#define WORLD MPI_COMM_WORLD

static void sum(void *in, void *inout, int *count, MPI_Datatype *type)
{
    (void)in;
    (void)inout;
    (void)count;
    (void)type;
}

static void point_to_point(void)
{
    int out[4] = {0}, in[8] = {0}, flag, index, done, indices[3];
    MPI_Request requests[3];
    MPI_Status status, statuses[3];
    MPI_Message message;
    MPI_Isend(out, 4, MPI_INT, 0, 7, WORLD, &requests[0]);
    MPI_Recv(in, 8, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, WORLD, &status);
    MPI_Wait(&requests[0], MPI_STATUS_IGNORE);
    MPI_Sendrecv(out, 3, MPI_INT, 0, 1, in, 24, MPI_BYTE, 0, 1, WORLD, &status);
    MPI_Iprobe(0, 5, WORLD, &flag, &status);
    MPI_Isend(out, 2, MPI_DOUBLE, 0, 9, WORLD, &requests[0]);
    MPI_Mprobe(0, 9, WORLD, &message, &status);
    MPI_Mrecv(in, 2, MPI_DOUBLE, &message, &status);
    requests[1] = requests[2] = MPI_REQUEST_NULL;
    MPI_Waitall(1, requests, MPI_STATUSES_IGNORE);
    MPI_Waitany(2, requests, &index, &status);
    MPI_Irecv(in, 1, MPI_INT, 0, 3, WORLD, &requests[0]);
    MPI_Irecv(in, 1, MPI_INT, 0, 3, WORLD, &requests[1]);
    MPI_Test(&requests[0], &flag, &status);
    MPI_Testany(2, requests, &index, &flag, &status);
    MPI_Send(out, 1, MPI_INT, 0, 3, WORLD);
    MPI_Waitsome(3, requests, &done, indices, statuses);
    MPI_Cancel(&requests[1]);
    MPI_Wait(&requests[1], &status);
    MPI_Send(NULL, 0, MPI_BYTE, MPI_PROC_NULL, 0, WORLD);
}

static void collectives(void)
{
    enum { MANY = 20 };
    int out[4] = {0}, in[4] = {0}, counts[] = {1}, places[] = {0}, sizes[MANY], values[MANY];
    MPI_Datatype types[] = {MPI_INT}, type;
    MPI_Op op;
    MPI_Comm comm;
    MPI_Allreduce(MPI_IN_PLACE, in, 2, MPI_FLOAT, MPI_MAX, WORLD);
    MPI_Alltoallw(out, counts, places, types, in, counts, places, types, WORLD);
    MPI_Gatherv(out, 1, MPI_INT, in, counts, places, MPI_INT, 0, WORLD);
    MPI_Op_create(sum, 1, &op);
    MPI_Reduce(out, in, 1, MPI_INT, op, 0, WORLD);
    MPI_Op_free(&op);
    MPI_Comm_split(WORLD, MPI_UNDEFINED, 0, &comm);
    MPI_Comm_dup(WORLD, &comm);
    MPI_Comm_set_name(comm, "rows \"1\"\n");
    MPI_Barrier(comm);
    MPI_Comm_free(&comm);
    for (int i = 0; i < MANY; i++)
        sizes[i] = 1, values[i] = i * 2;
    MPI_Type_indexed(MANY, sizes, values, MPI_INT, &type);
    MPI_Type_set_name(type, "sieve");
    MPI_Type_commit(&type);
    MPI_Bcast(MPI_BOTTOM, 0, type, 0, WORLD);
    MPI_Type_free(&type);
}

static void objects(void)
{
    int dims[2] = {0, 0}, periods[] = {1, 0}, coords[2], source, destination, combiner, integers,
        addresses, types, contents[2], result, flag, ranges[1][3] = {{0, 0, 1}}, ranks[1] = {0},
        other[1], keyval, position = 0, data = 0;
    char packed[64];
    MPI_Comm cart;
    MPI_Group group, part;
    MPI_Datatype type, inner[1];
    MPI_Aint places[1];
    MPI_Info info;
    void *value;
    MPI_Dims_create(1, 2, dims);
    MPI_Cart_create(WORLD, 2, dims, periods, 1, &cart);
    MPI_Cart_coords(cart, 0, 2, coords);
    MPI_Cart_shift(cart, 1, 1, &source, &destination);
    MPI_Topo_test(cart, &result);
    MPI_Comm_compare(cart, WORLD, &result);
    MPI_Comm_free(&cart);
    MPI_Comm_group(WORLD, &group);
    MPI_Group_range_incl(group, 1, ranges, &part);
    MPI_Group_translate_ranks(group, 1, ranks, part, other);
    MPI_Group_free(&part);
    MPI_Group_free(&group);
    MPI_Type_contiguous(3, MPI_LONG, &type);
    MPI_Type_get_envelope(type, &integers, &addresses, &types, &combiner);
    MPI_Type_get_contents(type, 2, 1, 1, contents, places, inner);
    MPI_Type_free(&type);
    MPI_Pack(&data, 1, MPI_INT, packed, 64, &position, WORLD);
    MPI_Comm_get_attr(WORLD, MPI_WTIME_IS_GLOBAL, (void *)&value, &flag);
    MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, MPI_COMM_NULL_DELETE_FN, &keyval, NULL);
    MPI_Comm_get_attr(WORLD, keyval, (void *)&value, &flag);
    MPI_Comm_free_keyval(&keyval);
    MPI_Info_create(&info);
    MPI_Info_set(info, "key", "value");
    MPI_Info_get(info, "none", 63, packed, &flag);
    MPI_Info_get(info, "key", 63, packed, &flag);
    MPI_Info_free(&info);
    MPI_Query_thread(&flag);
    (void)MPI_Aint_add(40, 2); /* in Open MPI, this is a macro and makes no call */
}

static void windows_and_files(const char *name)
{
    int data[4] = {0};
    MPI_Win window;
    MPI_File file;
    MPI_Status status;
    MPI_Win_create(data, 16, 4, MPI_INFO_NULL, WORLD, &window);
    MPI_Win_set_name(window, "halo");
    MPI_Win_fence(MPI_MODE_NOPRECEDE | MPI_MODE_NOSTORE, window);
    MPI_Win_fence(0, window);
    MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 0, MPI_MODE_NOCHECK, window);
    MPI_Win_unlock(0, window);
    MPI_Win_free(&window);
    MPI_File_open(MPI_COMM_SELF, name, MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL, &file);
    MPI_File_write_at(file, 8, data, 4, MPI_INT, &status);
    MPI_File_seek(file, 0, MPI_SEEK_END);
    MPI_File_close(&file);
}

/* Calls that fail, and a call of MPI_Send that succeeds. */
static void wrong(void)
{
    int out = 0, in = 0, rank;
    MPI_Comm_set_errhandler(WORLD, MPI_ERRORS_RETURN);
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
    MPI_Send(&out, 1, MPI_INT, 5, 0, WORLD);
    MPI_Comm_rank(WORLD, NULL);
    MPI_Comm_rank(MPI_COMM_NULL, &rank);
    MPI_Send(&out, 1, MPI_INT, MPI_PROC_NULL, 0, WORLD);
    MPI_Recv(&in, -1, MPI_INT, 0, 0, WORLD, MPI_STATUS_IGNORE);
}

/* Passes arguments at which the MPI library faults when it reads them. */
static void wild(void)
{
    int *volatile nowhere = (int *)0x10;
    int *there = nowhere, in[4] = {0};
    MPI_Alltoallv(in, there, there, MPI_INT, in, there, there, MPI_INT, WORLD);
}

static void wild_requests(void)
{
    MPI_Request *volatile nowhere = (MPI_Request *)0x10;
    MPI_Waitall(1000000, nowhere, MPI_STATUSES_IGNORE);
}

static void truncated(void)
{
    int out[4] = {0}, in = 0;
    MPI_Request requests[2];
    MPI_Status statuses[2];
    MPI_Comm_set_errhandler(WORLD, MPI_ERRORS_RETURN);
    /* This order is necessary: if the receive is posted first, Open MPI truncates the message
     * without an error. */
    MPI_Isend(out, 4, MPI_INT, 0, 1, WORLD, &requests[1]);
    MPI_Irecv(&in, 1, MPI_INT, 0, 1, WORLD, &requests[0]);
    MPI_Waitall(2, requests, statuses);
}

static void fatal(void)
{
    int out = 0;
    MPI_Send(&out, 1, MPI_INT, 5, 0, WORLD);
}

static void tools(void)
{
    char name[64] = "", text[1];
    int length = sizeof name, none = 0, verbosity, bind, scope, count = 0, provided;
    MPI_Datatype type;
    MPI_T_enum enumeration;
    MPI_T_init_thread(MPI_THREAD_SINGLE, &provided);
    MPI_T_cvar_get_num(&count);
    MPI_T_cvar_get_info(0, name, &length, &verbosity, &type, &enumeration, text, &none, &bind,
                        &scope);
    MPI_T_finalize();
    MPI_Pcontrol(1, "region");
}

static jmp_buf place;

/* Leaves a call by a jump. */
static void jump(MPI_Comm *comm, int *code, ...)
{
    (void)comm;
    (void)code;
    longjmp(place, 1);
}

static void jumps(void)
{
    int rank, out = 0;
    MPI_Errhandler handler;
    MPI_Comm comm;
    MPI_Comm_dup(WORLD, &comm);
    MPI_Comm_create_errhandler(jump, &handler);
    MPI_Comm_set_errhandler(comm, handler);
    if (!setjmp(place))
        MPI_Send(&out, 1, MPI_INT, 5, 0, comm);
    MPI_Comm_rank(WORLD, &rank);
}

/* Makes invalid calls, whose error handler is `handle`, on a duplicate of MPI_COMM_WORLD. */
static void fail_twice(MPI_Comm_errhandler_function *handle)
{
    int out = 0;
    MPI_Errhandler handler;
    MPI_Comm comm;
    MPI_Comm_dup(WORLD, &comm);
    MPI_Comm_create_errhandler(handle, &handler);
    MPI_Comm_set_errhandler(comm, handler);
    for (int i = 0; i < 2; i++)
        MPI_Send(&out, 1, MPI_INT, 5, 0, comm);
}

static void on_signal(int number)
{
    (void)number;
    MPI_Barrier(MPI_COMM_SELF);
}

static void raise_signal(MPI_Comm *comm, int *code, ...)
{
    (void)comm;
    (void)code;
    raise(SIGUSR2);
}

/* Runs a signal handler within calls, on an array of an outer function. */
static void signal_stack(void)
{
    char memory[1 << 18];
    const stack_t stack = {.ss_sp = memory, .ss_size = sizeof memory};
    const stack_t none = {.ss_flags = SS_DISABLE};
    const struct sigaction action = {.sa_handler = on_signal, .sa_flags = SA_ONSTACK};
    sigaltstack(&stack, NULL);
    sigaction(SIGUSR2, &action, NULL);
    fail_twice(raise_signal);
    sigaltstack(&none, NULL);
}

static ucontext_t thread_context, coroutine_context;

static void run_coroutine(void)
{
    for (;;) {
        MPI_Barrier(MPI_COMM_SELF);
        swapcontext(&coroutine_context, &thread_context);
    }
}

static void switch_stack(MPI_Comm *comm, int *code, ...)
{
    (void)comm;
    (void)code;
    swapcontext(&thread_context, &coroutine_context);
}

/* Runs a coroutine within calls, on an array of an outer function. */
static void coroutine(void)
{
    char memory[1 << 18];
    getcontext(&coroutine_context);
    coroutine_context.uc_stack.ss_sp = memory;
    coroutine_context.uc_stack.ss_size = sizeof memory;
    coroutine_context.uc_link = NULL;
    makecontext(&coroutine_context, run_coroutine, 0);
    fail_twice(switch_stack);
}

int main(int argc, char **argv)
{
    static const struct {
        const char *name;
        void (*run)(void);
    } parts[] = {{"point_to_point", point_to_point},
                 {"collectives", collectives},
                 {"objects", objects},
                 {"wrong", wrong},
                 {"truncated", truncated},
                 {"fatal", fatal},
                 {"tools", tools},
                 {"wild", wild},
                 {"wild_requests", wild_requests},
                 {"jumps", jumps},
                 {"signal_stack", signal_stack},
                 {"coroutine", coroutine}};
    const char *part = argc > 1 ? argv[1] : "";
    MPI_Init(NULL, NULL);
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
        if (!strcmp(parts[i].name, part))
            parts[i].run();
    }
    if (!strcmp(part, "windows_and_files") && argc > 2)
        windows_and_files(argv[2]);
    MPI_Finalize();
    return 0;
}
