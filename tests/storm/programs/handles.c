/* SPDX-License-Identifier: MIT */
/*
 * Steps in which one process makes calls with handles that are null, freed, of another kind or
 * invalid. The results of each call and the number of calls of error handlers, which must be the
 * same with and without tools, are written to the file $STORM_RESULTS. Calls to prepare a step and
 * to clean up are mostly made by PMPI, so that no tool sees them. $STORM_SKIP contains the numbers
 * of calls to be left out, because they crash or end the program without tools.
 */
#include "program.h"

#include <stdbool.h>

enum { FREED = 4, BYTES = 64 };

/* The kinds of handles that a call takes. */
enum field { COMM, TYPE, GROUP, REQUEST, WIN, FILE_HANDLE, OP, INFO, ERRHANDLER, KEYVAL, MESSAGE };
enum { FIELDS = MESSAGE + 1 };
enum { MESSAGES = 12 }; /* how many calls at the beginning of `calls` send or receive */
/* The ways in which a handle is wrong. */
enum { HANDLES_NULL, HANDLES_FREED, HANDLES_OTHER, HANDLES_NEVER, HOWS };

union handle {
    MPI_Comm comm;
    MPI_Datatype type;
    MPI_Group group;
    MPI_Request request;
    MPI_Win win;
    MPI_File file;
    MPI_Op op;
    MPI_Info info;
    MPI_Errhandler errhandler;
    int keyval;
    MPI_Message message;
};

/* The arguments of a call. */
struct given {
    union handle of[FIELDS];
    int count, peer; /* number of elements; rank of the other process */
    MPI_Status *status;
};

static union handle good[FIELDS], freed[FIELDS];
static int results = -1; /* descriptor of the file $STORM_RESULTS */
static int handled;      /* how often error handlers were called in this call */
static int call_number;  /* the number of the next call */
static char buffer[4 * BYTES], other[4 * BYTES], storage[4 * BYTES];
static MPI_Comm ring;

/* ---- Objects --------------------------------------------------------------------------------- */

static void on_comm_error(MPI_Comm *comm, int *code, ...)
{
    (void)comm;
    (void)code;
    handled++;
}

static void on_win_error(MPI_Win *win, int *code, ...)
{
    (void)win;
    (void)code;
    handled++;
}

static void on_file_error(MPI_File *file, int *code, ...)
{
    (void)file;
    (void)code;
    handled++;
}

/* MPI libraries use the handle that was freed last for the next object, which may belong to a tool.
 * Therefore, several handles are freed. The first of them, which is used in calls, stays free. */
#define FREE_SEVERAL(field, member, MAKE, FREE)                                                    \
    do {                                                                                           \
        union handle several[FREED];                                                               \
        for (int i = 0; i < FREED; i++)                                                            \
            MAKE;                                                                                  \
        freed[field] = several[0];                                                                 \
        for (int i = 0; i < FREED; i++)                                                            \
            FREE(&several[i].member);                                                              \
    } while (0)

static void make_freed(void)
{
    const MPI_Comm comm = good[COMM].comm;
    FREE_SEVERAL(COMM, comm, PMPI_Comm_split(comm, 0, 0, &several[i].comm), PMPI_Comm_free);
    FREE_SEVERAL(TYPE, type, PMPI_Type_contiguous(i + 1, MPI_INT, &several[i].type),
                 PMPI_Type_free);
    FREE_SEVERAL(REQUEST, request,
                 PMPI_Recv_init(other, 1, MPI_INT, 0, 9, comm, &several[i].request),
                 PMPI_Request_free);
    FREE_SEVERAL(KEYVAL, keyval,
                 PMPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, MPI_COMM_NULL_DELETE_FN,
                                         &several[i].keyval, NULL),
                 PMPI_Comm_free_keyval);
}

static void set_handlers(void)
{
    MPI_Errhandler of_comm, of_win, of_file;
    PMPI_Comm_create_errhandler(on_comm_error, &of_comm);
    PMPI_Comm_set_errhandler(MPI_COMM_WORLD, of_comm);
    PMPI_Comm_set_errhandler(MPI_COMM_SELF, of_comm);
    PMPI_Comm_set_errhandler(good[COMM].comm, of_comm);
    PMPI_Comm_set_errhandler(ring, of_comm);
    PMPI_Win_create_errhandler(on_win_error, &of_win);
    PMPI_Win_set_errhandler(good[WIN].win, of_win);
    PMPI_File_create_errhandler(on_file_error, &of_file);
    PMPI_File_set_errhandler(good[FILE_HANDLE].file, of_file);
    PMPI_File_set_errhandler(MPI_FILE_NULL, of_file);
}

static void set_return(MPI_Errhandler errhandler)
{
    PMPI_Comm_set_errhandler(MPI_COMM_WORLD, errhandler);
    PMPI_Comm_set_errhandler(MPI_COMM_SELF, errhandler);
    PMPI_Comm_set_errhandler(good[COMM].comm, errhandler);
    PMPI_Comm_set_errhandler(ring, errhandler);
    PMPI_Win_set_errhandler(good[WIN].win, errhandler);
    PMPI_File_set_errhandler(good[FILE_HANDLE].file, errhandler);
    PMPI_File_set_errhandler(MPI_FILE_NULL, errhandler);
}

