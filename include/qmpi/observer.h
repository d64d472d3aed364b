/* SPDX-License-Identifier: MIT */
/*
 * Observers: one pair of callbacks around every MPI function, instead of one interceptor for each.
 *
 *     static void before(const QMPIX_Call *call, QMPIX_Word *word) { word->real = now(); }
 *     static void after(const QMPIX_Call *call, QMPIX_Word *word)
 *     {
 *         add(call->function->number, now() - word->real);
 *     }
 *     static void init(int tool_id)
 *     {
 *         static const QMPIX_Observer observer = {
 *             .size = sizeof observer, .before = before, .after = after};
 *         QMPIX_Register_tool_observer(tool_id, &observer);
 *     }
 *
 * The callbacks get one record of the call, which they only read. A layer may have an observer and
 * interceptors of its own: for a function that has both the observer's callbacks stand around the
 * interceptor. Callbacks make MPI calls as any layer does: PMPI_X for their own needs.
 *
 * The helpers below say what a call means: its bytes, peers, tag, root, communicator and requests.
 * They make PMPI calls alone, between MPI_Init and MPI_Finalize (or in a session); outside they
 * answer MPI_ERR_OTHER where they would need one. They may be called in `before` and in `after`,
 * for the record given there, by the thread that got it. Like all calls of <qmpi/qmpi.h> they
 * return an error class, call no error handler, and set their outputs only on success. In `before`
 * nobody has checked the program's arguments yet: to null handles where there must be an object the
 * answer is MPI_ERR_ARG; any other handle must be valid, or asking MPI about it is an error there.
 *
 * Neither the MPI standard nor the Tools Working Group's draft has observers: all of this is an
 * extension. The groups below are the standard's chapters (of MPI 4.0), and the helpers follow what
 * these say of the calls: bytes as in "Datatypes" (MPI_Type_size), peers and tags as in
 * "Point-to-Point Communication", roots and MPI_IN_PLACE as in "Collective Communication",
 * neighbours as in "Process Topologies", windows as in "One-Sided Communications", requests as in
 * the section "Nonblocking Communication".
 */
#ifndef QMPI_OBSERVER_H
#define QMPI_OBSERVER_H

#include <qmpi/qmpi.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ---- What a function is
 * --------------------------------------------------------------------------
 */

/* What a value is, or where `indirection` is not 0 what is at the end of the pointers. */
typedef enum QMPIX_Kind {
    QMPIX_KIND_OTHER, /* a C type that none of the others names */
    QMPIX_KIND_INT,
    QMPIX_KIND_AINT,
    QMPIX_KIND_COUNT,
    QMPIX_KIND_OFFSET,
    QMPIX_KIND_FINT,
    QMPIX_KIND_DOUBLE,
    QMPIX_KIND_CHAR,
    QMPIX_KIND_BUFFER,   /* void: what the pointer points to another argument tells */
    QMPIX_KIND_FUNCTION, /* a pointer to a function, whatever `indirection` says */
    QMPIX_KIND_STATUS,
    QMPIX_KIND_COMM,
    QMPIX_KIND_DATATYPE,
    QMPIX_KIND_ERRHANDLER,
    QMPIX_KIND_FILE,
    QMPIX_KIND_GROUP,
    QMPIX_KIND_INFO,
    QMPIX_KIND_MESSAGE,
    QMPIX_KIND_OP,
    QMPIX_KIND_REQUEST,
    QMPIX_KIND_SESSION,
    QMPIX_KIND_WIN,
    QMPIX_KIND_T_ENUM,
    QMPIX_KIND_T_CVAR_HANDLE,
    QMPIX_KIND_T_PVAR_HANDLE,
    QMPIX_KIND_T_PVAR_SESSION,
    QMPIX_KIND_T_EVENT,       /* MPI_T_event_registration, MPI_T_event_instance */
    QMPIX_KIND_PCONTROL_WORDS /* QMPIX_Pcontrol_words: what MPI_Pcontrol was given after `level` */
} QMPIX_Kind;

typedef struct QMPIX_Parameter {
    const char *name; /* "dest": as mpi.h has it */
    const char *type; /* "int", "const MPI_Count []": as mpi.h has it */
    QMPIX_Kind kind;
    int indirection; /* 0: the value itself; 1: a pointer or an array; … */
    int is_array;    /* 1: declared with [] */
    int is_const;    /* 1: the call does not write through it */
    size_t size;     /* of what `indirection` pointers lead to, in bytes; 0: not known */
} QMPIX_Parameter;

