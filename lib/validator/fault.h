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
    FAULT_NOT_PASSED,     /* The layer does not call the next function, */
    FAULT_OTHER_FUNCTION, /* or another function instead, */
    FAULT_TWICE,          /* or calls it more than once, */
    FAULT_OTHER_THREAD,   /* or calls it in another thread. */
    FAULT_OWN_CONTEXT,    /* The layer passes on its own context, */
    FAULT_OTHER_CONTEXT,  /* or that of another function or layer, */
    FAULT_NO_CONTEXT,     /* or a pointer that is no context. */
    FAULT_ARGUMENT,       /* The layer changes an argument, */
    FAULT_RESULT,         /* or the return value, */
    FAULT_OUTPUT,         /* or changes an output, or does not set it. */
    FAULT_RECURSION,      /* The layer calls MPI_X. */
    FAULT_AFTER_FINALIZE, /* It calls MPI after its MPI_Finalize. */
    FAULT_COLLECTIVE,     /* It makes a collective call on the program's communicator. */
    FAULT_STDOUT,         /* It writes to the standard output. */
    FAULT_STORAGE,        /* It writes to the storage of another layer. */
    FAULT_THREAD_LEVEL,   /* It changes the thread level, or needs a higher one. */
    FAULT_THREAD_LEFT,    /* A thread of it is still running at the end. */
    FAULT_OBJECT_LEFT,    /* It does not free an MPI object. */
    FAULT_REQUEST_LEFT,   /* It does not complete a request. */
    FAULT_COUNT
};

struct fault {
    enum fault_kind kind;
    int tool_id;
    const QMPIX_Function *function; /* the function during whose call it occurred */
    QMPI_Context context;           /* a context of the layer; NULL: unknown */
    bool calls;                     /* the layer's code is on the call stack */
    const void *address; /* its place in the layer's code; NULL: `calls` or `context` tell it */
    const char *detail;  /* the message after the name of the layer; NULL: that of the kind */
};

/* Prepares this file. Must be called before the other functions. */
void fault_start(const struct qmpi_validate_host *host);

/* Counts a fault, and prints it if it is the first of its kind in the layer, in the whole job. Any
 * thread. */
void fault_report(const struct fault *fault);

/* Returns the address in the layer's code from which the current call comes; NULL: not found. */
const void *fault_find_call(int tool_id);

/* Returns whether this process has found a fault. */
bool fault_was_found(void);

/* Prints in how many calls a fault has occurred. */
void fault_print_counts(const struct job_faults *faults);

#endif
