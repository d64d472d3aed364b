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
 * The callbacks receive one record of the call, which they must not change. A layer may have both
 * an observer and interceptors: if a function has both, the callbacks run before and after the
 * interceptor. For MPI calls of its own, a callback uses PMPI_X, like any other code of a layer.
 *
 * The helper functions below tell what a call means: its bytes, peers, tag, root, communicator and
 * requests. They make only PMPI calls, and only between MPI_Init and MPI_Finalize (or in a
 * session); at other times, they return MPI_ERR_OTHER if they need such a call. They may be called
 * in `before` and in `after` (some only in `after`), for the record passed to the callback, by the
 * thread that received it. Like all calls of <qmpi/qmpi.h>, they return an error class, do not
 * invoke error handlers, and set outputs only on success. In `before`, the arguments of the program
 * have not been checked yet: for a null handle where an object is required, and for a negative
 * count of elements where bytes are asked for, the result is MPI_ERR_ARG. For a handle that is
 * invalid in another way, such as that of a communicator that was freed, it is MPI_ERR_OTHER:
 * libqmpi checks each handle that MPI has not accepted yet, without invoking an error handler of
 * the program. With libraries of the standard ABI other than MPICH, it can check only communicators
 * that were passed to a helper function in an earlier `after`.
 *
 * Observers are an extension: neither the MPI standard nor the draft of the Tools Working Group
 * defines them. The groups below roughly follow the chapters of the standard (MPI 4.0), and the
 * helper functions follow its definitions: bytes as in "Datatypes" (MPI_Type_size), peers and tags
 * as in "Point-to-Point Communication", roots and MPI_IN_PLACE as in "Collective Communication",
 * neighbors as in "Process Topologies", windows as in "One-Sided Communications", requests as in
 * the section "Nonblocking Communication".
 */
#ifndef QMPI_OBSERVER_H
#define QMPI_OBSERVER_H

#include <qmpi/qmpi.h>

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ---- The description of a function ----------------------------------------------------------- */

/* The kind of a value or, if `indirection` is not 0, of the value that the pointers lead to. */
typedef enum QMPIX_Kind {
    QMPIX_KIND_OTHER, /* any other C type */
    QMPIX_KIND_INT,
    QMPIX_KIND_AINT,
    QMPIX_KIND_COUNT,
    QMPIX_KIND_OFFSET,
    QMPIX_KIND_FINT,
    QMPIX_KIND_DOUBLE,
    QMPIX_KIND_CHAR,
    QMPIX_KIND_BUFFER,   /* void: another argument tells the type of the buffer */
    QMPIX_KIND_FUNCTION, /* a pointer to a function; `indirection` is 0 */
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
    QMPIX_KIND_PCONTROL_WORDS /* QMPIX_Pcontrol_words: the arguments after `level` */
} QMPIX_Kind;

/* One parameter of an MPI function. */
typedef struct QMPIX_Parameter {
    const char *name; /* as in mpi.h: "dest" */
    const char *type; /* as in mpi.h: "int", "const MPI_Count []" */
    QMPIX_Kind kind;
    int indirection; /* 0: the value itself; 1: a pointer or an array; … */
    int is_array;    /* 1: declared with [] */
    int is_const;    /* 1: the function does not write through it */
    size_t size;     /* bytes of the value that `kind` describes; 0: unknown */
} QMPIX_Parameter;

/* The groups of functions, roughly the chapters of the MPI standard. A function is in one group. */
enum {
    QMPIX_GROUP_POINT_TO_POINT = 1 << 0,   /* also probes, cancelling and partitioned calls */
    QMPIX_GROUP_COMPLETION = 1 << 1,       /* Wait…, Test…, Start…, requests, statuses */
    QMPIX_GROUP_COLLECTIVE = 1 << 2,       /* also neighborhood collectives */
    QMPIX_GROUP_ONE_SIDED = 1 << 3,        /* windows */
    QMPIX_GROUP_IO = 1 << 4,               /* files */
    QMPIX_GROUP_DATATYPE = 1 << 5,         /* also packing and reduction operators */
    QMPIX_GROUP_COMMUNICATOR = 1 << 6,     /* communicators and their attributes */
    QMPIX_GROUP_GROUP = 1 << 7,            /* groups of processes */
    QMPIX_GROUP_TOPOLOGY = 1 << 8,         /* Cart…, Graph…, Dist_graph… */
    QMPIX_GROUP_ENVIRONMENT = 1 << 9,      /* initialization, sessions, errors, memory, clocks */
    QMPIX_GROUP_INFO = 1 << 10,            /* Info… */
    QMPIX_GROUP_PROCESS = 1 << 11,         /* spawning, connecting */
    QMPIX_GROUP_TOOL_INFORMATION = 1 << 12 /* MPI_T_…, MPI_Pcontrol */
};