/* The groups of functions, as the chapters of the MPI standard; a function is in one of them. */
enum {
    QMPIX_GROUP_POINT_TO_POINT = 1 << 0,   /* with probes, cancelling and partitioned calls */
    QMPIX_GROUP_COMPLETION = 1 << 1,       /* Wait…, Test…, Start…, requests, statuses */
    QMPIX_GROUP_COLLECTIVE = 1 << 2,       /* neighbourhood collectives too */
    QMPIX_GROUP_ONE_SIDED = 1 << 3,        /* windows */
    QMPIX_GROUP_IO = 1 << 4,               /* files */
    QMPIX_GROUP_DATATYPE = 1 << 5,         /* with packing and reduction operators */
    QMPIX_GROUP_COMMUNICATOR = 1 << 6,     /* communicators and their attributes */
    QMPIX_GROUP_GROUP = 1 << 7,            /* groups of processes */
    QMPIX_GROUP_TOPOLOGY = 1 << 8,         /* Cart…, Graph…, Dist_graph… */
    QMPIX_GROUP_ENVIRONMENT = 1 << 9,      /* start and end, sessions, errors, memory, clocks */
    QMPIX_GROUP_INFO = 1 << 10,            /* Info… */
    QMPIX_GROUP_PROCESS = 1 << 11,         /* spawning, connecting */
    QMPIX_GROUP_TOOL_INFORMATION = 1 << 12 /* MPI_T_…, MPI_Pcontrol */
};

typedef struct QMPIX_Function {
    enum QMPI_Functions_enum number;
    const char *name; /* "MPI_Send" */
    unsigned group;   /* one of QMPIX_GROUP_… */
    QMPIX_Kind result;
    int parameter_count;
    const QMPIX_Parameter *parameters;
} QMPIX_Function;

/* The description of a function of this MPI; it lives for the whole run. MPI_ERR_ARG also: it lacks
 * the function. */
QMPI_API int QMPIX_Function_describe(enum QMPI_Functions_enum fn, const QMPIX_Function **function);

/* ---- The record of a call
 * -------------------------------------------------------------------------
 */

/* A word of the observer's own, from `before` to `after` of one call; zero in `before`. */
typedef union QMPIX_Word {
    void *pointer;
    unsigned long long number;
    double real;
} QMPIX_Word;

/* One call; valid until the callback returns. */
typedef struct QMPIX_Call {
    const QMPIX_Function *function;
    QMPI_Context context;                  /* of the layer, for this function */
    const struct QMPIX_Observer *observer; /* with its `data` */
    const void *const *arguments; /* [i]: where argument i is, of the type that parameter i has */
    const void *result;           /* where the return value is; NULL in `before` */
    const MPI_Request
        *requests; /* with QMPIX_OBSERVE_REQUESTS, in functions that complete
                      requests:  the handles as they were before the call; else NULL */
    int request_count;
} QMPIX_Call;

enum {
    /* Keeps a copy of the handles that Wait… and Test… are given: the call replaces them. */
    QMPIX_OBSERVE_REQUESTS = 1 << 0,
    /* Where the program gives MPI_STATUS_IGNORE to a receive, a wait or test, or a transfer of a
     * file, or MPI_STATUSES_IGNORE to a wait or test, the layers below get a status, or as many as
     * there are requests, so that `after` finds the true length. */
    QMPIX_OBSERVE_STATUSES = 1 << 1
};

typedef struct QMPIX_Observer {
    size_t size;                                              /* sizeof(QMPIX_Observer) */
    void (*before)(const QMPIX_Call *call, QMPIX_Word *word); /* NULL: none */
    void (*after)(const QMPIX_Call *call, QMPIX_Word *word);  /* NULL: none */
    void *data;                                               /* handed on in every record */
    unsigned groups; /* of QMPIX_GROUP_…: the functions to observe, beside `functions` */
    const enum QMPI_Functions_enum *functions; /* and these */
    int function_count; /* no groups and no functions: every function is observed */
    unsigned flags;     /* of QMPIX_OBSERVE_… */
} QMPIX_Observer;

/*
 * Gives the layer an observer; copied. To be called from `init`, for the layer that it is given:
 * otherwise MPI_ERR_OTHER. Called twice, the last call holds. Functions that this MPI lacks are
 * passed over. Where a call does not return (MPI_Abort) `after` is not called. MPI_ERR_ARG also:
 * unknown groups or flags.
 */
QMPI_API int QMPIX_Register_tool_observer(int tool_id, const QMPIX_Observer *observer);

/* ---- What a call means
 * ----------------------------------------------------------------------------
 */

/* The caller, as QMPI_Context_get_calling_address gives it. */
static inline int QMPIX_Call_get_caller(const QMPIX_Call *call, void **caller)
{
    if (!call || !caller)
        return MPI_ERR_ARG;
    return QMPI_Context_get_calling_address(call->context, call->context->tool_id, caller);
}

/* The place of the parameter `name` in `arguments`. MPI_ERR_ARG also: there is none. */
QMPI_API int QMPIX_Call_find_argument(const QMPIX_Call *call, const char *name, int *index);

