/* SPDX-License-Identifier: MIT */
/*
 * The meaning of MPI functions: what a call does, which argument plays which role, which constants
 * a parameter may be, and how long its arrays are. A tool that handles a kind of function, such as
 * all that complete requests, selects it by its traits and not by a list of names. It thus knows
 * the functions that a later version of MPI adds, as soon as libqmpi knows them.
 *
 * Look traits up in `init`, and keep them by the numbers of functions: the calls below take some
 * hundred nanoseconds. They may be called at any time, by any thread, and make no MPI calls.
 */
#ifndef QMPI_TRAITS_H
#define QMPI_TRAITS_H

#include <qmpi/observer.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ---- Functions ------------------------------------------------------------------------------- */

/* The roles of functions. Later versions of this header may define further roles. */
typedef enum QMPIX_Role {
    QMPIX_ROLE_NONE, /* anything else */
    QMPIX_ROLE_INIT, /* MPI_Init, MPI_Init_thread */
    QMPIX_ROLE_FINALIZE,
    QMPIX_ROLE_SESSION_INIT,
    QMPIX_ROLE_SESSION_FINALIZE,
    QMPIX_ROLE_ABORT,
    QMPIX_ROLE_PCONTROL,
    QMPIX_ROLE_SEND,
    QMPIX_ROLE_RECEIVE,
    QMPIX_ROLE_SENDRECV,        /* also MPI_Sendrecv_replace */
    QMPIX_ROLE_PROBE,           /* MPI_Probe, MPI_Iprobe */
    QMPIX_ROLE_MATCHED_PROBE,   /* MPI_Mprobe, MPI_Improbe */
    QMPIX_ROLE_MATCHED_RECEIVE, /* MPI_Mrecv, MPI_Imrecv */
    QMPIX_ROLE_PARTITION,       /* MPI_Pready, MPI_Parrived, … */
    QMPIX_ROLE_START,           /* starts persistent operations: MPI_Start, MPI_Startall */
    QMPIX_ROLE_COMPLETE,        /* completes requests: MPI_Wait, MPI_Testsome, … */
    QMPIX_ROLE_REQUEST_STATUS,  /* asks about requests, and does not free them:
                                   MPI_Request_get_status, … */
    QMPIX_ROLE_REQUEST_FREE,
    QMPIX_ROLE_CANCEL,
    QMPIX_ROLE_COLLECTIVE, /* a collective operation on a communicator: see `collective` */
    QMPIX_ROLE_COMM_CREATE,
    QMPIX_ROLE_COMM_FREE, /* also MPI_Comm_disconnect */
    QMPIX_ROLE_COMM_NAME, /* MPI_Comm_set_name */
    QMPIX_ROLE_WIN_CREATE,
    QMPIX_ROLE_WIN_FREE,
    QMPIX_ROLE_WIN_NAME,
    QMPIX_ROLE_WIN_FENCE,
    QMPIX_ROLE_ACCESS, /* accesses the memory of another process: see `access` */
    QMPIX_ROLE_FILE_OPEN,
    QMPIX_ROLE_FILE_CLOSE,
    QMPIX_ROLE_FILE_ACCESS, /* reads or writes a file: see `access` */
    QMPIX_ROLE_FILE_BEGIN, /* the first half of a split access, with the arguments that describe the
                              data */
    QMPIX_ROLE_FILE_END,
    QMPIX_ROLE_TYPE_FREE,
    QMPIX_ROLE_TYPE_NAME
} QMPIX_Role;

/* Traits of a function that are true or false. */
enum {
    QMPIX_TRAIT_ERROR = 1 << 0,       /* its result is an error code */
    QMPIX_TRAIT_NONBLOCKING = 1 << 1, /* it starts an operation, and returns a request of it */
    QMPIX_TRAIT_PERSISTENT = 1 << 2,  /* it returns a request of an operation to be started */
    QMPIX_TRAIT_PARTITIONED = 1 << 3, /* the operation has partitions */
    QMPIX_TRAIT_POLLS = 1 << 4,       /* it asks whether something has come or completed, and does
                                         not wait: argument `flag` tells, or `outcount` if `flag`
                                         is -1 */
    QMPIX_TRAIT_BUFFERED = 1 << 5,    /* the mode of a send; also the next two */
    QMPIX_TRAIT_READY = 1 << 6,
    QMPIX_TRAIT_SYNCHRONOUS = 1 << 7,
    QMPIX_TRAIT_COLLECTIVE = 1 << 8, /* all processes of its communicator, window or file call it */
    QMPIX_TRAIT_IRREGULAR = 1 << 9,  /* the counts of a collective may differ between processes */
    QMPIX_TRAIT_NEIGHBORHOOD = 1 << 10, /* a collective with the neighbors in a topology */
    QMPIX_TRAIT_ALLOCATES = 1 << 11,    /* it allocates the memory of the window */
    QMPIX_TRAIT_CREATES = 1 << 12,      /* the handles that it returns are new objects, which the
                                           caller frees; requests, attribute keys and handles of
                                           MPI_T are not meant */
    QMPIX_TRAIT_ANY_TIME = 1 << 13,     /* it may be called before MPI is initialized and after MPI
                                           is finalized */
    QMPIX_TRAIT_ANY_THREAD = 1 << 14    /* any thread may call it, whatever the thread level is */
};

