/* SPDX-License-Identifier: MIT */
/*
 * One process makes calls with handles that are null, were freed, or are of the wrong kind, and
 * with numbers that are no error codes. It also sends itself messages of types that were made by
 * functions for large counts. `count` makes all calls, with an error handler that counts, and
 * prints the results and how often the handler was called. `fatal NAME…` makes the calls with these
 * names, with the default error handlers, which end the job.
 */
#include <mpi.h>
#include <stdio.h>
#include <string.h>

static int handled, numbers[8];
static MPI_Comm comm;

static void handle(MPI_Comm *handle_of, int *code, ...)
{
    (void)handle_of;
    (void)code;
    handled++;
}

/* The message of a step has the tag 1. In most steps, the other end of the message is a PMPI call,
 * which tools do not see. */
static int send_nothing(void)
{
    MPI_Request request;
    PMPI_Irecv(numbers, 1, MPI_INT, 0, 1, comm, &request);
    const int error = MPI_Send(NULL, 0, MPI_DATATYPE_NULL, 0, 1, comm);
    PMPI_Cancel(&request);
    PMPI_Wait(&request, MPI_STATUS_IGNORE);
    return error;
}

/* Every MPI library accepts this call, even if it accepts none of the others. */
static int send_something(void)
{
    MPI_Request request;
    PMPI_Irecv(numbers, 1, MPI_INT, 0, 1, comm, &request);
    const int error = MPI_Send(numbers + 1, 1, MPI_INT, 0, 1, comm);
    PMPI_Wait(&request, MPI_STATUS_IGNORE);
    return error;
}

/* The second time, tools already know the call site. */
static int send_nothing_twice(void)
{
    int error = MPI_SUCCESS;
    for (int i = 0; i < 2 && error == MPI_SUCCESS; i++) {
        MPI_Request request;
        PMPI_Irecv(numbers, 1, MPI_INT, 0, 1, comm, &request);
        error = MPI_Send(NULL, 0, MPI_DATATYPE_NULL, 0, 1, comm);
        PMPI_Cancel(&request);
        PMPI_Wait(&request, MPI_STATUS_IGNORE);
    }
    return error;
}

static int receive_nothing(void)
{
    MPI_Request request;
    MPI_Status status;
    PMPI_Isend(NULL, 0, MPI_INT, 0, 1, comm, &request);
    const int error = MPI_Recv(NULL, 0, MPI_DATATYPE_NULL, 0, 1, comm, &status);
    if (error != MPI_SUCCESS)
        PMPI_Recv(NULL, 0, MPI_INT, 0, 1, comm, MPI_STATUS_IGNORE);
    PMPI_Wait(&request, MPI_STATUS_IGNORE);
    return error;
}

static int exchange_nothing(void)
{
    MPI_Status status;
    return MPI_Sendrecv(NULL, 0, MPI_DATATYPE_NULL, 0, 1, NULL, 0, MPI_DATATYPE_NULL, 0, 1, comm,
                        &status);
}

static int start_nothing(void)
{
    MPI_Request requests[2] = {MPI_REQUEST_NULL, MPI_REQUEST_NULL};
    MPI_Status statuses[2];
    int error = MPI_Recv_init(NULL, 0, MPI_DATATYPE_NULL, 0, 1, comm, &requests[0]);
    if (error == MPI_SUCCESS)
        error = MPI_Ssend_init(NULL, 0, MPI_DATATYPE_NULL, 0, 1, comm, &requests[1]);
    if (error == MPI_SUCCESS)
        error = MPI_Startall(2, requests);
    if (error == MPI_SUCCESS)
        error = MPI_Waitall(2, requests, statuses);
    for (int i = 0; i < 2; i++) {
        if (requests[i] != MPI_REQUEST_NULL)
            PMPI_Request_free(&requests[i]);
    }
    return error;
}

static int broadcast_nothing(void)
{
    return MPI_Bcast(NULL, 0, MPI_DATATYPE_NULL, 0, comm);
}

static int exchange_nothing_with_all(void)
{
    const int zero = 0;
    const MPI_Datatype null = MPI_DATATYPE_NULL;
    return MPI_Alltoallw(numbers, &zero, &zero, &null, numbers + 4, &zero, &zero, &null, comm);
}

static int send_of_null_comm(void)
{
    return MPI_Send(numbers, 1, MPI_INT, 0, 1, MPI_COMM_NULL);
}

static int reduce_of_null_comm(void)
{
    return MPI_Allreduce(numbers, numbers + 1, 1, MPI_INT, MPI_SUM, MPI_COMM_NULL);
}

static int neighbors_of_no_graph(void)
{
    int neighbors[2];
    return MPI_Graph_neighbors(comm, 0, 2, neighbors);
}

static int contents_of_null_type(void)
{
    int integers[2];
    MPI_Aint addresses[2];
    MPI_Datatype types[2];
    return MPI_Type_get_contents(MPI_DATATYPE_NULL, 2, 2, 2, integers, addresses, types);
}

static int class_of_no_code(void)
{
    int class;
    return MPI_Error_class(123456, &class);
}

static int copy(MPI_Comm old, int keyval, void *state, void *value, void *result, int *flag)
{
    (void)old;
    (void)keyval;
    (void)state;
    (void)value;
    (void)result;
    *flag = 0;
    return 123456; /* this is not an error code of MPI */
}