/* a[0] says how errors are handled. 0: they are returned; 1: error handlers count them; 2: they end
 * the job. */
static void handles_begin(struct storm_thread *thread, const long *a)
{
    const char *path = getenv("STORM_RESULTS");
    results = path ? open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666) : -1;
    OK(Comm_split, (thread->comm, storm_rank, 0, &good[COMM].comm));
    OK(Cart_create, (good[COMM].comm, 1, (int[]){1}, (int[]){1}, 0, &ring));
    OK(Type_contiguous, (2, MPI_INT, &good[TYPE].type));
    OK(Type_commit, (&good[TYPE].type));
    OK(Comm_group, (good[COMM].comm, &good[GROUP].group));
    OK(Win_create, (storage, sizeof storage, 1, MPI_INFO_NULL, good[COMM].comm, &good[WIN].win));
    OK(Info_create, (&good[INFO].info));
    OK(File_open, (MPI_COMM_SELF, "storm.file", MPI_MODE_RDWR | MPI_MODE_CREATE, MPI_INFO_NULL,
                   &good[FILE_HANDLE].file));
    OK(Comm_create_keyval,
       (MPI_COMM_NULL_COPY_FN, MPI_COMM_NULL_DELETE_FN, &good[KEYVAL].keyval, NULL));
    good[OP].op = MPI_SUM;
    good[ERRHANDLER].errhandler = MPI_ERRORS_RETURN;
    good[REQUEST].request = MPI_REQUEST_NULL;
    good[MESSAGE].message = MPI_MESSAGE_NULL;
    make_freed();
    if (a[0] == 1)
        set_handlers();
    else
        set_return(a[0] ? MPI_ERRORS_ARE_FATAL : MPI_ERRORS_RETURN);
}

static void handles_end(struct storm_thread *thread, const long *a)
{
    (void)thread;
    (void)a;
    set_return(MPI_ERRORS_RETURN);
    OK(Comm_free_keyval, (&good[KEYVAL].keyval));
    OK(File_close, (&good[FILE_HANDLE].file));
    OK(Info_free, (&good[INFO].info));
    OK(Win_free, (&good[WIN].win));
    OK(Group_free, (&good[GROUP].group));
    OK(Type_free, (&good[TYPE].type));
    OK(Comm_free, (&ring));
    OK(Comm_free, (&good[COMM].comm));
}

/* ---- Wrong handles --------------------------------------------------------------------------- */

static union handle null_of(enum field field)
{
    union handle null;
    memset(&null, 0, sizeof null);
    switch (field) {
    case COMM:
        null.comm = MPI_COMM_NULL;
        break;
    case TYPE:
        null.type = MPI_DATATYPE_NULL;
        break;
    case GROUP:
        null.group = MPI_GROUP_NULL;
        break;
    case REQUEST:
        null.request = MPI_REQUEST_NULL;
        break;
    case WIN:
        null.win = MPI_WIN_NULL;
        break;
    case FILE_HANDLE:
        null.file = MPI_FILE_NULL;
        break;
    case OP:
        null.op = MPI_OP_NULL;
        break;
    case INFO:
        null.info = MPI_INFO_NULL;
        break;
    case ERRHANDLER:
        null.errhandler = MPI_ERRHANDLER_NULL;
        break;
    case KEYVAL:
        null.keyval = MPI_KEYVAL_INVALID;
        break;
    case MESSAGE:
        null.message = MPI_MESSAGE_NULL;
        break;
    }
    return null;
}

/* Returns a handle that was never valid. For MPICH, it has the bits that all handles of this kind
 * share, and a number that no handle has. For other MPIs, and for files, it is 0. */
static union handle never_of(enum field field)
{
    union handle never = {.keyval = 0};
    if (sizeof(MPI_Comm) == sizeof(int) && field != FILE_HANDLE) {
        const union handle like = field == REQUEST || field == MESSAGE ? freed[REQUEST]
                                  : field == KEYVAL                    ? good[KEYVAL]
                                                                       : null_of(field);
        never.keyval = (int)(((unsigned)like.keyval & 0x3c000000U) | 0xc0ffff00U);
    }
    return never;
}

/* Returns whether a freed handle can be passed: the MPI library detects that it was freed, or does
 * not use it. Otherwise, the library would treat the handle as valid and overwrite the object that
 * is now at its place. If handles are addresses, as in Open MPI, no freed handle can be passed. If
 * `moves` is set, the call sends or receives, and does not use the type of a message of no
 * elements. */
static bool can_be_freed(enum field field, const struct given *given, bool moves)
{
    return sizeof(MPI_Comm) == sizeof(int) &&
           (field == COMM || field == REQUEST || field == KEYVAL ||
            (field == TYPE && moves && !given->count));
}