/* The operation of a collective. */
typedef enum QMPIX_Collective {
    QMPIX_COLLECTIVE_NONE,
    QMPIX_COLLECTIVE_BARRIER,
    QMPIX_COLLECTIVE_BCAST,
    QMPIX_COLLECTIVE_GATHER,
    QMPIX_COLLECTIVE_GATHERV,
    QMPIX_COLLECTIVE_SCATTER,
    QMPIX_COLLECTIVE_SCATTERV,
    QMPIX_COLLECTIVE_ALLGATHER,
    QMPIX_COLLECTIVE_ALLGATHERV,
    QMPIX_COLLECTIVE_ALLTOALL,
    QMPIX_COLLECTIVE_ALLTOALLV,
    QMPIX_COLLECTIVE_ALLTOALLW,
    QMPIX_COLLECTIVE_ALLREDUCE,
    QMPIX_COLLECTIVE_REDUCE,
    QMPIX_COLLECTIVE_REDUCE_SCATTER,
    QMPIX_COLLECTIVE_REDUCE_SCATTER_BLOCK,
    QMPIX_COLLECTIVE_SCAN,
    QMPIX_COLLECTIVE_EXSCAN,
    QMPIX_COLLECTIVE_OTHER
} QMPIX_Collective;

/* The flow of data in a collective: from which other processes a process gets data or a
 * notification, so that it waits for them. Functions that create communicators and windows, free
 * windows or open files have a flow, too. */
typedef enum QMPIX_Flow {
    QMPIX_FLOW_NONE, /* not known */
    QMPIX_FLOW_ALL,  /* each from all others */
    QMPIX_FLOW_FROM_ROOT,
    QMPIX_FLOW_TO_ROOT,
    QMPIX_FLOW_SCAN,   /* from all processes with a lower rank: MPI_Scan */
    QMPIX_FLOW_EXSCAN, /* from all processes with a lower rank: MPI_Exscan */
    QMPIX_FLOW_NEIGHBORS
} QMPIX_Flow;

/* How a call accesses a window or a file. */
typedef enum QMPIX_Access {
    QMPIX_ACCESS_NONE,
    QMPIX_ACCESS_PUT,
    QMPIX_ACCESS_GET,
    QMPIX_ACCESS_ACCUMULATE,
    QMPIX_ACCESS_FETCH, /* accumulates, and returns what was there: MPI_Fetch_and_op, … */
    QMPIX_ACCESS_COMPARE_AND_SWAP,
    QMPIX_ACCESS_READ,
    QMPIX_ACCESS_WRITE
} QMPIX_Access;

/*
 * The traits of a function. Arguments are indices of the parameters, and -1 if the function has no
 * such argument. Later versions of this header may add members at the end.
 */
typedef struct QMPIX_Traits {
    size_t size; /* set by the caller: sizeof(QMPIX_Traits) */
    QMPIX_Role role;
    unsigned flags; /* QMPIX_TRAIT_… */
    QMPIX_Collective collective;
    QMPIX_Flow flow;
    QMPIX_Access access;

    int comm, window, file; /* passed to the call; a pointer if the call frees the object */
    int created;            /* the communicator, window or file that the call creates */
    int request;  /* a pointer to one request, or to an array if the function has `requests` */
    int requests; /* the number of elements of this array */
    int message;
    int status, statuses; /* one, or an array */
    int flag, index, outcount, indices;
    int send_buffer, send_count, send_type, destination, send_tag;
    int receive_buffer, receive_count, receive_type, source, receive_tag;
    int partitions, root, op;
} QMPIX_Traits;

/*
 * Stores the traits of a function in `traits`: as many members as its member `size` includes.
 * `function` is a description that QMPIX_Function_describe has returned, or that of a call.
 * MPI_ERR_ARG also: the size is less than that of the first version of QMPIX_Traits.
 */
QMPI_API int QMPIX_Function_get_traits(const QMPIX_Function *function, QMPIX_Traits *traits);

/* ---- Parameters ------------------------------------------------------------------------------ */

/* The constants that an argument, or the elements of an array, may be. Later versions of this
 * header may define further ones. */