static int duplicate_with_error_of_callback(void)
{
    int keyval;
    MPI_Comm made = MPI_COMM_NULL;
    PMPI_Comm_create_keyval(copy, MPI_COMM_NULL_DELETE_FN, &keyval, NULL);
    PMPI_Comm_set_attr(comm, keyval, NULL);
    const int error = MPI_Comm_dup(comm, &made);
    if (error == MPI_SUCCESS)
        PMPI_Comm_free(&made);
    PMPI_Comm_delete_attr(comm, keyval);
    PMPI_Comm_free_keyval(&keyval);
    return error != MPI_SUCCESS;
}

#ifdef MPICH_VERSION
/* In Open MPI, a handle is an address. After the object is freed, no call may use the memory there,
 * so these steps exist only with MPICH. */
static int barrier_of_freed_comm(void)
{
    MPI_Comm several[3], freed;
    for (int i = 0; i < 3; i++)
        PMPI_Comm_split(comm, 0, 0, &several[i]);
    freed = several[0];
    for (int i = 0; i < 3; i++)
        PMPI_Comm_free(&several[i]);
    const int error = MPI_Bcast(numbers, 1, MPI_INT, 0, freed);
    return error == MPI_SUCCESS ? MPI_SUCCESS : MPI_Comm_free(&freed);
}

static int send_nothing_of_freed_type(void)
{
    MPI_Request request;
    MPI_Datatype type, freed;
    PMPI_Type_contiguous(2, MPI_INT, &type);
    PMPI_Type_commit(&type);
    freed = type;
    PMPI_Type_free(&type);
    PMPI_Irecv(numbers, 1, MPI_INT, 0, 1, comm, &request);
    const int error = MPI_Send(NULL, 0, freed, 0, 1, comm);
    PMPI_Cancel(&request);
    PMPI_Wait(&request, MPI_STATUS_IGNORE);
    return error;
}

static int send_nothing_of_another_kind(void)
{
    MPI_Request request;
    PMPI_Irecv(numbers, 1, MPI_INT, 0, 1, comm, &request);
    const int error = MPI_Send(NULL, 0, (MPI_Datatype)MPI_COMM_WORLD, 0, 1, comm);
    PMPI_Cancel(&request);
    PMPI_Wait(&request, MPI_STATUS_IGNORE);
    return error;
}
#endif

#if MPI_VERSION >= 4
/* MPI_Type_get_envelope fails for this type; tools must call MPI_Type_get_envelope_c. */
static int send_and_receive_large(void)
{
    MPI_Request request;
    MPI_Status status;
    MPI_Datatype type;
    int error = MPI_Type_contiguous_c(2, MPI_INT, &type);
    if (error != MPI_SUCCESS)
        return error;
    MPI_Type_commit(&type);
    for (int i = 0; i < 2 && error == MPI_SUCCESS; i++) {
        MPI_Irecv(numbers, 1, type, 0, 1, comm, &request);
        error = MPI_Send(numbers + 4, 1, type, 0, 1, comm);
        MPI_Wait(&request, &status);
    }
    MPI_Type_free(&type);
    return error;
}
#endif

static const struct {
    const char *name;
    int (*step)(void);
} steps[] = {
    {"send_something", send_something},
    {"send_nothing", send_nothing},
    {"send_nothing_twice", send_nothing_twice},
    {"receive_nothing", receive_nothing},
    {"exchange_nothing", exchange_nothing},
    {"start_nothing", start_nothing},
    {"broadcast_nothing", broadcast_nothing},
    {"exchange_nothing_with_all", exchange_nothing_with_all},
    {"send_of_null_comm", send_of_null_comm},
    {"reduce_of_null_comm", reduce_of_null_comm},
    {"neighbors_of_no_graph", neighbors_of_no_graph},
    {"contents_of_null_type", contents_of_null_type},
    {"class_of_no_code", class_of_no_code},
    {"duplicate_with_error_of_callback", duplicate_with_error_of_callback},
#ifdef MPICH_VERSION
    {"barrier_of_freed_comm", barrier_of_freed_comm},
    {"send_nothing_of_freed_type", send_nothing_of_freed_type},
    {"send_nothing_of_another_kind", send_nothing_of_another_kind},
#endif
#if MPI_VERSION >= 4
    {"send_and_receive_large", send_and_receive_large},
#endif
};

static int is_wanted(const char *name, int argc, char **argv)
{
    int wanted = !strcmp(argv[1], "count");
    for (int i = 2; i < argc; i++)
        wanted |= !strcmp(argv[i], name);
    return wanted;
}

static void count_errors(void)
{
    MPI_Errhandler errhandler;
    PMPI_Comm_create_errhandler(handle, &errhandler);
    PMPI_Comm_set_errhandler(MPI_COMM_WORLD, errhandler);
    PMPI_Comm_set_errhandler(MPI_COMM_SELF, errhandler);
    PMPI_Comm_set_errhandler(comm, errhandler);
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    MPI_Comm_dup(MPI_COMM_SELF, &comm);
    if (!strcmp(argv[1], "count"))
        count_errors();
    for (size_t i = 0; i < sizeof steps / sizeof *steps; i++) {
        if (!is_wanted(steps[i].name, argc, argv))
            continue;
        handled = 0;
        const int error = steps[i].step();
        printf("%s: %s, handled %d\n", steps[i].name, error ? "refused" : "accepted", handled);
        fflush(stdout);
    }
    MPI_Comm_free(&comm);
    MPI_Finalize();
    return 0;
}
