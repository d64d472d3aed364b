/* SPDX-License-Identifier: MIT */
/*
 * The storm's program, which interprets a script. Each line of the script is a step of one thread
 * in one phase. Between phases, threads wait for each other. Almost all MPI calls are made by M(),
 * which first records the call in the ledger.
 */
#ifndef STORM_PROGRAM_H
#define STORM_PROGRAM_H

#include "../ledger.h"
#include "storm_numbers.h"

#include <mpi.h>

enum { STORM_THREADS = 8, STORM_ARGUMENTS = 4 };

struct storm_thread {
    int number;
    MPI_Comm comm;    /* the thread's own communicator of all processes */
    int fortran_comm; /* its handle in Fortran */
    uint64_t prime;   /* part of the data of messages; increases with each message */
};

struct storm_step {
    int phase, thread;
    const struct storm_action *action;
    long a[STORM_ARGUMENTS];
};

/* A kind of step. `a` points to the STORM_ARGUMENTS numbers of the step, of which missing ones are
 * 0. */
struct storm_action {
    const char *name;
    void (*run)(struct storm_thread *thread, const long *a);
};

extern struct storm_ledger *storm; /* not NULL while a script is carried out */
extern struct storm_thread storm_threads[STORM_THREADS];
extern int storm_thread_count, storm_rank, storm_size;
extern int storm_level; /* the provided thread level, MPI_THREAD_… */
extern int storm_verbose;

/* Returns the caller of this thread; async-signal-safe. */
struct storm_caller *storm_caller(void);

/* Returns QMPIX_Tool_set_enabled, or NULL if QMPI_TOOLS is not set or there are no layers. */
int (*storm_set_enabled(void))(int, int);

/* Tables of actions; each ends with a row without a name. */
extern const struct storm_action storm_message_actions[], storm_collective_actions[],
    storm_object_actions[], storm_callback_actions[], storm_memory_actions[],
    storm_information_actions[], storm_lifecycle_actions[], storm_switch_actions[],
    storm_plugin_actions[], storm_signal_actions[], storm_process_actions[], storm_handle_actions[],
    storm_fortran_actions[];

/* Reads the script, the file $STORM_SCRIPT, and carries it out. Returns 0. */
int storm_run(void);

/* storm_leave_rest lets storm_run return after the present phase. storm_run_rest then carries out
 * the steps of the first thread in all later phases. */
void storm_leave_rest(void);
void storm_run_rest(void);

#define M(X, ARGUMENTS) (storm_add(&storm->program[STORM_##X], 1), MPI_##X ARGUMENTS)

/* If the condition is false, records a difference. */
#define CHECK(condition)                                                                           \
    ((condition) ? (void)0                                                                         \
                 : storm_wrong(storm, "%s:%d: not so: %s", strrchr("/" __FILE__, '/') + 1,         \
                               __LINE__, #condition))

/* Makes an MPI call that must succeed. */
#define OK(X, ARGUMENTS)                                                                           \
    do {                                                                                           \
        const int storm_error = M(X, ARGUMENTS);                                                   \
        if (storm_error != MPI_SUCCESS)                                                            \
            storm_wrong(storm, "%s:%d: MPI_%s returned %d", strrchr("/" __FILE__, '/') + 1,        \
                        __LINE__, #X, storm_error);                                                \
    } while (0)

#endif
