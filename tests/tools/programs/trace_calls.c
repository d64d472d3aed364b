/* SPDX-License-Identifier: MIT */
/*
 * Calls of many kinds whose events are known, in sections, for two ranks. Each section is a region
 * with its name. `trace_calls FILE` writes to this file.
 */
#include <mpi.h>

#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>

static int rank, other;
static MPI_Comm world;
static int in[8], out[8];

static void blocking(void)
{
    MPI_Status status;
    if (rank == 0) {
        MPI_Send(out, 1, MPI_INT, 1, 7, world);
        MPI_Ssend(out, 2, MPI_INT, 1, 8, world);
        MPI_Send(out, 8, MPI_INT, MPI_PROC_NULL, 9, world);
    } else {
        MPI_Recv(in, 8, MPI_INT, 0, 7, world, &status);
        MPI_Recv(in, 8, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, world, MPI_STATUS_IGNORE);
        MPI_Recv(in, 8, MPI_INT, MPI_PROC_NULL, MPI_ANY_TAG, world, MPI_STATUS_IGNORE);
    }
    MPI_Sendrecv(out, 3, MPI_INT, other, 10 + rank, in, 8, MPI_INT, MPI_ANY_SOURCE, 10 + other,
                 world, MPI_STATUS_IGNORE);
}

static void derived(void)
{
    MPI_Datatype type;
    MPI_Type_contiguous(3, MPI_INT, &type);
    MPI_Type_commit(&type);
    if (rank == 0)
        MPI_Send(out, 2, type, 1, 0, world);
    else
        MPI_Recv(in, 2, type, 0, 0, world, MPI_STATUS_IGNORE);
    MPI_Type_free(&type);
}

static void nonblocking(void)
{
    MPI_Request requests[4];
    int flag, index, done, indices[4];
    MPI_Irecv(in, 2, MPI_INT, MPI_ANY_SOURCE, 1, MPI_COMM_SELF, &requests[0]);
    MPI_Test(&requests[0], &flag, MPI_STATUS_IGNORE);
    MPI_Isend(out, 1, MPI_INT, 0, 1, MPI_COMM_SELF, &requests[1]);
    MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
    /* The handles of these requests may have the same value. */
    for (int i = 0; i < 3; i++)
        MPI_Isend(out, i, MPI_INT, MPI_PROC_NULL, i, MPI_COMM_SELF, &requests[i]);
    MPI_Wait(&requests[0], MPI_STATUS_IGNORE);
    MPI_Waitall(2, requests + 1, MPI_STATUSES_IGNORE);
    MPI_Irecv(in, 1, MPI_INT, 0, 2, MPI_COMM_SELF, &requests[0]);
    MPI_Irecv(in + 1, 1, MPI_INT, 0, 3, MPI_COMM_SELF, &requests[1]);
    MPI_Send(out, 1, MPI_INT, 0, 3, MPI_COMM_SELF);
    MPI_Waitany(2, requests, &index, MPI_STATUS_IGNORE);
    MPI_Send(out, 1, MPI_INT, 0, 2, MPI_COMM_SELF);
    MPI_Waitsome(2, requests, &done, indices, MPI_STATUSES_IGNORE);
    MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
}