/* The description of an MPI function. */
typedef struct QMPIX_Function {
    enum QMPI_Functions_enum number;
    const char *name; /* "MPI_Send" */
    unsigned group;   /* one of QMPIX_GROUP_… */
    QMPIX_Kind result;
    int parameter_count;
    const QMPIX_Parameter *parameters;
} QMPIX_Function;

/*
 * Returns the description of a function. The description exists for the whole run. MPI_ERR_ARG
 * also: this MPI lacks the function.
 */
QMPI_API int QMPIX_Function_describe(enum QMPI_Functions_enum fn, const QMPIX_Function **function);

/* ---- The record of a call -------------------------------------------------------------------- */

/* A word that an observer passes from `before` to `after` of one call; it is zero in `before`. */
typedef union QMPIX_Word {
    void *pointer;
    unsigned long long number;
    double real;
} QMPIX_Word;

/* The record of one call; valid until the callback returns. */
typedef struct QMPIX_Call {
    const QMPIX_Function *function;
    QMPI_Context context;                  /* the context of the layer for this function */
    const struct QMPIX_Observer *observer; /* the observer, with its `data` */
    const void *const *arguments; /* [i]: address of argument i, of the type of parameter i */
    const void *result;           /* address of the return value; NULL in `before` */
    const MPI_Request *requests;  /* with QMPIX_OBSERVE_REQUESTS, in functions that complete
                                     requests: the handles before the call. Otherwise, or if memory
                                     is exhausted: NULL */
    int request_count;
    unsigned reserved; /* for libqmpi */
} QMPIX_Call;

/* Flags of an observer. */
enum {
    /* Save the handles passed to Wait… and Test…, because the call replaces them. */
    QMPIX_OBSERVE_REQUESTS = 1 << 0,
    /* Pass a status where the program passes MPI_STATUS_IGNORE (to a receive, matched probe, wait,
     * test or file operation), and one status per request where it passes MPI_STATUSES_IGNORE (to a
     * wait or test), so that `after` knows the actual length. */
    QMPIX_OBSERVE_STATUSES = 1 << 1,
    /* The callbacks change the duration or the result of the call, and the layers above see this
     * change as part of the call. */
    QMPIX_OBSERVE_ACTS = 1 << 2,
    /* Read the clock when the call begins and when it has ended: see QMPIX_Call_get_time. */
    QMPIX_OBSERVE_TIME = 1 << 3,
    /* Read the clock also before the callbacks `before`: see QMPIX_Call_get_entry_time. */
    QMPIX_OBSERVE_ENTRY_TIME = 1 << 4,
    /* Follow the creation of communicators, from the beginning: see QMPIX_Comm_get_identity. */
    QMPIX_OBSERVE_COMMS = 1 << 5
};

/* An observer: what it observes, and its callbacks. */
typedef struct QMPIX_Observer {
    size_t size;                                              /* sizeof(QMPIX_Observer) */
    void (*before)(const QMPIX_Call *call, QMPIX_Word *word); /* NULL: none */
    void (*after)(const QMPIX_Call *call, QMPIX_Word *word);  /* NULL: none */
    void *data;                                               /* passed in each record */
    unsigned groups; /* QMPIX_GROUP_…: functions to observe, in addition to `functions` */
    const enum QMPI_Functions_enum *functions; /* further functions to observe */
    int function_count; /* if there are neither groups nor functions, all are observed */
    unsigned flags;     /* QMPIX_OBSERVE_… */
} QMPIX_Observer;

