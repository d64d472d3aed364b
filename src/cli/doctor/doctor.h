/* SPDX-License-Identifier: MIT */
/*
 * qmpi doctor: what its parts share. Each part looks at one thing, in this order, and prints
 * findings: what is well, what is worth knowing, and what is wrong together with a hint.
 */
#ifndef QMPI_CLI_DOCTOR_DOCTOR_H
#define QMPI_CLI_DOCTOR_DOCTOR_H

#include <argp.h>
#include <stdbool.h>
#include <sys/types.h>
#include <time.h>

/* ---- Findings: in findings.c -------------------------------------------------------------
 */

void doctor_heading(const char *text);
void doctor_ok(const char *format, ...) __attribute__((format(printf, 1, 2)));
/* A note or a wrong finding may end in a line that begins with `hint: `. */
void doctor_note(const char *format, ...) __attribute__((format(printf, 1, 2)));
void doctor_wrong(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* Whether a wrong finding began with this line. */
bool doctor_has_said(const char *line);

/* How many findings were wrong so far. */
int doctor_count_wrong(void);

/* ---- The parts ----------------------------------------------------------------------------------
 */

void doctor_look_at_qmpi(void);
/* Whether the stack can be tried: two libqmpi in a process wait for each other. */
bool doctor_look_at_environment(void);
void doctor_look_at_stack(void);
void doctor_look_at_program(const char *name);

/* Whether a file is called as launchers are. In program.c. */
bool doctor_is_launcher(const char *path);

/* Whether the stack has an entry for this library. In stack.c. */
bool doctor_is_listed(const char *path);

/* Whether the dynamic loader was given this library by LD_PRELOAD. In environment.c. */
bool doctor_is_preloaded(const char *path);

/* ---- Other processes: in child.c ---------------------------------------------------------
 */

enum { DOCTOR_PATIENCE = 10 }; /* seconds */

/* How long a process may take until it counts as one that hangs; 0: for ever. */
extern int doctor_patience;

/* What --timeout says; ends the command where it is no number of seconds. */
void doctor_set_patience(const char *text, const struct argp_state *state);

struct doctor_child {
    const char *const *command;   /* its path and its arguments, NULL */
    const char *const *variables; /* name, value, …, NULL: set in its environment, which is ours */
    bool shown;    /* it writes where we do, and what it leaves behind stays; else it is caught */
    char *output;  /* what it wrote to stdout */
    char *errors;  /* and to stderr */
    int status;    /* as of waitpid; -1: it did not end and was killed, or could not be started */
    pid_t process; /* while it runs; 0: not yet, or not any more */
    int descriptors[2];
    struct timespec deadline;
};

/*
 * Runs commands to their ends, some at a time. To be freed with doctor_child_free. A process that
 * does not end is killed, with all of its group, when its time is up.
 */
void doctor_children_run(struct doctor_child *children, int count);

/* The same for one, whose output is caught. */
struct doctor_child doctor_child_run(const char *const *command, const char *const *variables);
void doctor_child_free(struct doctor_child *child);

/* ---- Trying stacks: in trial.c ------------------------------------------------------------------
 */

/* Builds a stack as a run would, and lists it, in another process; NULL: the stack in force. */
struct doctor_child trial_run(const char *stack);

/* Whether it was built, wherever tools had to be left out. */
bool trial_is_good(const struct doctor_child *child);

/*
 * Finds out which tools of the stack in force are to blame where it `ended` so (as of waitpid; -1:
 * it hung), and says each finding: what is wrong, and a hint.
 */
void trial_blame(int ended, void (*say)(const char *finding));

/* ---- Libraries and programs: in object.c -------------------------------------------------
 */

/* What an object file says of its ways to MPI. */
struct doctor_object {
    char *problem;     /* why it cannot be read; NULL: the rest is known */
    bool mpi_library;  /* it is one, or holds one */
    bool open_mpi;     /* and that is Open MPI */
    bool binding;      /* it is MPI's library for Fortran */
    bool qmpi;         /* it is libqmpi, or holds it */
    bool native_tool;  /* it announces a tool */
    bool pmpi_tool;    /* it defines MPI functions, and is neither of these nor a binding */
    bool calls_c;      /* it refers to MPI functions of C */
    bool calls_mpif;   /* and of Fortran's mpif.h and module mpi */
    bool calls_f08;    /* and of the module mpi_f08 */
    bool loads;        /* it refers to dlopen */
    bool names_mpi;    /* it holds the name of an MPI library as text */
    bool holds_static; /* it holds the text of an MPI library without offering its functions */
};

/* Reads a library, or with `program` a program. */
struct doctor_object doctor_object_read(const char *path, bool program);

/* ---- The libraries of a program: in libraries.c ------------------------------------------
 */

/* One library: its name as it is needed, and its file; NULL: it is not found. */
typedef void doctor_library(void *data, const char *name, const char *path);

/* Calls `add` for each library that the dynamic loader would give a program, in its order. Returns
 * NULL, or why they are not known, with a hint; to be freed. */
char *doctor_libraries(const char *path, doctor_library *add, void *data);

/* The file of the MPI library among them; NULL: there is none. To be freed. */
char *doctor_find_mpi(const char *path);

#endif