static union handle wrong(enum field field, long how, const struct given *given, bool moves)
{
    union handle another;
    memset(&another, 0, sizeof another);
    switch (how % HOWS) {
    case HANDLES_NULL:
        return null_of(field);
    case HANDLES_FREED:
        return can_be_freed(field, given, moves) ? freed[field] : null_of(field);
    case HANDLES_OTHER: /* null if handles are addresses, from which the library would read */
        if (field == FILE_HANDLE || sizeof(MPI_Comm) != sizeof(int))
            another = null_of(field);
        else if (field == TYPE)
            another.comm = MPI_COMM_WORLD;
        else
            another.type = MPI_INT;
        return another;
    default:
        return never_of(field);
    }
}

/* ---- Calls ----------------------------------------------------------------------------------- */

/* Posts a receive that matches any message of the call. */
static MPI_Request await(const struct given *given)
{
    MPI_Request request = MPI_REQUEST_NULL;
    (void)given;
    PMPI_Irecv(other, sizeof other, MPI_BYTE, MPI_ANY_SOURCE, MPI_ANY_TAG, good[COMM].comm,
               &request);
    return request;
}

static void withdraw(MPI_Request request)
{
    PMPI_Cancel(&request);
    PMPI_Wait(&request, MPI_STATUS_IGNORE);
}

/* Sends a message that matches any receive of the call. If the call does not receive it,
 * drop_message does. */
static MPI_Request offer(const struct given *given)
{
    MPI_Request request = MPI_REQUEST_NULL;
    PMPI_Isend(buffer, given->count * 4, MPI_BYTE, 0, 3, good[COMM].comm, &request);
    return request;
}

static void drop_message(MPI_Request request)
{
    int flag = 0;
    PMPI_Iprobe(0, 3, good[COMM].comm, &flag, MPI_STATUS_IGNORE);
    if (flag)
        PMPI_Recv(other, sizeof other, MPI_BYTE, 0, 3, good[COMM].comm, MPI_STATUS_IGNORE);
    PMPI_Wait(&request, MPI_STATUS_IGNORE);
}

/* Ends the request that the call has created. */
static void end_request(int error, MPI_Request request, bool receives)
{
    if (error != MPI_SUCCESS || request == MPI_REQUEST_NULL)
        return;
    if (receives)
        PMPI_Cancel(&request);
    PMPI_Wait(&request, MPI_STATUS_IGNORE);
}

#define C given->of[COMM].comm
#define T given->of[TYPE].type
#define N given->count
#define P given->peer
#define S given->status

#define SENDS(X, REQUEST_TOO)                                                                      \
    static int call_##X(struct given *given)                                                       \
    {                                                                                              \
        MPI_Request wanted = await(given), request = MPI_REQUEST_NULL;                             \
        const int error = M(X, (buffer, N, T, P, 3, C REQUEST_TOO));                               \
        end_request(error, request, false);                                                        \
        withdraw(wanted);                                                                          \
        return error;                                                                              \
    }
#define AND_REQUEST , &request
SENDS(Send, )
SENDS(Rsend, )
SENDS(Ssend, )
SENDS(Isend, AND_REQUEST)
SENDS(Issend, AND_REQUEST)

static int call_Recv(struct given *given)
{
    MPI_Request offered = offer(given);
    const int error = M(Recv, (other, N, T, P, 3, C, S));
    drop_message(offered);
    return error;
}

static int call_Irecv(struct given *given)
{
    MPI_Request request = MPI_REQUEST_NULL;
    const int error = M(Irecv, (other, N, T, P, 3, C, &request));
    end_request(error, request, true);
    return error;
}

static int call_Sendrecv(struct given *given)
{
    return M(Sendrecv, (buffer, N, T, P, 3, other, N, T, P, 3, C, S));
}

static int call_Sendrecv_replace(struct given *given)
{
    return M(Sendrecv_replace, (buffer, N, T, P, 3, P, 3, C, S));
}

#define INITS(X)                                                                                   \
    static int call_##X(struct given *given)                                                       \
    {                                                                                              \
        MPI_Request request = MPI_REQUEST_NULL;                                                    \
        const int error = M(X, (buffer, N, T, P, 3, C, &request));                                 \
        if (error == MPI_SUCCESS && request != MPI_REQUEST_NULL)                                   \
            PMPI_Request_free(&request);                                                           \
        return error;                                                                              \
    }
INITS(Send_init)
INITS(Ssend_init)
INITS(Recv_init)

static int call_Iprobe(struct given *given)
{
    int flag = 0;
    return M(Iprobe, (P, 3, C, &flag, S));
}

static int call_Probe(struct given *given)
{
    MPI_Request offered = offer(given);
    const int error = M(Probe, (P, 3, C, S));
    drop_message(offered);
    return error;
}

/* Receives a valid message if the message is not to be wrong, and the datatype is wrong or there
 * are no elements. Otherwise, the message is null or wrong. */