/*
 * Registers the observer of a layer. `observer` is copied; a second call replaces it. Functions
 * that this MPI lacks are ignored. `after` is not called if a call does not return (MPI_Abort).
 * MPI_ERR_ARG also: unknown groups or flags. MPI_ERR_OTHER: not called from `init` for the layer
 * that is being initialized.
 */
QMPI_API int QMPIX_Register_tool_observer(int tool_id, const QMPIX_Observer *observer);

/* ---- The meaning of a call ------------------------------------------------------------------- */

/* Returns the calling address, like QMPI_Context_get_calling_address. */
QMPI_API int QMPIX_Call_get_caller(const QMPIX_Call *call, void **caller);

/* Returns the language binding through which a call came, like QMPIX_Context_get_binding. */
QMPI_API int QMPIX_Call_get_binding(const QMPIX_Call *call, QMPIX_Binding *binding);

/*
 * Returns the readings of the clock around a call, in ticks (<qmpi/clock.h>). Up to 10 adjacent
 * observers share them. An observer with QMPIX_OBSERVE_ACTS, and in some functions one with
 * QMPIX_OBSERVE_STATUSES, does not share those of the layers above it. `begin` was read after all
 * callbacks `before` of the observers that share it, `end` before all their callbacks `after`. The
 * difference therefore contains the call and the layers below these observers, and none of the
 * observers' own work. Needs QMPIX_OBSERVE_TIME. Either output may be NULL. MPI_ERR_OTHER: called
 * in `before`, or the observer lacks the flag.
 */
QMPI_API int QMPIX_Call_get_time(const QMPIX_Call *call, uint64_t *begin, uint64_t *end);

/*
 * Returns, in `before` and in `after`, a reading of the clock that was made before all callbacks
 * `before` of the observers that share it (see QMPIX_Call_get_time). Needs
 * QMPIX_OBSERVE_ENTRY_TIME. MPI_ERR_OTHER: the observer lacks the flag.
 */
QMPI_API int QMPIX_Call_get_entry_time(const QMPIX_Call *call, uint64_t *time);

/*
 * Returns the address at which `begin` of QMPIX_Call_get_time is stored, with `end` directly after
 * it: for tools that find out in another thread or in a signal handler how long a call has been
 * running. Such a tool need not read the clock itself when a call begins. `begin` is 0 until the
 * call begins; `end` is valid in `after`. The address is on the stack of the thread and is valid
 * until the call has returned, or has been left by longjmp or an exception. The distance of the
 * address from the record, to which `call` points, is always the same, so that a tool that knows
 * this distance need not call this function. Needs QMPIX_OBSERVE_TIME. MPI_ERR_OTHER: the observer
 * lacks the flag.
 */
QMPI_API int QMPIX_Call_get_begin_address(const QMPIX_Call *call, const uint64_t **begin);

/*
 * Returns the index of the parameter `name` in `arguments`. Names are those of the MPI standard,
 * whatever the mpi.h of the library calls a parameter. MPI_ERR_ARG also: no such parameter.
 */
QMPI_API int QMPIX_Call_find_argument(const QMPIX_Call *call, const char *name, int *index);

/*
 * Stores argument `index` of a call in `value`, a variable of the type of the parameter:
 *
 *     MPI_Comm comm;
 *     QMPIX_Call_get_argument(call, 5, &comm);
 *
 * A tool that is compiled for the standard ABI of MPI gets handles and constants of the ABI, even
 * if the program's MPI library has other ones. Only the argument itself is converted: a pointer or
 * an array is that of the program, and leads to values of the program's MPI library, which
 * QMPIX_Call_get_elements converts. An address that is a constant (MPI_IN_PLACE, MPI_STATUS_IGNORE,
 * MPI_UNWEIGHTED, …) is replaced with that of the ABI. The call takes some nanoseconds, and no
 * memory. MPI_ERR_ARG also: no such argument.
 */
QMPI_API int QMPIX_Call_get_argument(const QMPIX_Call *call, int index, void *value);

