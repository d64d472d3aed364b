/* SPDX-License-Identifier: MIT */
/* The records of the tools in tools.c, for the program in the same process. */
#ifndef CONFORMANCE_TOOLS_H
#define CONFORMANCE_TOOLS_H

#include "draft.h"

enum { MAX_IDS = 256, MAX_EVENTS = 1 << 16, MAX_NAME = 32 };

/* One call of a tool's `init`, in the order of the calls. */
typedef struct Init {
    char name[MAX_NAME];
    int id;
    long thread;
    int mpi_initialized; /* the result of PMPI_Initialized at that time */
    int storage_code, function_code, get_code;
    Next next_barrier; /* the result of draft_get_function for MPI_Barrier in `init` */
} Init;
extern Init inits[MAX_IDS];
extern int init_count;
const Init *init_of(int id); /* NULL if there is none */

/* The entry of an interceptor (`leaving` is 0), or its end. */
typedef struct Event {
    int id;
    int fn;
    int leaving;
    long thread;
    const void *storage; /* of the interceptor's own layer, obtained by its context */
    const void *address; /* only if ask_addresses is set */
    int binding;         /* only if ask_addresses is set: DRAFT_BINDING_…, or -1 if unknown */
    int code;            /* at the end: the result of the next function */
    long first, second;  /* at the entry: some arguments, see tools.c */
} Event;
extern Event events[MAX_EVENTS];
int event_count(void);
void forget_events(void);
int entered(int id, int fn);               /* number of calls; id 0 stands for all layers */
const Event *last_entered(int id, int fn); /* NULL if there was no call */

extern int ask_addresses;
extern char storages[MAX_IDS]; /* layer i registers &storages[i] */

/* Results of draft_register_tool_name in the constructor: for "alpha", for "unlisted", and for a
 * name of 255 characters. */
extern int codes_of_names[8];

/* Numbers of calls of init functions that must not be called. */
extern int unlisted_inits, second_inits;

/* How the tool "nested" calls MPI in its interceptor of MPI_Barrier. */
enum { NEST_NOT, NEST_NEXT, NEST_MPI, NEST_PMPI };
extern int nesting;

extern int replaced_first, replaced_second; /* numbers of calls of the interceptors of the tool
                                               "replaced" */
extern QMPI_Context kept_context;           /* of the last recorded call */
extern int kept_id;
extern int context_was_kept;

/* The last call of MPI_Pcontrol that a layer saw, and the number of calls that it has seen. */
typedef struct Pcontrol {
    int level;
    long word;
    double real;
    int calls;
} Pcontrol;
extern Pcontrol pcontrols[MAX_IDS];

long this_thread(void);
#endif