static int call_Mrecv(struct given *given)
{
    MPI_Message message = given->of[MESSAGE].message;
    MPI_Request offered = offer(given);
    if (!memcmp(&message, &good[MESSAGE].message, sizeof message) && (T != good[TYPE].type || !N))
        PMPI_Mprobe(0, 3, good[COMM].comm, &message, MPI_STATUS_IGNORE);
    MPI_Message rest = message;
    const int error = M(Mrecv, (other, N, T, &message, S));
    if (error != MPI_SUCCESS && message != MPI_MESSAGE_NULL &&
        given->of[MESSAGE].message == good[MESSAGE].message && rest == message)
        PMPI_Mrecv(other, sizeof other, MPI_BYTE, &message, MPI_STATUS_IGNORE);
    drop_message(offered);
    return error;
}

#define WITH_REQUEST(X, ARGUMENTS)                                                                 \
    static int call_##X(struct given *given)                                                       \
    {                                                                                              \
        MPI_Request request = given->of[REQUEST].request;                                          \
        int flag = 0, index = 0, indices[1];                                                       \
        MPI_Status status;                                                                         \
        (void)flag;                                                                                \
        (void)index;                                                                               \
        (void)indices;                                                                             \
        (void)status;                                                                              \
        return M(X, ARGUMENTS);                                                                    \
    }
WITH_REQUEST(Wait, (&request, S))
WITH_REQUEST(Test, (&request, &flag, S))
WITH_REQUEST(Waitall, (1, &request, MPI_STATUSES_IGNORE))
WITH_REQUEST(Testall, (1, &request, &flag, &status))
WITH_REQUEST(Waitany, (1, &request, &index, S))
WITH_REQUEST(Waitsome, (1, &request, &index, indices, &status))
WITH_REQUEST(Start, (&request))
WITH_REQUEST(Startall, (1, &request))
WITH_REQUEST(Cancel, (&request))
WITH_REQUEST(Request_free, (&request))
WITH_REQUEST(Request_get_status, (request, &flag, S))

#define PLAIN(X, ARGUMENTS)                                                                        \
    static int call_##X(struct given *given)                                                       \
    {                                                                                              \
        int number = 0, numbers[8] = {0}, flag = 0;                                                \
        char text[MPI_MAX_OBJECT_NAME > MPI_MAX_ERROR_STRING ? MPI_MAX_OBJECT_NAME + 1             \
                                                             : MPI_MAX_ERROR_STRING + 1] = "";     \
        void *value = NULL;                                                                        \
        (void)number;                                                                              \
        (void)numbers;                                                                             \
        (void)flag;                                                                                \
        (void)text;                                                                                \
        (void)value;                                                                               \
        (void)given;                                                                               \
        return M(X, ARGUMENTS);                                                                    \
    }

static const int zeros[4];

PLAIN(Barrier, (C))
PLAIN(Bcast, (buffer, N, T, 0, C))
PLAIN(Gather, (buffer, N, T, other, N, T, 0, C))
PLAIN(Gatherv, (buffer, N, T, other, &N, zeros, T, 0, C))
PLAIN(Scatter, (buffer, N, T, other, N, T, 0, C))
PLAIN(Allgather, (buffer, N, T, other, N, T, C))
PLAIN(Alltoall, (buffer, N, T, other, N, T, C))
PLAIN(Alltoallv, (buffer, &N, zeros, T, other, &N, zeros, T, C))
PLAIN(Alltoallw, (buffer, &N, zeros, &T, other, &N, zeros, &T, C))
PLAIN(Reduce, (buffer, other, N, MPI_INT, given->of[OP].op, 0, C))
PLAIN(Allreduce, (buffer, other, N, N ? MPI_INT : T, given->of[OP].op, C))
PLAIN(Scan, (buffer, other, N, MPI_INT, given->of[OP].op, C))
PLAIN(Exscan, (buffer, other, N, MPI_INT, given->of[OP].op, C))
PLAIN(Reduce_scatter_block, (buffer, other, N, MPI_INT, given->of[OP].op, C))
PLAIN(Reduce_local, (buffer, other, N, N ? MPI_INT : T, given->of[OP].op))
PLAIN(Neighbor_allgather, (buffer, N, T, other, N, T, C == good[COMM].comm ? ring : C))

#define IMMEDIATE(X, ARGUMENTS)                                                                    \
    static int call_##X(struct given *given)                                                       \
    {                                                                                              \
        MPI_Request request = MPI_REQUEST_NULL;                                                    \
        const int error = M(X, ARGUMENTS);                                                         \
        end_request(error, request, false);                                                        \
        return error;                                                                              \
    }
IMMEDIATE(Ibarrier, (C, &request))
IMMEDIATE(Ibcast, (buffer, N, T, 0, C, &request))
IMMEDIATE(Iallreduce, (buffer, other, N, MPI_INT, given->of[OP].op, C, &request))
IMMEDIATE(Ialltoall, (buffer, N, T, other, N, T, C, &request))
IMMEDIATE(Iallgather, (buffer, N, T, other, N, T, C, &request))