/*
 * Stores in `values` the elements `first` … `first + count - 1` of the array to which argument
 * `index` leads. `values` is an array of the type of these elements. For a pointer to a single
 * value, `first` is 0 and `count` 1. Elements that the function writes can be read in `after`. The
 * array of the program must have at least `first + count` elements. Converts like
 * QMPIX_Call_get_argument. MPI_ERR_ARG also: the argument is not a pointer, its type is unknown (a
 * buffer, whatever its address), or it leads nowhere. These addresses lead nowhere: NULL,
 * MPI_STATUS_IGNORE, MPI_STATUSES_IGNORE, MPI_UNWEIGHTED, MPI_WEIGHTS_EMPTY, MPI_ERRCODES_IGNORE,
 * MPI_ARGV_NULL and MPI_ARGVS_NULL.
 */
QMPI_API int QMPIX_Call_get_elements(const QMPIX_Call *call, int index, int first, int count,
                                     void *values);

/*
 * Converts `count` elements as QMPIX_Call_get_elements does, and stores them in `values`. The tool
 * has copied them to `elements` from the array to which argument `index` leads. The size of each
 * element is the member `size` of the parameter: the size in the program, which may be less than
 * that of the type of a tool that is compiled for the standard ABI. To need only one array, copy
 * the elements to the end of `values`: the two arrays may overlap in this way.
 */
QMPI_API int QMPIX_Call_convert_elements(const QMPIX_Call *call, int index, const void *elements,
                                         int count, void *values);

/*
 * Stores the result of a call in `value`, a variable of the type of the result. An error code that
 * is an error class is converted like an argument; MPI_Error_class gives the class of any code.
 * MPI_ERR_OTHER: called in `before`.
 */
QMPI_API int QMPIX_Call_get_result(const QMPIX_Call *call, void *value);

/*
 * Stores the class of an error code in `error_class`, as MPI_Error_class does, but never invokes an
 * error handler of the program. With some MPI libraries, MPI_Error_class and MPI_Error_string
 * invoke one for a number that is not an error code of MPI. A call may return such a number, for
 * example one that an attribute callback of the program has returned. MPI_ERR_ARG also: `code` is
 * such a number.
 */
QMPI_API int QMPIX_Error_class(int code, int *error_class);

/*
 * Stores request `index` of the member `requests` of the record in `request`. MPI_ERR_ARG also:
 * there is no such request, or the observer lacks the flag QMPIX_OBSERVE_REQUESTS.
 */
QMPI_API int QMPIX_Call_get_request(const QMPIX_Call *call, int index, MPI_Request *request);

/*
 * Stores, in `after`, the number of bytes that a status reports: the length of a message, or of an
 * access to a file. Argument `index` leads to a single status, or to an array, in which the status
 * is element `element`. For an operation that was cancelled, the result is 0. The call takes some
 * nanoseconds, less than a query of MPI. MPI_ERR_ARG also: the argument leads to no status.
 * MPI_ERR_OTHER: MPI does not know the number.
 */
QMPI_API int QMPIX_Call_get_status_bytes(const QMPIX_Call *call, int index, int element,
                                         MPI_Count *bytes);

/*
 * Returns the numbers of bytes that a call sends and receives. They are counts multiplied by the
 * size of the datatype (MPI_Type_size), for buffers of this process. Data that goes to several
 * processes is counted once. Either output may be NULL.
 *
 *   - In `after`, a receive that completed in the call counts the bytes received if it has a status
 *     (see QMPIX_OBSERVE_STATUSES). Otherwise, and for MPI_Irecv and similar calls, it counts the
 *     size of the buffer.
 *   - Collectives: `sent` is the data of this process that is read, `received` the data that is
 *     written. At the root of MPI_Bcast, `sent` is one message; at the root of MPI_Scatter, it is
 *     the data for all processes. Arguments that are significant only at the root are read only
 *     there. With MPI_IN_PLACE, some data stays in place: the root's own data in MPI_Gather,
 *     MPI_Gatherv, MPI_Scatter and MPI_Scatterv, and the process's own part of the receive buffer
 *     in MPI_Allgather and MPI_Allgatherv. Such data does not count as received, and counts as sent
 *     only if another process gets it. In other collectives with MPI_IN_PLACE, all data that is
 *     read counts as sent.
 *   - On an intercommunicator, the number of processes that enters these counts is that of the
 *     remote group; only for the data that MPI_Reduce_scatter and MPI_Reduce_scatter_block read,
 *     it is that of the local group.
 *   - Neighborhood collectives count only neighbors other than MPI_PROC_NULL.
 *   - One-sided calls: put and accumulate send, get receives, calls that fetch do both.
 *   - Files: writing sends, reading receives; the status tells the actual length, as for receives.
 *   - Persistent and partitioned operations count in full in MPI_Start and MPI_Startall.
 *   - MPI_PROC_NULL and counts of zero have no bytes. Other functions, and in `after` calls that
 *     failed: 0 and 0.
 *
 * MPI_ERR_ARG also: in `before`, a count that is negative, or a null handle.
 */
