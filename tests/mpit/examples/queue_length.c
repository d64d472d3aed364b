/* SPDX-License-Identifier: MIT */
/*
 * A native layer that publishes MPI_T_UMQ_LENGTH, under this name without a prefix. The variable is
 * the number of messages that were sent to this process by MPI_Send on MPI_COMM_WORLD, and that
 * this process has not received by an MPI_Recv that names the source. Senders announce their
 * messages in a window of the receiver. For the example that reads a control variable, the layer
 * also publishes the size of a communicator as a variable that is bound to the communicator.
 */
#include <qmpi/mpit.h>
#include <qmpi/qmpi.h>

#include <string.h>

static MPI_Win window = MPI_WIN_NULL;
static long *registered;
static long matched;

static int init_mpi(QMPI_Context c, int *argc, char ***argv)
{
    const int result = QMPIX_NEXT(c, Init)(QMPIX_NEXT_CONTEXT(c), argc, argv);
    PMPI_Win_allocate(sizeof *registered, sizeof *registered, MPI_INFO_NULL, MPI_COMM_WORLD,
                      &registered, &window);
    *registered = 0;
    PMPI_Barrier(MPI_COMM_WORLD);
    PMPI_Win_lock_all(0, window);
    return result;
}

static int finalize(QMPI_Context c)
{
    PMPI_Win_unlock_all(window);
    PMPI_Win_free(&window);
    return QMPIX_NEXT(c, Finalize)(QMPIX_NEXT_CONTEXT(c));
}

/* Announces the message before it is sent. When the flush returns, the window of the receiver has
 * the announcement. */
static int send(QMPI_Context c, const void *buf, int count, MPI_Datatype datatype, int dest,
                int tag, MPI_Comm comm)
{
    const long one = 1;
    if (comm == MPI_COMM_WORLD && dest >= 0) {
        PMPI_Accumulate(&one, 1, MPI_LONG, dest, 0, 1, MPI_LONG, MPI_SUM, window);
        PMPI_Win_flush(dest, window);
    }
    return QMPIX_NEXT(c, Send)(QMPIX_NEXT_CONTEXT(c), buf, count, datatype, dest, tag, comm);
}

static int receive(QMPI_Context c, void *buf, int count, MPI_Datatype datatype, int source, int tag,
                   MPI_Comm comm, MPI_Status *status)
{
    const int result =
        QMPIX_NEXT(c, Recv)(QMPIX_NEXT_CONTEXT(c), buf, count, datatype, source, tag, comm, status);
    if (result == MPI_SUCCESS && comm == MPI_COMM_WORLD && source >= 0)
        matched++;
    return result;
}

static int open_length(void *user, const void *object, int *count)
{
    MPI_Comm comm;
    (void)user;
    memcpy(&comm, object, sizeof comm);
    *count = 1;
    return comm == MPI_COMM_WORLD ? MPI_SUCCESS : MPI_T_ERR_INVALID_HANDLE;
}

static int read_length(void *user, const void *object, void *buffer, int count)
{
    long sum = 0, nothing = 0;
    int rank;
    (void)user;
    (void)object;
    (void)count;
    if (window != MPI_WIN_NULL) { /* a layer below may read the variable before MPI_Init has
                                     returned to this layer */
        PMPI_Comm_rank(MPI_COMM_WORLD, &rank);
        PMPI_Fetch_and_op(&nothing, &sum, MPI_LONG, rank, 0, MPI_NO_OP, window);
        PMPI_Win_flush(rank, window);
    }
    const int length = (int)(sum - matched);
    memcpy(buffer, &length, sizeof length);
    return MPI_SUCCESS;
}

static int read_size(void *user, const void *object, void *buffer, int count)
{
    MPI_Comm comm;
    (void)user;
    (void)count;
    memcpy(&comm, object, sizeof comm);
    return PMPI_Comm_size(comm, buffer) == MPI_SUCCESS ? MPI_SUCCESS : MPI_T_ERR_INVALID_HANDLE;
}

static void init(int tool_id)
{
    const QMPIX_Pvar length = {
        .size = sizeof length,
        .name = "MPI_T_UMQ_LENGTH",
        .description = "Messages that have been sent here and wait for their receive",
        .var_class = MPI_T_PVAR_CLASS_LEVEL,
        .datatype = MPI_INT,
        .bind = MPI_T_BIND_MPI_COMM,
        .flags = QMPIX_BARE_NAME | QMPIX_PVAR_READONLY,
        .read = read_length,
        .open = open_length,
    };
    const QMPIX_Cvar size = {
        .size = sizeof size,
        .name = "size",
        .description = "The communicator's size",
        .datatype = MPI_INT,
        .bind = MPI_T_BIND_MPI_COMM,
        .scope = MPI_T_SCOPE_READONLY,
        .read = read_size,
    };
    QMPI_Register_tool_function(tool_id, MPI_INIT_T, (void (*)(void))init_mpi);
    QMPI_Register_tool_function(tool_id, MPI_FINALIZE_T, (void (*)(void))finalize);
    QMPI_Register_tool_function(tool_id, MPI_SEND_T, (void (*)(void))send);
    QMPI_Register_tool_function(tool_id, MPI_RECV_T, (void (*)(void))receive);
    if (QMPIX_Pvar_create(tool_id, &length, NULL) != MPI_SUCCESS ||
        QMPIX_Cvar_create(tool_id, &size, NULL) != MPI_SUCCESS)
        QMPIX_Tool_fail(tool_id, "its variables cannot be published");
}

__attribute__((constructor)) static void register_tool(void)
{
    QMPI_Register_tool_name("queue_length", init);
}