#define MAKES_COMM(X, ARGUMENTS)                                                                   \
    static int call_##X(struct given *given)                                                       \
    {                                                                                              \
        MPI_Comm made = MPI_COMM_NULL;                                                             \
        const int error = M(X, ARGUMENTS);                                                         \
        if (error == MPI_SUCCESS && made != MPI_COMM_NULL)                                         \
            (void)M(Comm_free, (&made));                                                           \
        return error;                                                                              \
    }
MAKES_COMM(Comm_dup, (C, &made))
MAKES_COMM(Comm_split, (C, 0, 0, &made))
MAKES_COMM(Comm_create, (C, given->of[GROUP].group, &made))
MAKES_COMM(Comm_create_group, (C, given->of[GROUP].group, 5, &made))
MAKES_COMM(Comm_dup_with_info, (C, given->of[INFO].info, &made))
MAKES_COMM(Cart_create, (C, 1, (int[]){1}, (int[]){0}, 0, &made))
MAKES_COMM(Intercomm_merge, (C, 0, &made))

PLAIN(Comm_rank, (C, &number))
PLAIN(Comm_size, (C, &number))
PLAIN(Comm_remote_size, (C, &number))
PLAIN(Comm_test_inter, (C, &number))
PLAIN(Comm_compare, (good[COMM].comm, C, &number))
PLAIN(Comm_set_name, (C, "storm"))
PLAIN(Comm_get_name, (C, text, &number))
PLAIN(Comm_get_attr, (C, given->of[KEYVAL].keyval, (void *)&value, &flag))
PLAIN(Comm_set_attr, (C, given->of[KEYVAL].keyval, NULL))
PLAIN(Comm_delete_attr, (C, given->of[KEYVAL].keyval))
PLAIN(Comm_call_errhandler, (C, MPI_ERR_OTHER))
PLAIN(Topo_test, (C, &number))
PLAIN(Cartdim_get, (C, &number))
PLAIN(Cart_get, (C, 1, numbers, numbers + 2, numbers + 4))
PLAIN(Graphdims_get, (C, &number, &flag))
PLAIN(Graph_get, (C, 4, 4, numbers, numbers + 4))
PLAIN(Graph_neighbors, (C, 0, 4, numbers))
PLAIN(Graph_neighbors_count, (C, 0, &number))

static int call_Comm_set_errhandler(struct given *given)
{
    MPI_Errhandler before = MPI_ERRHANDLER_NULL;
    PMPI_Comm_get_errhandler(ring, &before);
    const int error =
        M(Comm_set_errhandler, (C == good[COMM].comm ? ring : C, given->of[ERRHANDLER].errhandler));
    PMPI_Comm_set_errhandler(ring, before);
    return error;
}

/* Passes a copy of the handle to the function. If the handle is valid, makes no call, because later
 * calls need the object. */
#define FREES(X, field, member)                                                                    \
    static int call_##X(struct given *given)                                                       \
    {                                                                                              \
        union handle handle = given->of[field];                                                    \
        return memcmp(&handle, &good[field], sizeof handle) ? M(X, (&handle.member)) : 0;          \
    }
FREES(Comm_free, COMM, comm)
FREES(Comm_disconnect, COMM, comm)
FREES(Type_free, TYPE, type)
FREES(Type_commit, TYPE, type)
FREES(Group_free, GROUP, group)
FREES(Win_free, WIN, win)
FREES(File_close, FILE_HANDLE, file)
FREES(Op_free, OP, op)
FREES(Info_free, INFO, info)
FREES(Errhandler_free, ERRHANDLER, errhandler)

#define MAKES_TYPE(X, ARGUMENTS)                                                                   \
    static int call_##X(struct given *given)                                                       \
    {                                                                                              \
        MPI_Datatype made = MPI_DATATYPE_NULL;                                                     \
        const int error = M(X, ARGUMENTS);                                                         \
        if (error == MPI_SUCCESS && made != MPI_DATATYPE_NULL)                                     \
            (void)M(Type_free, (&made));                                                           \
        return error;                                                                              \
    }
MAKES_TYPE(Type_contiguous, (N, T, &made))
MAKES_TYPE(Type_vector, (N, 1, 2, T, &made))
MAKES_TYPE(Type_dup, (T, &made))
MAKES_TYPE(Type_create_resized, (T, 0, 16, &made))
MAKES_TYPE(Type_create_struct, (1, &N, (MPI_Aint[]){0}, &T, &made))

static int call_Type_get_contents(struct given *given)
{
    int integers[4];
    MPI_Aint addresses[4];
    MPI_Datatype types[4];
    return M(Type_get_contents, (T, 4, 4, 4, integers, addresses, types));
}

static int call_Type_get_envelope(struct given *given)
{
    int numbers[4];
    return M(Type_get_envelope, (T, &numbers[0], &numbers[1], &numbers[2], &numbers[3]));
}