QMPI_API int QMPIX_Call_get_bytes(const QMPIX_Call *call, MPI_Count *sent, MPI_Count *received);

/* One message, or one access to a window, that a call starts. */
typedef struct QMPIX_Transfer {
    int sending; /* 1: from this process to the peer; 0: to this process */
    int peer;    /* rank in the (remote) group of the communicator, or in the group of the
                    window; may be MPI_PROC_NULL; MPI_ANY_SOURCE until known */
    int world;   /* the peer's rank in MPI_COMM_WORLD, or in mpi://WORLD if the program uses only
                    sessions. MPI_UNDEFINED if the peer is not in it, or if `peer` is not a rank. In
                    `before`, also MPI_UNDEFINED for a window whose creation was not observed */
    int tag;     /* MPI_ANY_TAG until known; MPI_UNDEFINED: no tag */
    MPI_Count bytes; /* as QMPIX_Call_get_bytes counts them */
} QMPIX_Transfer;

/*
 * Calls `each` for each point-to-point message and each one-sided access that a call starts: none,
 * one (MPI_Send), two (MPI_Sendrecv, MPI_Fetch_and_op) or more (MPI_Startall). Collectives have no
 * transfers; for neighborhood collectives, see QMPIX_Call_for_each_neighbor. `data` is passed to
 * `each`; `transfer` is valid until `each` returns.
 */
QMPI_API int QMPIX_Call_for_each_transfer(const QMPIX_Call *call,
                                          void (*each)(void *data, const QMPIX_Transfer *transfer),
                                          void *data);

/*
 * Calls `each` for each neighbor with which a neighborhood collective exchanges data, also if
 * MPI_Start or MPI_Startall starts the collective: first for the sources, in the order of the
 * receive buffer, then for the destinations, in the order of the send buffer. A neighbor that is
 * listed several times is visited as often, and MPI_PROC_NULL is left out. `bytes` is what this
 * neighbor sends or gets: in MPI_Neighbor_allgather, each destination gets the whole send buffer,
 * which QMPIX_Call_get_bytes counts once. `tag` is MPI_UNDEFINED.
 *
 * Other calls have no neighbors. A tool that adds up what processes exchange by messages, one-sided
 * accesses and neighborhood collectives makes this call and QMPIX_Call_for_each_transfer; no data
 * is visited by both. `data` is passed to `each`; `transfer` is valid until `each` returns.
 */
QMPI_API int QMPIX_Call_for_each_neighbor(const QMPIX_Call *call,
                                          void (*each)(void *data, const QMPIX_Transfer *transfer),
                                          void *data);

/*
 * Returns the communicator that is passed to a call, even if the call only queries it; for
 * MPI_Start and MPI_Startall, the communicator of the (first) persistent operation; for MPI_Mrecv
 * and MPI_Imrecv, that of the call that matched the message. MPI_ERR_ARG also: the call has no
 * communicator, or it is unknown.
 */
QMPI_API int QMPIX_Call_get_comm(const QMPIX_Call *call, MPI_Comm *comm);

/* Returns the root argument of a collective; it may be MPI_ROOT. MPI_ERR_ARG also: no root. */
QMPI_API int QMPIX_Call_get_root(const QMPIX_Call *call, int *root);

/*
 * Returns the peer of the first transfer of a call, its world rank and its tag: see QMPIX_Transfer.
 * Outputs may be NULL. MPI_ERR_ARG also: the call has no transfer.
 */
QMPI_API int QMPIX_Call_get_peer(const QMPIX_Call *call, int *peer, int *world, int *tag);