static void ended(void)
{
    MPI_Request request;
    MPI_Irecv(in, 1, MPI_INT, 0, 1, MPI_COMM_SELF, &request);
    MPI_Cancel(&request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    MPI_Irecv(in, 1, MPI_INT, 0, 2, MPI_COMM_SELF, &request);
    MPI_Request_free(&request);
    MPI_Send(out, 1, MPI_INT, 0, 2, MPI_COMM_SELF);
}

static void persistent(void)
{
    MPI_Request requests[2];
    MPI_Recv_init(in, 4, MPI_INT, MPI_ANY_SOURCE, 1, MPI_COMM_SELF, &requests[0]);
    MPI_Send_init(out, 2, MPI_INT, 0, 1, MPI_COMM_SELF, &requests[1]);
    for (int i = 0; i < 2; i++) {
        MPI_Startall(2, requests);
        MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
    }
    MPI_Start(&requests[0]);
    MPI_Send(out, 1, MPI_INT, 0, 1, MPI_COMM_SELF);
    MPI_Wait(&requests[0], MPI_STATUS_IGNORE);
    MPI_Request_free(&requests[0]);
    PMPI_Request_free(&requests[1]); /* tools do not see this; the handle may be reused */
    MPI_Send_init(out, 3, MPI_INT, MPI_PROC_NULL, 2, MPI_COMM_SELF, &requests[1]);
    MPI_Start(&requests[1]);
    MPI_Wait(&requests[1], MPI_STATUS_IGNORE);
    MPI_Request_free(&requests[1]);
}

static void matched(void)
{
    MPI_Message message;
    MPI_Request request;
    MPI_Request requests[2];
    MPI_Isend(out, 1, MPI_INT, 0, 1, MPI_COMM_SELF, &request);
    MPI_Mprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_SELF, &message, MPI_STATUS_IGNORE);
    MPI_Mrecv(in, 8, MPI_INT, &message, MPI_STATUS_IGNORE);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    MPI_Isend(out, 2, MPI_INT, 0, 2, MPI_COMM_SELF, &requests[0]);
    MPI_Mprobe(0, 2, MPI_COMM_SELF, &message, MPI_STATUS_IGNORE);
    MPI_Imrecv(in, 8, MPI_INT, &message, &requests[1]);
    MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
    /* No tool sees this probe. */
    MPI_Isend(out, 3, MPI_INT, 0, 3, MPI_COMM_SELF, &request);
    PMPI_Mprobe(0, 3, MPI_COMM_SELF, &message, MPI_STATUS_IGNORE);
    MPI_Mrecv(in, 8, MPI_INT, &message, MPI_STATUS_IGNORE);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    message = MPI_MESSAGE_NO_PROC;
    MPI_Mrecv(in, 8, MPI_INT, &message, MPI_STATUS_IGNORE);
}