static int call_Get_count(struct given *given)
{
    MPI_Status status;
    int count;
    memset(&status, 0, sizeof status);
    PMPI_Status_set_elements(&status, MPI_INT, 2 * N);
    return M(Get_count, (&status, T, &count));
}

static int call_Get_elements(struct given *given)
{
    MPI_Status status;
    int count;
    memset(&status, 0, sizeof status);
    PMPI_Status_set_elements(&status, MPI_INT, 2 * N);
    return M(Get_elements, (&status, T, &count));
}

static int call_Status_set_elements(struct given *given)
{
    MPI_Status status;
    memset(&status, 0, sizeof status);
    return M(Status_set_elements, (&status, T, N));
}

static int call_Pack(struct given *given)
{
    int position = 0;
    return M(Pack, (buffer, N, T, other, sizeof other, &position, C));
}

static int call_Unpack(struct given *given)
{
    int position = 0;
    return M(Unpack, (other, sizeof other, &position, buffer, N, T, C));
}

PLAIN(Pack_size, (N, T, C, &number))
PLAIN(Type_size, (T, &number))
PLAIN(Type_set_name, (T, "storm"))
PLAIN(Type_get_name, (T, text, &number))
PLAIN(Group_size, (given->of[GROUP].group, &number))
PLAIN(Group_rank, (given->of[GROUP].group, &number))
PLAIN(Group_compare, (good[GROUP].group, given->of[GROUP].group, &number))
PLAIN(Group_translate_ranks, (given->of[GROUP].group, 1, numbers, good[GROUP].group, numbers + 1))
PLAIN(Op_commutative, (given->of[OP].op, &number))
PLAIN(Info_set, (given->of[INFO].info, "key", "value"))
PLAIN(Info_get, (given->of[INFO].info, "key", 9, text, &flag))
PLAIN(Info_get_nkeys, (given->of[INFO].info, &number))
PLAIN(Error_class, (N ? 268435455 : -7, &number))
PLAIN(Error_string, (N ? 268435455 : -7, text, &number))

#define W given->of[WIN].win
#define IN_EPOCH(X, ARGUMENTS)                                                                     \
    static int call_##X(struct given *given)                                                       \
    {                                                                                              \
        MPI_Request request = MPI_REQUEST_NULL;                                                    \
        PMPI_Win_lock(MPI_LOCK_SHARED, 0, 0, good[WIN].win);                                       \
        const int error = M(X, ARGUMENTS);                                                         \
        end_request(error, request, false);                                                        \
        PMPI_Win_unlock(0, good[WIN].win);                                                         \
        return error;                                                                              \
    }
IN_EPOCH(Put, (buffer, N, T, P, 0, N, T, W))
IN_EPOCH(Get, (other, N, T, P, 0, N, T, W))
IN_EPOCH(Accumulate, (buffer, N, N ? MPI_INT : T, P, 0, N, N ? MPI_INT : T, given->of[OP].op, W))
IN_EPOCH(Get_accumulate, (buffer, N, T, other, N, MPI_INT, P, 0, N, MPI_INT, MPI_NO_OP, W))
IN_EPOCH(Fetch_and_op, (buffer, other, MPI_INT, P, 0, given->of[OP].op, W))
IN_EPOCH(Rput, (buffer, N, T, P, 0, N, T, W, &request))
IN_EPOCH(Rget, (other, N, T, P, 0, N, T, W, &request))
IN_EPOCH(Win_flush, (0, W))
PLAIN(Win_fence, (0, W))
PLAIN(Win_set_name, (W, "storm"))
PLAIN(Win_get_name, (W, text, &number))

static int call_Win_create(struct given *given)
{
    MPI_Win made = MPI_WIN_NULL;
    const int error = M(Win_create, (storage, BYTES, 1, given->of[INFO].info, C, &made));
    if (error == MPI_SUCCESS && made != MPI_WIN_NULL)
        (void)M(Win_free, (&made));
    return error;
}

static int call_Win_get_group(struct given *given)
{
    MPI_Group group = MPI_GROUP_NULL;
    const int error = M(Win_get_group, (W, &group));
    if (error == MPI_SUCCESS && group != MPI_GROUP_NULL)
        (void)M(Group_free, (&group));
    return error;
}

#define F given->of[FILE_HANDLE].file
PLAIN(File_write, (F, buffer, N, T, S))
PLAIN(File_read, (F, other, N, T, S))
PLAIN(File_write_at, (F, 0, buffer, N, T, S))
PLAIN(File_read_all, (F, other, N, T, S))
PLAIN(File_set_view, (F, 0, MPI_BYTE, T, "native", given->of[INFO].info))
IMMEDIATE(File_iwrite, (F, buffer, N, T, &request))

static int call_File_get_size(struct given *given)
{
    MPI_Offset size;
    return M(File_get_size, (F, &size));
}

/* ---- The table of calls ---------------------------------------------------------------------- */

struct call {
    const char *name;
    int (*call)(struct given *given);
    unsigned fields; /* the kinds of handles that the call takes: IS_… */
};