/*
 * Returns, in `after`, the requests that a call started or completed. Stores at most `capacity`
 * handles, and sets `count` to the total number. MPI_ERR_OTHER: called in `before`.
 *
 * Started requests are new ones (of MPI_Isend and similar calls) and those of MPI_Start and
 * MPI_Startall. Completed requests need QMPIX_OBSERVE_REQUESTS. MPI_Wait and MPI_Waitall do not
 * distinguish inactive requests from completed ones, so inactive ones are included;
 * MPI_REQUEST_NULL is left out. A call that failed has completed the requests that it freed; a
 * failed MPI_Waitall or similar call has completed those whose status says so, which requires
 * statuses (see QMPIX_OBSERVE_STATUSES) and, in MPI_Testall, a flag that is set.
 *
 * All observers of a call get the same answer. It is read from the record each time that an
 * observer asks, which takes some 14 instructions for each request.
 */
QMPI_API int QMPIX_Call_get_started(const QMPIX_Call *call, int capacity, MPI_Request *requests,
                                    int *count);
QMPI_API int QMPIX_Call_get_completed(const QMPIX_Call *call, int capacity, MPI_Request *requests,
                                      int *count);

/*
 * Returns the rank in MPI_COMM_WORLD of a rank of `comm`, or of its remote group if it is an
 * intercommunicator. MPI_UNDEFINED: see QMPIX_Transfer. May be called by any thread that may call
 * MPI. The result is cached with the communicator, as an attribute with a key that the program does
 * not see and that MPI_Comm_free deletes; further calls are cheap. MPI_ERR_ARG also: `comm` is
 * MPI_COMM_NULL. MPI_ERR_OTHER: a query of MPI failed, or `comm` is not a communicator.
 */
QMPI_API int QMPIX_Comm_world_rank(MPI_Comm comm, int rank, int *world);

/* The identity of a communicator, which is the same on all its members. */
typedef struct QMPIX_Comm_identity {
    size_t size;     /* set by the caller: sizeof(QMPIX_Comm_identity) */
    uint64_t id;     /* not 0 */
    uint64_t parent; /* id of the communicator from which this one was created; 0: none, or not
                        the same one on all members (MPI_Intercomm_create) */
    int processes;   /* number of processes; of both groups of an intercommunicator */
} QMPIX_Comm_identity;

/*
 * Returns the identity of a communicator. Handles differ from process to process and are reused;
 * the id of a communicator is the same on all members, does not change while it exists, and differs
 * from that of each other communicator of the same MPI_COMM_WORLD, including those that were freed
 * before. Ids are hashes of 64 bits, so two of n communicators may have the same id with a
 * probability of about n * n / 4e19. Ids are the same in each run of a program that creates
 * the same communicators in the same order on the same number of processes.
 *
 * Needs QMPIX_OBSERVE_COMMS: if an observer of the stack has this flag, libqmpi notes each creation
 * of a communicator, whatever layers are switched on. It computes the id without communication, in
 * a time proportional to the number of processes. May be called for a communicator in `after` of
 * the call that created it (for MPI_Comm_idup: once the request has completed) and later, by any
 * thread that may call MPI. The identity is stored with the communicator, like the result of
 * QMPIX_Comm_world_rank.
 *
 * Processes that were spawned (MPI_Comm_spawn) have another MPI_COMM_WORLD, with ids as in a
 * separate job: the id of MPI_COMM_WORLD depends only on the number of its processes. Ids of
 * different worlds may therefore be equal, and must not be compared. A communicator with processes
 * of several worlds has no id, so that it cannot be mistaken for another one: its identity is
 * unknown in all of its processes.
 *
 * MPI_ERR_ARG also: `comm` is MPI_COMM_NULL, or the size is too small. MPI_ERR_OTHER: no observer
 * has the flag, or the identity is unknown. It is unknown for communicators from MPI_Comm_spawn,
 * MPI_Comm_accept, MPI_Comm_connect, MPI_Comm_join and MPI_Comm_get_parent, and all others with
 * processes that are not in MPI_COMM_WORLD (in mpi://WORLD if the program uses only sessions); for
 * those that a layer has created by PMPI_X; for those created with a function that is not in the
 * standard; if memory is exhausted; and for all communicators created from one whose identity is
 * unknown, even if all processes of the new one are of one world (except by MPI_Intercomm_create).
 * If a call that creates a communicator fails on some of the members only, later ids may differ
 * between them.
 */
