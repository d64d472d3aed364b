/* SPDX-License-Identifier: MIT */
/*
 * The faults of layers, and messages about them. The first fault of each kind in a layer is printed
 * at once, because a program may hang or crash as a consequence. All of them are counted, and the
 * numbers of calls are printed at the end of the job: see job.h.
 */
#ifndef VALIDATOR_FAULT_H
#define VALIDATOR_FAULT_H

#include "validate/validate.h"
#include "validator/job.h"

enum fault_kind {
    FAULT_NOT_PASSED,     /* The layer does not call the next function. */
    FAULT_OTHER_FUNCTION, /* It calls another function instead of the next one. */
    FAULT_TWICE,          /* It calls the next function more than once. */
    FAULT_OTHER_THREAD,   /* It calls the next function in another thread. */
    FAULT_OWN_CONTEXT,    /* It passes its own context to the next function. */
    FAULT_OTHER_CONTEXT,  /* It passes on the context of another function or layer. */
    FAULT_NO_CONTEXT,     /* It passes on a pointer that is not a context. */
    FAULT_ARGUMENT,       /* It changes an argument. */
    FAULT_RESULT,         /* It changes the return value. */
    FAULT_OUTPUT,         /* It changes an output, or does not set it. */
    FAULT_RECURSION,      /* It calls MPI_X, which enters the stack at the top. */
    FAULT_AFTER_FINALIZE, /* It calls MPI after its MPI_Finalize has returned. */
    FAULT_COLLECTIVE,     /* It makes a collective call on a communicator of the program. */
    FAULT_STDOUT,         /* It writes to the standard output. */
    FAULT_STORAGE,        /* It writes to the storage of another layer. */
    FAULT_THREAD_LEVEL,   /* It changes the thread level, or needs a higher one. */
    FAULT_THREAD_LEFT,    /* Its thread is still running when the process exits. */
    FAULT_OBJECT_LEFT,    /* It does not free an MPI object. */
    FAULT_REQUEST_LEFT,   /* It does not complete a request. */
    FAULT_COUNT
};

struct fault {
    enum fault_kind kind;
    int tool_id;
    const QMPIX_Function *function; /* the MPI function in whose call the fault occurred */
    QMPI_Context context;           /* a context of the layer; NULL if unknown */
    bool calls;                     /* the layer's code is on the call stack */
    /* The place of the fault in the layer's code. If this is NULL, the place is found on the call
     * stack if `calls` is true, and otherwise from `context`. */
    const void *address;
    const char *detail; /* the text after `the layer `; NULL stands for that of the kind */
};

/* Prepares this file. Must be called before the other functions. */
void fault_start(const struct qmpi_validate_host *host);

/* Counts a fault, and prints it if it is the first of its kind in the layer among the processes of
 * the job on this host. May be called by any thread. */
void fault_report(const struct fault *fault);

/* Returns the address in the layer's code from which the current call comes, or NULL if it is not
 * found. */
const void *fault_find_call(int tool_id);

/* Returns whether this process has found a fault. */
bool fault_was_found(void);

/* Prints in how many calls a fault has occurred. */
void fault_print_counts(const struct job_faults *faults);

#endif