#define ROW(X, fields)                                                                             \
    {                                                                                              \
#X, call_##X, fields                                                                       \
    }
enum {
    IS_COMM = 1 << COMM,
    IS_TYPE = 1 << TYPE,
    IS_GROUP = 1 << GROUP,
    IS_REQUEST = 1 << REQUEST,
    IS_WIN = 1 << WIN,
    IS_FILE = 1 << FILE_HANDLE,
    IS_OP = 1 << OP,
    IS_INFO = 1 << INFO,
    IS_ERRHANDLER = 1 << ERRHANDLER,
    IS_KEYVAL = 1 << KEYVAL,
    IS_MESSAGE = 1 << MESSAGE,
    IS_BOTH = IS_COMM | IS_TYPE
};

static const struct call calls[] = {
    ROW(Send, IS_BOTH),
    ROW(Rsend, IS_BOTH),
    ROW(Ssend, IS_BOTH),
    ROW(Isend, IS_BOTH),
    ROW(Issend, IS_BOTH),
    ROW(Recv, IS_BOTH),
    ROW(Irecv, IS_BOTH),
    ROW(Sendrecv, IS_BOTH),
    ROW(Sendrecv_replace, IS_BOTH),
    ROW(Send_init, IS_BOTH),
    ROW(Ssend_init, IS_BOTH),
    ROW(Recv_init, IS_BOTH),
    ROW(Iprobe, IS_COMM),
    ROW(Probe, IS_COMM),
    ROW(Mrecv, IS_MESSAGE | IS_TYPE),
    ROW(Wait, IS_REQUEST),
    ROW(Test, IS_REQUEST),
    ROW(Waitall, IS_REQUEST),
    ROW(Testall, IS_REQUEST),
    ROW(Waitany, IS_REQUEST),
    ROW(Waitsome, IS_REQUEST),
    ROW(Start, IS_REQUEST),
    ROW(Startall, IS_REQUEST),
    ROW(Cancel, IS_REQUEST),
    ROW(Request_free, IS_REQUEST),
    ROW(Request_get_status, IS_REQUEST),
    ROW(Barrier, IS_COMM),
    ROW(Bcast, IS_BOTH),
    ROW(Gather, IS_BOTH),
    ROW(Gatherv, IS_BOTH),
    ROW(Scatter, IS_BOTH),
    ROW(Allgather, IS_BOTH),
    ROW(Alltoall, IS_BOTH),
    ROW(Alltoallv, IS_BOTH),
    ROW(Alltoallw, IS_BOTH),
    ROW(Reduce, IS_COMM | IS_OP),
    ROW(Allreduce, IS_BOTH | IS_OP),
    ROW(Scan, IS_COMM | IS_OP),
    ROW(Exscan, IS_COMM | IS_OP),
    ROW(Reduce_scatter_block, IS_COMM | IS_OP),
    ROW(Reduce_local, IS_TYPE | IS_OP),
    ROW(Neighbor_allgather, IS_BOTH),
    ROW(Ibarrier, IS_COMM),
    ROW(Ibcast, IS_BOTH),
    ROW(Iallreduce, IS_COMM | IS_OP),
    ROW(Ialltoall, IS_BOTH),
    ROW(Iallgather, IS_BOTH),
    ROW(Comm_dup, IS_COMM),
    ROW(Comm_split, IS_COMM),
    ROW(Comm_create, IS_COMM | IS_GROUP),
    ROW(Comm_create_group, IS_COMM | IS_GROUP),
    ROW(Comm_dup_with_info, IS_COMM | IS_INFO),
    ROW(Cart_create, IS_COMM),
    ROW(Intercomm_merge, IS_COMM),
    ROW(Comm_rank, IS_COMM),
    ROW(Comm_size, IS_COMM),
    ROW(Comm_remote_size, IS_COMM),
    ROW(Comm_test_inter, IS_COMM),
    ROW(Comm_compare, IS_COMM),
    ROW(Comm_set_name, IS_COMM),
    ROW(Comm_get_name, IS_COMM),
    ROW(Comm_get_attr, IS_COMM | IS_KEYVAL),
    ROW(Comm_set_attr, IS_COMM | IS_KEYVAL),
    ROW(Comm_delete_attr, IS_COMM | IS_KEYVAL),
    ROW(Comm_call_errhandler, IS_COMM),
    ROW(Comm_set_errhandler, IS_COMM | IS_ERRHANDLER),
    ROW(Comm_free, IS_COMM),
    ROW(Comm_disconnect, IS_COMM),
    ROW(Topo_test, IS_COMM),
    ROW(Cartdim_get, IS_COMM),
    ROW(Cart_get, IS_COMM),
    ROW(Graphdims_get, IS_COMM),
    ROW(Graph_get, IS_COMM),
    ROW(Graph_neighbors, IS_COMM),
    ROW(Graph_neighbors_count, IS_COMM),
    ROW(Type_size, IS_TYPE),
    ROW(Type_set_name, IS_TYPE),
    ROW(Type_get_name, IS_TYPE),
    ROW(Type_commit, IS_TYPE),
    ROW(Type_free, IS_TYPE),
    ROW(Type_contiguous, IS_TYPE),
    ROW(Type_vector, IS_TYPE),
    ROW(Type_dup, IS_TYPE),
    ROW(Type_create_resized, IS_TYPE),
    ROW(Type_create_struct, IS_TYPE),
    ROW(Type_get_contents, IS_TYPE),
    ROW(Type_get_envelope, IS_TYPE),
    ROW(Get_count, IS_TYPE),
    ROW(Get_elements, IS_TYPE),
    ROW(Status_set_elements, IS_TYPE),
    ROW(Pack, IS_BOTH),
    ROW(Unpack, IS_BOTH),
    ROW(Pack_size, IS_BOTH),
    ROW(Group_size, IS_GROUP),
    ROW(Group_rank, IS_GROUP),
    ROW(Group_compare, IS_GROUP),
    ROW(Group_translate_ranks, IS_GROUP),
    ROW(Group_free, IS_GROUP),
    ROW(Op_commutative, IS_OP),
    ROW(Op_free, IS_OP),
    ROW(Info_set, IS_INFO),
    ROW(Info_get, IS_INFO),
    ROW(Info_get_nkeys, IS_INFO),
    ROW(Info_free, IS_INFO),
    ROW(Errhandler_free, IS_ERRHANDLER),
    ROW(Error_class, IS_COMM),
    ROW(Error_string, IS_COMM),
    ROW(Put, IS_WIN | IS_TYPE),
    ROW(Get, IS_WIN | IS_TYPE),
    ROW(Accumulate, IS_WIN | IS_TYPE | IS_OP),
    ROW(Get_accumulate, IS_WIN | IS_TYPE),
    ROW(Fetch_and_op, IS_WIN | IS_OP),
    ROW(Rput, IS_WIN | IS_TYPE),
    ROW(Rget, IS_WIN | IS_TYPE),
    ROW(Win_flush, IS_WIN),
    ROW(Win_fence, IS_WIN),
    ROW(Win_set_name, IS_WIN),
    ROW(Win_get_name, IS_WIN),
    ROW(Win_create, IS_COMM | IS_INFO),
    ROW(Win_get_group, IS_WIN),
    ROW(Win_free, IS_WIN),
    ROW(File_write, IS_FILE | IS_TYPE),
    ROW(File_read, IS_FILE | IS_TYPE),
    ROW(File_write_at, IS_FILE | IS_TYPE),
    ROW(File_read_all, IS_FILE | IS_TYPE),
    ROW(File_set_view, IS_FILE | IS_TYPE | IS_INFO),
    ROW(File_iwrite, IS_FILE | IS_TYPE),
    ROW(File_get_size, IS_FILE),
    ROW(File_close, IS_FILE),
};

