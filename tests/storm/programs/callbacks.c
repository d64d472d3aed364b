/* SPDX-License-Identifier: MIT */
/*
 * Steps in which MPI calls functions of the program that make MPI calls themselves: callbacks for
 * attributes, error handlers, operators, and generalized requests.
 */
#include "program.h"

#include <setjmp.h>

static _Thread_local struct storm_thread *here;
/* How often each callback was called in the present step. `asked` has a bit for each callback of a
 * generalized request: 1: query; 2: release; 4: cancel. */
static _Thread_local int copied, deleted, raised, applied, asked;
static _Thread_local sigjmp_buf back;
static _Thread_local int leaves;

/* Makes MPI calls that are allowed in any callback. */
static void nested_calls(void)
{
    int rank = -1, flag = -1;
    OK(Comm_rank, (here->comm, &rank));
    CHECK(rank == storm_rank);
    OK(Initialized, (&flag));
    CHECK(M(Wtime, ()) >= 0);
}

static int copy(MPI_Comm comm, int key, void *extra, void *in, void *out, int *flag)
{
    (void)comm;
    (void)key;
    nested_calls();
    copied++;
    CHECK(extra == (void *)here);
    *(void **)out = (char *)in + 1;
    *flag = 1;
    return MPI_SUCCESS;
}

static int delete (MPI_Comm comm, int key, void *value, void *extra)
{
    (void)comm;
    (void)key;
    (void)value;
    CHECK(extra == (void *)here);
    nested_calls();
    deleted++;
    return MPI_SUCCESS;
}

static void attributes(struct storm_thread *thread, const long *a)
{
    static char place[64];
    MPI_Comm one, two;
    int key = MPI_KEYVAL_INVALID, flag = 0;
    char *value = NULL;
    here = thread;
    copied = deleted = 0;
    OK(Comm_create_keyval, (copy, delete, &key, thread));
    OK(Comm_dup, (thread->comm, &one));
    OK(Comm_set_attr, (one, key, place));
    OK(Comm_dup, (one, &two));
    OK(Comm_get_attr, (two, key, &value, &flag));
    CHECK(flag && value == place + 1 && copied == 1);
    if (a[0] % 2)
        OK(Comm_delete_attr, (two, key));
    OK(Comm_free, (&two));
    OK(Comm_free, (&one));
    CHECK(deleted == 2);
    OK(Comm_free_keyval, (&key));
}

static void on_error(MPI_Comm *comm, int *code, ...)
{
    int class = -1;
    OK(Error_class, (*code, &class));
    CHECK(class == MPI_ERR_RANK && *comm != MPI_COMM_NULL);
    nested_calls();
    raised++;
    if (leaves)
        siglongjmp(back, 1);
}

static void ignore(MPI_Comm *comm, int *code, ...)
{
    (void)comm;
    (void)code;
}

/* Returns the result of a failing MPI_Send whose error handler returns: the error or, in MPICH 5,
 * success. This function is not inlined into its caller, which calls sigsetjmp, because a jump
 * could change the variables of inlined code. */
static __attribute__((noinline)) int returned_by_send(MPI_Comm comm)
{
    MPI_Errhandler handler;
    int data = 1;
    PMPI_Comm_create_errhandler(ignore, &handler);
    PMPI_Comm_set_errhandler(comm, handler);
    const int error = PMPI_Send(&data, 1, MPI_INT, 4711, 0, comm);
    PMPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
    PMPI_Errhandler_free(&handler);
    return error;
}

/* a[0] % 3 is 0: MPI_Send to a wrong rank fails; 1: MPI_Comm_call_errhandler is called; 2: as 0,
 * but the handler leaves the call by longjmp, except with MPI_THREAD_MULTIPLE, because MPI may then
 * hold a lock. */
static void errors(struct storm_thread *thread, const long *a)
{
    MPI_Errhandler handler;
    struct storm_caller *caller = storm_caller(), before = *caller;
    int data = 1, error = MPI_SUCCESS;
    here = thread;
    raised = 0;
    leaves = a[0] % 3 == 2 && storm_level != MPI_THREAD_MULTIPLE;
    storm_add(&storm->untold[STORM_Send], (uint64_t)leaves);
    OK(Comm_create_errhandler, (on_error, &handler));
    OK(Comm_set_errhandler, (thread->comm, handler));
    if (sigsetjmp(back, 0) == 0) {
        if (a[0] % 3 == 1)
            error = M(Comm_call_errhandler, (thread->comm, MPI_ERR_RANK));
        else
            error = M(Send, (&data, 1, MPI_INT, 4711, 0, thread->comm));
        CHECK(a[0] % 3 == 1 || error != MPI_SUCCESS ||
              returned_by_send(thread->comm) == MPI_SUCCESS);
    }
    *caller = before;
    CHECK(raised == 1);
    OK(Comm_set_errhandler, (thread->comm, MPI_ERRORS_RETURN));
    OK(Errhandler_free, (&handler));
}

static void apply(void *in, void *inout, int *length, MPI_Datatype *type)
{
    CHECK(*type == MPI_INT);
    nested_calls();
    applied++;
    for (int i = 0; i < *length; i++)
        ((int *)inout)[i] += 2 * ((int *)in)[i];
}

static void operators(struct storm_thread *thread, const long *a)
{
    MPI_Op op;
    int in[3] = {1, 2, (int)a[0]}, out[3] = {10, 20, 30}, commutes = -1;
    here = thread;
    applied = 0;
    OK(Op_create, (apply, 1, &op));
    OK(Op_commutative, (op, &commutes));
    OK(Reduce_local, (in, out, 3, MPI_INT, op));
    CHECK(commutes == 1 && applied == 1 && out[1] == 24 && out[2] == 30 + 2 * (int)a[0]);
    OK(Allreduce, (in, out, 3, MPI_INT, op, thread->comm));
    CHECK(storm_size > 1 || out[1] == 2);
    OK(Op_free, (&op));
}

static int query(void *extra, MPI_Status *status)
{
    CHECK(extra == (void *)here);
    nested_calls();
    asked |= 1;
    OK(Status_set_elements, (status, MPI_INT, 7));
    OK(Status_set_cancelled, (status, 0));
    return MPI_SUCCESS;
}

static int release(void *extra)
{
    CHECK(extra == (void *)here);
    nested_calls();
    asked |= 2;
    return MPI_SUCCESS;
}

static int cancel(void *extra, int complete)
{
    (void)extra;
    (void)complete;
    nested_calls();
    asked |= 4;
    return MPI_SUCCESS;
}

static void general_requests(struct storm_thread *thread, const long *a)
{
    MPI_Request request;
    MPI_Status status;
    int count = -1;
    here = thread;
    asked = 0;
    OK(Grequest_start, (query, release, cancel, thread, &request));
    if (a[0] % 2)
        OK(Cancel, (&request));
    OK(Grequest_complete, (request));
    OK(Wait, (&request, &status));
    OK(Get_count, (&status, MPI_INT, &count));
    CHECK(count == 7 && asked == (a[0] % 2 ? 7 : 3));
}

const struct storm_action storm_callback_actions[] = {{"attributes", attributes},
                                                      {"errors", errors},
                                                      {"operators", operators},
                                                      {"general_requests", general_requests},
                                                      {0}};
