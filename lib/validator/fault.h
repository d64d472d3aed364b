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
    FAULT_NOT_PASSED,     /* the next function is not called */
    FAULT_OTHER_FUNCTION, /* another function is called instead */
    FAULT_TWICE,          /* it is called more than once */
    FAULT_OTHER_THREAD,   /* it is called in another thread */
    FAULT_OWN_CONTEXT,    /* the layer passes on its own context */
    FAULT_OTHER_CONTEXT,  /* or one of another function or layer */
    FAULT_NO_CONTEXT,     /* or NULL, or what is no context at all */
    FAULT_ARGUMENT,       /* an argument is changed */
    FAULT_RESULT,         /* the return value is changed */
    FAULT_OUTPUT,         /* an output is changed or not set */
    FAULT_RECURSION,      /* the layer calls MPI_X */
    FAULT_AFTER_FINALIZE, /* the layer calls MPI after its MPI_Finalize */
    FAULT_COLLECTIVE,     /* the layer makes a collective call on the program's communicator */
    FAULT_STDOUT,         /* the layer writes to the standard output */
    FAULT_STORAGE,        /* it writes to the storage of another layer */
    FAULT_THREAD_LEVEL,   /* it changes the thread level, or needs a higher one */
    FAULT_THREAD_LEFT,    /* a thread of the layer is running at the end */
    FAULT_OBJECT_LEFT,    /* an MPI object of the layer is not freed */
    FAULT_REQUEST_LEFT,   /* a request of the layer is not completed */
    FAULT_COUNT
};

/* One fault. */
struct fault {
    enum fault_kind kind;
    int tool_id;
    const QMPIX_Function *function; /* during whose call it happened */
    QMPI_Context context;           /* a context of the layer; NULL: unknown */
    bool calls;                     /* the layer's code is on the call stack */
    const void *address;            /* where it is in the layer's code; NULL: see the others */
    const char *detail;             /* what exactly is wrong, after the name of the layer; NULL: the
                                       usual words of the kind */
};

/* Prepares messages. */
void fault_start(const struct qmpi_validate_host *host);

/* Counts a fault, and prints it if it is the first of its kind in the layer, in the whole job. Any
 * thread. */
void fault_report(const struct fault *fault);

/* Returns the address in the layer's code from which the current call comes; NULL: not found. */
const void *fault_find_call(int tool_id);

/* Whether this process has found a fault. */
bool fault_was_found(void);

/* Prints in how many calls a fault has occurred. */
void fault_print_counts(const struct job_faults *faults);

#endif