/*
 * The bytes that this call hands over to be sent and asks to receive: counts times the size of the
 * datatype (MPI_Type_size), of this process's own buffers, each part of a buffer once.
 *
 *   - A receive that is finished in the call counts what came, where it has a status (see
 *     QMPIX_OBSERVE_STATUSES) and in `after`; else, and for MPI_Irecv and its like, the room given.
 *   - Collectives: `sent` is what is read of this process's data, `received` what is written. At
 * the root of MPI_Bcast `sent` is one message; at the root of MPI_Scatter what all processes get
 *     together. Arguments that are significant at the root alone are read there alone. With
 *     MPI_IN_PLACE data that stays in its place (the root's own in MPI_Gather, MPI_Gatherv,
 *     MPI_Scatter and MPI_Scatterv; its own part of the receive buffer in MPI_Allgather and
 *     MPI_Allgatherv) is not received, nor sent where no other process gets it; elsewhere what is
 *     read is sent. On an intercommunicator the counts are those of the remote group.
 *   - Neighbourhood collectives count existing neighbours alone, not MPI_PROC_NULL.
 *   - One-sided calls: put and accumulate send, get receives, the calls that fetch do both.
 *   - Files: writing sends, reading receives; as for receives the status tells what was done.
 *   - Persistent and partitioned operations count in MPI_Start and MPI_Startall, in full.
 *   - MPI_PROC_NULL and zero counts are no bytes. Other functions: 0 and 0.
 *
 * Either output may be NULL.
 */
QMPI_API int QMPIX_Call_get_bytes(const QMPIX_Call *call, MPI_Count *sent, MPI_Count *received);

/* One message, or one access to a window, that the call starts. */
typedef struct QMPIX_Transfer {
    int sending;     /* 1: from this process to the peer; 0: to this process */
    int peer;        /* rank in the communicator's (remote) group or the window's group; may be
                        MPI_PROC_NULL; MPI_ANY_SOURCE until it is known */
    int world;       /* the peer's rank in MPI_COMM_WORLD (mpi://WORLD in a program with sessions
                        alone); MPI_UNDEFINED: it is not in it, or `peer` is no rank */
    int tag;         /* MPI_ANY_TAG until it is known; MPI_UNDEFINED: it has none */
    MPI_Count bytes; /* as QMPIX_Call_get_bytes counts them */
} QMPIX_Transfer;

/*
 * Calls `each` for every message of a point-to-point call and every one-sided access that this call
 * starts: none, one (MPI_Send), two (MPI_Sendrecv, MPI_Fetch_and_op), more (MPI_Startall).
 * Collectives have none.
 */
QMPI_API int QMPIX_Call_for_each_transfer(const QMPIX_Call *call,
                                          void (*each)(void *data, const QMPIX_Transfer *transfer),
                                          void *data);

/*
 * The communicator that the call is given, whether it communicates on it or asks about it; of
 * MPI_Start the persistent operation's. MPI_ERR_ARG also: it has none.
 */
QMPI_API int QMPIX_Call_get_comm(const QMPIX_Call *call, MPI_Comm *comm);

/* The root of a rooted collective, as given (MPI_ROOT too). MPI_ERR_ARG also: it has none. */
QMPI_API int QMPIX_Call_get_root(const QMPIX_Call *call, int *root);

/* The peer of the first transfer, its world rank, and its tag: see QMPIX_Transfer. MPI_ERR_ARG
 * also: the call has no transfer. Outputs may be NULL. */
QMPI_API int QMPIX_Call_get_peer(const QMPIX_Call *call, int *peer, int *world, int *tag);

/*
 * In `after`: the requests that this call started (new ones of MPI_Isend and its like; those of
 * MPI_Start), and those that it completed (needs QMPIX_OBSERVE_REQUESTS; MPI_REQUEST_NULL and
 * inactive ones among what was given are not distinguished from completed ones by MPI_Wait and
 * MPI_Waitall, except MPI_REQUEST_NULL, which is left out). A completion that failed has completed
 * the requests that it has freed; of MPI_Waitall and its like those whose status says so. Stores at
 * most `capacity` handles and sets `count` to how many there are. MPI_ERR_OTHER: in `before`.
 */
QMPI_API int QMPIX_Call_get_started(const QMPIX_Call *call, int capacity, MPI_Request *requests,
                                    int *count);
QMPI_API int QMPIX_Call_get_completed(const QMPIX_Call *call, int capacity, MPI_Request *requests,
                                      int *count);

/* The rank in MPI_COMM_WORLD of a rank of `comm` (of its remote group if it is an
 * intercommunicator); MPI_UNDEFINED: see QMPIX_Transfer. Any thread that may call MPI. Kept with
 * the communicator, so that asking again is cheap: as an attribute under a key of ours, which the
 * program's own keys never meet and MPI_Comm_free deletes. MPI_ERR_ARG: MPI_COMM_NULL, NULL;
 * MPI_ERR_OTHER: MPI does not say. */
QMPI_API int QMPIX_Comm_world_rank(MPI_Comm comm, int rank, int *world);

#ifdef __cplusplus
}
#endif
#endif