static bool is_skipped(int number)
{
    const char *at = getenv("STORM_SKIP");
    while (at && *at) {
        char *end;
        if (strtol(at, &end, 10) == number)
            return true;
        at = *end ? end + 1 : end;
    }
    return false;
}

/* Makes one or all of the handles of a call wrong. */
static void bend(struct given *given, unsigned fields, bool moves, long which, long how)
{
    int places[FIELDS], count = 0;
    for (int i = 0; i < FIELDS; i++)
        if (fields & 1U << i)
            places[count++] = i;
    for (int i = 0; i < count; i++)
        if (which % (count + 1) == count || which % (count + 1) == i)
            given->of[places[i]] = wrong((enum field)places[i], how, given, moves);
}

static int class_of(int error)
{
    int class = error;
    if (error != MPI_SUCCESS)
        PMPI_Error_class(error, &class);
    return class;
}

/* a[0] selects the call, a[1] the handles that are wrong, a[2] in which way they are wrong, and
 * a[3] the count, the peer and the status. */
static void handle(struct storm_thread *thread, const long *a)
{
    static MPI_Status status;
    const struct call *call = &calls[(size_t)a[0] % (sizeof calls / sizeof *calls)];
    struct given given = {.count = a[3] % 3 ? 0 : 1,
                          .peer = a[3] / 3 % 3 ? 0 : MPI_PROC_NULL,
                          .status = a[3] / 9 % 2 ? MPI_STATUS_IGNORE : &status};
    const int number = call_number++;
    (void)thread;
    if (is_skipped(number))
        return;
    memcpy(given.of, good, sizeof good);
    bend(&given, call->fields, call < calls + MESSAGES, a[1], a[2]);
    handled = 0;
    if (results >= 0)
        dprintf(results, "%d %s(wrong %ld, how %ld, count %d, peer %d)", number, call->name, a[1],
                a[2], given.count, given.peer);
    const int error = call->call(&given);
    if (results >= 0)
        dprintf(results, " = %d, handled %d\n", class_of(error), handled);
}

const struct storm_action storm_handle_actions[] = {
    {"handles_begin", handles_begin}, {"handle", handle}, {"handles_end", handles_end}, {0}};
