/* SPDX-License-Identifier: MIT */
/*
 * qmpi doctor: declarations for its parts. Each part examines one subject, in this order, and
 * prints findings: ok, notes, and problems with a hint.
 */
#ifndef QMPI_CLI_DOCTOR_DOCTOR_H
#define QMPI_CLI_DOCTOR_DOCTOR_H

#include "process/process.h"

#include <argp.h>
#include <stdbool.h>
#include <sys/types.h>
#include <time.h>

/* ---- Findings: in findings.c ----------------------------------------------------------------- */

void doctor_heading(const char *text);
void doctor_ok(const char *format, ...) __attribute__((format(printf, 1, 2)));
/* The last line of a note or a problem may start with `hint: `. */
void doctor_note(const char *format, ...) __attribute__((format(printf, 1, 2)));
void doctor_wrong(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* Whether a problem with this first line has been printed. */
bool doctor_has_said(const char *line);

/* Returns the number of problems found so far. */
int doctor_count_wrong(void);

/* ---- The parts ------------------------------------------------------------------------------- */

void doctor_look_at_environment(void);
void doctor_look_at_stack(void);
void doctor_look_at_program(const char *name);

/* Whether a file has the name of a launcher. In program.c. */
bool doctor_is_launcher(const char *path);

/* Whether the stack has an entry for this library. In stack.c. */
bool doctor_is_listed(const char *path);

/* Whether the dynamic loader was given this library by LD_PRELOAD. In environment.c. */
bool doctor_is_preloaded(const char *path);

/* ---- Other processes: in child.c ------------------------------------------------------------- */

enum { DOCTOR_PATIENCE = 10 }; /* seconds */

/* Time limit of a process, after which it is considered hanging; 0: none. */
extern int doctor_patience;

/* Implements --timeout; terminates the command if the value is not a number of seconds. */
void doctor_set_patience(const char *text, const struct argp_state *state);

struct doctor_child {
    const char *const *command;   /* its path and its arguments, NULL */
    const char *const *variables; /* name, value, …, NULL: added to our environment */
    bool shown;   /* it shares our output, and its children stay; else its output is captured */
    char *output; /* its output to stdout */
    char *errors; /* its output to stderr */
    int status; /* as from waitpid; -1: it was killed after the time limit, or could not be started
                 */
    pid_t process; /* while it runs; 0: not yet, or not any more */
    int descriptors[2];
    struct timespec deadline;
};

/*
 * Runs commands to completion, several at a time. Free the results with doctor_child_free. A
 * process that exceeds the time limit is killed with its process group.
 */
void doctor_children_run(struct doctor_child *children, int count);

/* The same for one command, whose output is captured. */
struct doctor_child doctor_child_run(const char *const *command, const char *const *variables);
void doctor_child_free(struct doctor_child *child);

/* ---- Trying stacks: in trial.c --------------------------------------------------------------- */

/* Builds a stack as a run would, and lists it, in another process; NULL: the current stack. */
struct doctor_child trial_run(const char *stack);

/* Whether the stack was built, possibly without some tools. */
bool trial_is_good(const struct doctor_child *child);

/*
 * Finds the tools of the current stack that cause a failure. `ended` is the status from waitpid;
 * -1: it hung. Passes each finding, with a hint, to `say`.
 */
void trial_blame(int ended, void (*say)(const char *finding));

/* ---- Libraries and programs: in object.c ----------------------------------------------------- */

/* How an object file uses MPI. */
struct doctor_object {
    char *problem;           /* reason why it cannot be read; NULL: the other members are valid */
    bool mpi_library;        /* it is or contains an MPI library */
    enum qmpi_mpi_kind kind; /* of this library */
    enum qmpi_mpi_kind implementation; /* whose launcher starts its programs */
    bool binding;                      /* it is a Fortran binding of MPI */
    bool qmpi;                         /* it is or contains libqmpi */
    bool native_tool;                  /* it registers a tool */
    bool pmpi_tool;  /* it defines MPI functions, and is neither of these nor a binding */
    bool calls_c;    /* it refers to C functions of MPI */
    bool calls_mpif; /* it refers to procedures of mpif.h or the module mpi */
    bool calls_f08;  /* it refers to procedures of the module mpi_f08 */
    bool loads;      /* it refers to dlopen */
    bool names_mpi;  /* it contains the name of an MPI library as text */
    bool
        holds_static; /* it contains strings of an MPI library, but does not export its functions */
};

/* Reads a library, or with `program` a program. */
struct doctor_object doctor_object_read(const char *path, bool program);

/* ---- The libraries of a program: in libraries.c ---------------------------------------------- */

/* One library: its name in DT_NEEDED, and its file; NULL: not found. */
typedef void doctor_library(void *data, const char *name, const char *path);

/* Calls `add` for each library that the dynamic loader would load for a program, in its order.
 * Returns NULL, or a message with a hint, which the caller frees. */
char *doctor_libraries(const char *path, doctor_library *add, void *data);

/* Returns the file of the MPI library among them; NULL: none. The caller frees it. */
char *doctor_find_mpi(const char *path);

/* Prints in which functions the program's MPI library differs from the one that libqmpi was built
 * with. In functions.c. */
void doctor_look_at_functions(const char *library);

#endif