static void collectives(void)
{
    MPI_Request request;
    MPI_Barrier(world);
    MPI_Bcast(in, 2, MPI_INT, 1, world);
    MPI_Allreduce(out, in, 2, MPI_INT, MPI_SUM, world);
    MPI_Gather(out, 1, MPI_INT, in, 1, MPI_INT, 0, world);
    MPI_Ibcast(in, 3, MPI_INT, 0, world, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
#if MPI_VERSION >= 4
    MPI_Bcast_init(in, 4, MPI_INT, 0, world, MPI_INFO_NULL, &request);
    for (int i = 0; i < 2; i++) {
        MPI_Start(&request);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
    }
    MPI_Request_free(&request);
#endif
}

static void one_sided(void)
{
    MPI_Win window;
    MPI_Request request;
    int memory[8] = {0};
    MPI_Win_create(memory, sizeof memory, sizeof *memory, MPI_INFO_NULL, world, &window);
    MPI_Win_set_name(window, "named");
    MPI_Win_fence(0, window);
    MPI_Put(out, 2, MPI_INT, other, 0, 2, MPI_INT, window);
    MPI_Win_fence(0, window);
    MPI_Get(in, 1, MPI_INT, other, 4, 1, MPI_INT, window);
    MPI_Accumulate(out, 1, MPI_INT, other, 5, 1, MPI_INT, MPI_SUM, window);
    MPI_Compare_and_swap(out, in, in + 1, MPI_INT, other, 6, window);
    MPI_Win_fence(0, window);
    MPI_Win_lock(MPI_LOCK_EXCLUSIVE, other, 0, window);
    MPI_Rput(out, 3, MPI_INT, other, 0, 3, MPI_INT, window, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    MPI_Win_unlock(other, window);
    MPI_Win_free(&window);
}

static void files(const char *name)
{
    MPI_File file;
    MPI_Request request;
    MPI_File_open(world, name, MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL, &file);
    MPI_File_write_at(file, 4 * rank, out, 1, MPI_INT, MPI_STATUS_IGNORE);
    MPI_File_read_at(file, 4 * rank, in, 1, MPI_INT, MPI_STATUS_IGNORE);
    MPI_File_iread_at(file, 4 * rank, in, 1, MPI_INT, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    MPI_File_write_at_all_begin(file, 8 + 4 * rank, out, 1, MPI_INT);
    MPI_File_write_at_all_end(file, out, MPI_STATUS_IGNORE);
    MPI_File_close(&file);
}

static void communicators(void)
{
    MPI_Comm copy, part, later, inter, merged;
    MPI_Request request;
    MPI_Comm_dup(world, &copy);
    MPI_Comm_set_name(copy, "copy");
    MPI_Comm_split(world, rank, 0, &part);
    MPI_Comm_set_name(part, "part");
    MPI_Intercomm_create(part, 0, world, other, 0, &inter);
    MPI_Comm_set_name(inter, "inter");
    MPI_Intercomm_merge(inter, rank, &merged);
    MPI_Comm_set_name(merged, "merged");
    MPI_Comm_idup(copy, &later, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    MPI_Comm_set_name(later, "later");
    MPI_Sendrecv(out, 1, MPI_INT, 0, 0, in, 1, MPI_INT, 0, 0, inter, MPI_STATUS_IGNORE);
    MPI_Comm_free(&merged);
    MPI_Comm_free(&inter);
    MPI_Comm_free(&part);
    MPI_Comm_free(&later);
    MPI_Comm_free(&copy);
}

static int on_delete(MPI_Comm comm, int keyval, void *value, void *extra)
{
    int size;
    (void)keyval;
    (void)value;
    (void)extra;
    MPI_Comm_size(comm, &size);
    MPI_Send(out, 1, MPI_INT, MPI_PROC_NULL, 3, MPI_COMM_SELF);
    return MPI_SUCCESS;
}

static void nested(void)
{
    MPI_Comm copy;
    int keyval;
    MPI_Comm_dup(MPI_COMM_SELF, &copy);
    MPI_Comm_set_name(copy, "inner");
    MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, on_delete, &keyval, NULL);
    MPI_Comm_set_attr(copy, keyval, in);
    MPI_Comm_free(&copy);
    MPI_Comm_free_keyval(&keyval);
}

static void failing(void)
{
    int size;
    MPI_Comm_set_errhandler(world, MPI_ERRORS_RETURN);
    MPI_Send(out, 1, MPI_INT, 1000, 7, world);
    MPI_Bcast(in, 1, MPI_INT, 1000, world);
    MPI_Comm_set_errhandler(world, MPI_ERRORS_ARE_FATAL);
    MPI_Comm_size(world, &size);
}

static jmp_buf back;
static void jump(MPI_Comm *comm, int *code, ...)
{
    int size;
    (void)code;
    MPI_Comm_size(*comm, &size);
    longjmp(back, 1);
}

static void left(void)
{
    MPI_Errhandler handler;
    int size;
    MPI_Comm_create_errhandler(jump, &handler);
    MPI_Comm_set_errhandler(MPI_COMM_SELF, handler);
    if (!setjmp(back))
        MPI_Bcast(in, 1, MPI_INT, 1000, MPI_COMM_SELF);
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_ARE_FATAL);
    MPI_Errhandler_free(&handler);
    MPI_Comm_size(MPI_COMM_SELF, &size);
}

static void switched(void)
{
    int size;
    MPI_Request request;
    MPI_Irecv(in, 1, MPI_INT, 0, 1, MPI_COMM_SELF, &request);
    /* Without NULL, a tool might take arbitrary data for a second argument. */
    MPI_Pcontrol(0, NULL);
    MPI_Comm_size(world, &size);
    MPI_Send(out, 1, MPI_INT, 0, 1, MPI_COMM_SELF);
    MPI_Pcontrol(1, NULL);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
}

#define SECTION(name, call)                                                                        \
    MPI_Pcontrol(1, name);                                                                         \
    call;                                                                                          \
    MPI_Pcontrol(-1, name)

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    world = MPI_COMM_WORLD;
    MPI_Comm_rank(world, &rank);
    other = 1 - rank;
    SECTION("blocking", blocking());
    SECTION("derived", derived());
    SECTION("nonblocking", nonblocking());
    SECTION("ended", ended());
    SECTION("persistent", persistent());
    SECTION("matched", matched());
    SECTION("collectives", collectives());
    SECTION("one_sided", one_sided());
    SECTION("files", files(argc > 1 ? argv[1] : "trace_calls.data"));
    SECTION("communicators", communicators());
    SECTION("nested", nested());
    SECTION("failing", failing());
    SECTION("left", left());
    SECTION("switched", switched());
    MPI_Finalize();
    return 0;
}