typedef enum QMPIX_Constants {
    QMPIX_CONSTANTS_NONE, /* a plain value, or a handle: see the kind of the parameter */
    QMPIX_CONSTANTS_RANK, /* MPI_ANY_SOURCE, MPI_PROC_NULL, MPI_ROOT, MPI_UNDEFINED */
    QMPIX_CONSTANTS_TAG,  /* MPI_ANY_TAG, MPI_UNDEFINED */
    QMPIX_CONSTANTS_ERROR,
    QMPIX_CONSTANTS_THREAD,     /* MPI_THREAD_… */
    QMPIX_CONSTANTS_COMPARISON, /* MPI_IDENT, … */
    QMPIX_CONSTANTS_TOPOLOGY,   /* MPI_CART, … */
    QMPIX_CONSTANTS_FILE_MODE,  /* MPI_MODE_… of files; bits */
    QMPIX_CONSTANTS_ASSERT,     /* MPI_MODE_… of windows; bits */
    QMPIX_CONSTANTS_LOCK,
    QMPIX_CONSTANTS_WHENCE, /* MPI_SEEK_… */
    QMPIX_CONSTANTS_COMBINER,
    QMPIX_CONSTANTS_ORDER,
    QMPIX_CONSTANTS_DISTRIBUTION,
    QMPIX_CONSTANTS_DISTRIBUTION_ARGUMENT,
    QMPIX_CONSTANTS_SPLIT,      /* MPI_COMM_TYPE_… */
    QMPIX_CONSTANTS_TYPE_CLASS, /* MPI_TYPECLASS_… */
    QMPIX_CONSTANTS_KEYVAL,
    QMPIX_CONSTANTS_VERBOSITY, /* of MPI_T, like those that follow */
    QMPIX_CONSTANTS_BINDING,
    QMPIX_CONSTANTS_SCOPE,
    QMPIX_CONSTANTS_VARIABLE_CLASS,
    QMPIX_CONSTANTS_SAFETY,
    QMPIX_CONSTANTS_SOURCE_ORDER,
    QMPIX_CONSTANTS_WEIGHTS,          /* MPI_UNWEIGHTED, MPI_WEIGHTS_EMPTY: addresses */
    QMPIX_CONSTANTS_BOOLEAN,          /* 0 and 1 */
    QMPIX_CONSTANTS_UNDEFINED,        /* a number or MPI_UNDEFINED */
    QMPIX_CONSTANTS_BUFFER,           /* an address of data or MPI_BOTTOM */
    QMPIX_CONSTANTS_COLLECTIVE_BUFFER /* also MPI_IN_PLACE */
} QMPIX_Constants;

/* When the value to which a pointer leads is valid. */
typedef enum QMPIX_Direction {
    QMPIX_DIRECTION_IN,  /* before the call, which reads it */
    QMPIX_DIRECTION_OUT, /* after the call, which writes it */
    QMPIX_DIRECTION_INOUT,
    QMPIX_DIRECTION_ADDRESS /* the call is passed an address: of data, or of an array of unknown
                               length */
} QMPIX_Direction;

/* The length of an array: the number of its elements, or of strings. `of` is the parameter in the
 * member `of` of QMPIX_Parameter_traits. */
typedef enum QMPIX_Length {
    QMPIX_LENGTH_ONE,     /* a pointer to one value, a string, or an array of unknown length */
    QMPIX_LENGTH_OF,      /* as many as `of` says */
    QMPIX_LENGTH_OF_ROOT, /* the same, for an argument that is significant only at the root */
    QMPIX_LENGTH_SUM,     /* as many as the elements of array `of` add up to */
    QMPIX_LENGTH_SUM_ROOT,
    QMPIX_LENGTH_LAST,    /* as many as the last element of array `of` says */
    QMPIX_LENGTH_STRINGS, /* strings up to a NULL */
    QMPIX_LENGTH_STRINGS_ROOT,
    QMPIX_LENGTH_ROOM, /* a string that the call writes, in a buffer of the size that `of` gives */
    QMPIX_LENGTH_STATUS, /* the integers of a status in Fortran */
    QMPIX_LENGTH_PEERS,  /* the processes of the communicator, or of its remote group */
    QMPIX_LENGTH_PEERS_ROOT,
    QMPIX_LENGTH_LOCAL, /* the processes of the communicator's local group */
    QMPIX_LENGTH_INDEGREE,
    QMPIX_LENGTH_OUTDEGREE,
    QMPIX_LENGTH_DIMENSIONS,
    QMPIX_LENGTH_NODES, /* of a graph; `of` limits this length and those that follow */
    QMPIX_LENGTH_EDGES,
    QMPIX_LENGTH_NEIGHBORS,
    QMPIX_LENGTH_INTEGERS, /* of the contents of a datatype */
    QMPIX_LENGTH_ADDRESSES,
    QMPIX_LENGTH_COUNTS,
    QMPIX_LENGTH_DATATYPES
} QMPIX_Length;

/* The traits of a parameter. Later versions of this header may add members at the end. */
typedef struct QMPIX_Parameter_traits {
    size_t size; /* set by the caller: sizeof(QMPIX_Parameter_traits) */
    QMPIX_Constants constants;
    QMPIX_Direction direction; /* of what is not a pointer: QMPIX_DIRECTION_IN */
    QMPIX_Length length;
    int of; /* index of a parameter; -1: none */
} QMPIX_Parameter_traits;

/*
 * Stores the traits of parameter `index` of a function in `traits`: as many members as its member
 * `size` includes. MPI_ERR_ARG also: no such parameter, or the size is less than that of the first
 * version of QMPIX_Parameter_traits.
 */
QMPI_API int QMPIX_Function_get_parameter_traits(const QMPIX_Function *function, int index,
                                                 QMPIX_Parameter_traits *traits);

#ifdef __cplusplus
}
#endif
#endif