QMPI_API int QMPIX_Comm_get_identity(MPI_Comm comm, QMPIX_Comm_identity *identity);

/*
 * The type signature of data: the sequence of basic datatypes, without their displacements (MPI
 * 4.0, section 5.1, "Derived Datatypes"). All zero: no data.
 */
typedef struct QMPIX_Signature {
    uint64_t hash;   /* of the sequence */
    MPI_Count count; /* number of basic elements */
    int packed;      /* 1: it contains MPI_PACKED, which matches all types */
} QMPIX_Signature;

/*
 * Returns the type signature of one element of a datatype, which need not be committed. Signatures
 * are equal if `hash` and `count` are: equal sequences have the same hash, whatever constructors
 * were used; different ones have different hashes, except with a probability of about count / 2e18.
 * Hashes can be compared between processes of one job.
 *
 * As in the rules for type matching, MPI_BYTE differs from all other types. Basic types with
 * different handles differ even if their representation is the same: MPI_INT differs from
 * MPI_INTEGER and MPI_LONG, and MPI_REAL from MPI_REAL4. Types from MPI_Type_create_f90_real and
 * similar calls are equal if their arguments were. MPI_DOUBLE_INT and similar types count as two
 * elements each, MPI_LB and MPI_UB as none. MPI_PACKED is an element; see `packed`.
 *
 * May be called between MPI_Init and MPI_Finalize, by any thread that may call MPI. The first call
 * for a derived datatype takes time proportional to the arguments of its constructors; the result
 * is cached with the datatype, as an attribute with a key that the program does not see and that
 * MPI_Type_free deletes. MPI_ERR_ARG also: `type` is MPI_DATATYPE_NULL. MPI_ERR_OTHER: a query of
 * MPI failed, `type` is not a datatype, the type has more elements than an MPI_Count can hold,
 * memory is exhausted, or the program uses only sessions.
 */
QMPI_API int QMPIX_Datatype_get_signature(MPI_Datatype type, QMPIX_Signature *signature);

/*
 * Appends `count` copies of the data of `other` to that of `signature`. This makes the signature of
 * a buffer from that of its datatype. Takes time proportional to the logarithms of `count` and of
 * the number of elements of `other`; makes no MPI calls. `other` may be `signature`. MPI_ERR_ARG
 * also: a negative count, or a total that is too large for an MPI_Count; nothing is appended then.
 */
QMPI_API int QMPIX_Signature_append(QMPIX_Signature *signature, const QMPIX_Signature *other,
                                    MPI_Count count);

/* ---- Call sites ------------------------------------------------------------------------------ */

/*
 * Returns the callers of an MPI call, innermost first: the calling address, as
 * QMPIX_Call_get_caller returns it, and the return addresses above it, up to `main`, the first
 * function of the thread, or a function without unwind information (.eh_frame). Frames of libqmpi,
 * of layers and of language bindings of the MPI library are left out. Stores at most `capacity`
 * addresses, and sets `count` to the number stored.
 *
 * Takes no lock and uses no malloc; may also be called in signal handlers and on stacks of any
 * kind. The first call from a place takes microseconds for each frame, further ones nanoseconds. In
 * the handler of a signal, the callers of the interrupted code may be incomplete: at an interrupted
 * instruction, the unwind information of compilers is not always right. The callers end at a
 * function whose unwind information is damaged, or of a kind that compilers do not use.
 */
QMPI_API int QMPIX_Call_get_callers(const QMPIX_Call *call, int capacity, void **callers,
                                    int *count);

