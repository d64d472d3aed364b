/* SPDX-License-Identifier: MIT */
/* What the tools of tools.c have seen, for the program that runs under them (the same process). */
#ifndef CONFORMANCE_TOOLS_H
#define CONFORMANCE_TOOLS_H

#include "draft.h"

enum { MAX_IDS = 256, MAX_EVENTS = 1 << 16, MAX_NAME = 32 };

/* One call of a tool's `init`, in the order of the calls. */
typedef struct Init {
    char name[MAX_NAME];
    int id;
    long thread;
    int mpi_initialized; /* what PMPI_Initialized said then */
    int name_code;       /* of draft_register_tool_name */
    int storage_code, function_code, get_code;
    Next next_barrier; /* what draft_get_function found for MPI_Barrier in `init` */
} Init;
extern Init inits[MAX_IDS];
extern int init_count;
const Init *init_of(int id); /* NULL: none */

/* An interceptor was entered (`leaving` is 0) or is left. */
typedef struct Event {
    int id;
    int fn;
    int leaving;
    long thread;
    const void *storage; /* of the interceptor's own layer, by its context */
    const void *address; /* only if ask_addresses is set */
    int binding;         /* likewise, DRAFT_BINDING_…; -1: cannot be learnt */
    int code;            /* leaving: what the next function returned */
    long first, second;  /* entering: some arguments, see tools.c */
} Event;
extern Event events[MAX_EVENTS];
int event_count(void);
void forget_events(void);
int entered(int id, int fn);               /* how often; id 0: any layer */
const Event *last_entered(int id, int fn); /* NULL: never */

extern int ask_addresses;
extern char storages[MAX_IDS]; /* layer i registers &storages[i] */

/* What the constructor got. */
extern int codes_of_names[8];
extern const char *const name_cases[8];
extern int unlisted_inits, second_inits;

/* How the tool "nested" calls MPI in its interceptor of MPI_Barrier. */
enum { NEST_NOT, NEST_NEXT, NEST_MPI, NEST_PMPI };
extern int nesting;

extern int replaced_first, replaced_second; /* calls of the interceptors of the tool "replaced" */
extern QMPI_Context kept_context;           /* of the last interceptor that was entered */
extern int kept_id;
extern int context_was_kept;

/* The last MPI_Pcontrol that a layer saw. */
typedef struct Pcontrol {
    int level;
    long word;
    double real;
    int calls;
} Pcontrol;
extern Pcontrol pcontrols[MAX_IDS];

long this_thread(void);
#endif