/*
 * Returns the path of the library or program that contains an address, and the offset of the
 * address from the lowest one at which the library is mapped. Unlike the address, the path and the
 * offset are the same in all processes of a job. The path is absolute, and has no symbolic links.
 * The string exists until the process ends.
 *
 * If no library is mapped at the address, the result is the last library that was seen there: a
 * library is seen when an address in it is passed to this call or returned by
 * QMPIX_Call_get_callers. Addresses of a library that was closed (dlclose) are thus found if it was
 * seen before. MPI_ERR_ARG also: no library was seen there, or memory is exhausted.
 *
 * May be called by any thread, also in a signal handler. Takes some tens of nanoseconds, and
 * microseconds for the first address of each library.
 */
QMPI_API int QMPIX_Address_find(const void *address, const char **library, size_t *offset);

/*
 * Registers a callback that is called after the program has closed a library (dlclose) that was
 * seen as QMPIX_Address_find says. From then on, addresses from `begin` to below `end` may belong
 * to another library. A tool that stores data by address forgets these data here, or stores them by
 * `library` and the distance of the address from `begin`, which are what QMPIX_Address_find
 * returned until now.
 *
 * The callback is called in the thread that closes the library, before dlclose returns, also within
 * an MPI call and at the same time as other callbacks of the tool. It must neither wait for a lock
 * nor make calls of MPI or libqmpi, except QMPIX_Address_find. A later registration for the same
 * layer replaces the callback. A library may be reported more than once. Nothing is reported if
 * dlclose is not libqmpi's own: in programs that are linked with libqmpi.a, and if libqmpi was
 * opened with dlopen.
 */
typedef void QMPIX_Library_closed(int tool_id, const char *library, const void *begin,
                                  const void *end);
QMPI_API int QMPIX_Register_library_closed(int tool_id, QMPIX_Library_closed *callback);

/* A function at an address. Strings that are not known are NULL. */
typedef struct QMPIX_Frame {
    const char *function; /* as in the source; C++: with its parameters */
    const char *file;     /* source file */
    int line;             /* 0: unknown */
} QMPIX_Frame;

/* The place of an address in the source code. */
typedef struct QMPIX_Address {
    const char *library; /* as QMPIX_Address_find returns it */
    size_t offset;
    int frame_count;           /* 0: no function is known */
    const QMPIX_Frame *frames; /* several if functions were inlined: the innermost one, the function
                                  that it was inlined in, …, the function that has the code */
} QMPIX_Address;

/*
 * Describes the call that returns to an address: function, source file and line, from the debug
 * information of the library or its separate debug file (by build-id or .gnu_debuglink); without
 * debug information, only the function, from the symbol table. The address is one that
 * QMPIX_Call_get_caller or QMPIX_Call_get_callers returned; the line is that of the call, although
 * the address is that of the instruction after it. Only local files are read; debuginfod servers
 * are not queried. If qmpi is installed without libdw, only exported functions are known.
 *
 * The description and its strings exist until the process ends, and must not be changed. A second
 * look-up of an address returns the same description; it takes some nanoseconds and uses no lock.
 * If the library was closed (dlclose) and another one is mapped at the address, the description is
 * that of the new one. QMPIX_Address_find explains which closed libraries are known.
 *
 * The first look-up of an address reads the debug information, which may take milliseconds, or
 * seconds if there is much of it. This look-up may wait for locks, uses malloc, and needs up to a
 * megabyte of stack: do not make it in a signal handler, or in a thread with a small stack. The
 * first one in a process, or after QMPIX_Debug_info_release, loads a library. MPI_ERR_ARG also: no
 * library is known, or memory is exhausted.
 */
QMPI_API int QMPIX_Address_describe(const void *address, const QMPIX_Address **description);

/*
 * Describes a place like QMPIX_Address_describe, for a library and an offset that
 * QMPIX_Address_find returned, perhaps in another process of the job. Here, even a second look-up
 * uses a lock. MPI_ERR_OTHER: memory is exhausted.
 */
QMPI_API int QMPIX_Library_describe(const char *library, size_t offset,
                                    const QMPIX_Address **description);

/*
 * Frees the memory that reading debug information takes: a megabyte, or more if there is much debug
 * information. Descriptions stay valid. To describe an address that was not described before, the
 * debug information is read again. This function is for tools that describe addresses only now and
 * then, such as at the end of a run. May be called by any thread, but not in a signal handler.
 */
QMPI_API void QMPIX_Debug_info_release(void);

#ifdef __cplusplus
}
#endif
#endif
