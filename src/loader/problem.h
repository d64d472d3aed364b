/* SPDX-License-Identifier: MIT */
/*
 * Handles tools that cannot be used. As QMPI_ON_ERROR, on-error and @optional say, the run
 * continues without the layer, or stops, at the latest when MPI is initialized. One process of a
 * job prints each message.
 */
#ifndef QMPI_LOADER_PROBLEM_H
#define QMPI_LOADER_PROBLEM_H

#include "config/config.h"

/* Prints a message if QMPI_ON_ERROR is set, but neither to stop nor to skip. */
void qmpi_problem_start(void);

/*
 * Reports `problem`, the last line of which starts with `hint: `, and frees it. `where` names the
 * entry or variable that has the problem. Returns only if the run continues, or if it stops later,
 * in MPI_Init (qmpi_problem_defer). `without` names what is left out if the run continues.
 */
void qmpi_problem_report(const char *where, char *problem, const char *without);

/* Like qmpi_problem_report, but for a problem of all layers of a stack. The run continues without
 * them only if it would continue without each of them. */
void qmpi_problem_report_stack(const struct qmpi_stack *stack, char *problem);

/* Prints the errors in the configuration files, except those in entries that list tools. An error
 * that stops the run does so only in the next qmpi_problem_stop, so that all messages are printed
 * first. */
void qmpi_problem_print_config(void);

/* Ends the process, and the job, if there was a problem that stops the run, unless such a stop is
 * deferred to MPI_Init. */
void qmpi_problem_stop(void);

/*
 * Sets whether a problem that stops the run takes effect only in MPI_Init, where all processes
 * learn of it. The functions above then return, and qmpi_problem_is_stopping returns whether there
 * was such a problem.
 */
void qmpi_problem_defer(bool to_init);
bool qmpi_problem_is_stopping(void);

/* Ends the process and the job because of the first problem that stops the run, even if it has been
 * deferred to MPI_Init. */
_Noreturn void qmpi_problem_stop_now(void);

/* Prints the notes of a stack if this process prints messages for the job; not if it only tries the
 * stack for a command (QMPI_TRIAL), because the command prints the notes itself. */
void qmpi_problem_print_notes(const struct qmpi_stack *stack);

/* Sets the variable or file that lists the middle part of the stack (by default QMPI_TOOLS).
 * Messages about entries without a source show this name. It is not copied. */
void qmpi_problem_name_middle(const char *source);

/* Returns the text that identifies an entry in messages; the caller frees it. */
char *qmpi_problem_where(const struct qmpi_tool_entry *entry);

/* Prints a problem of one entry of the stack, and frees it. Unless errors are skipped
 * (QMPI_ON_ERROR, on-error), the next qmpi_problem_stop ends the run. Two kinds of problems never
 * end it: that of a layer with @optional=yes (unless the entry itself is wrong), which only `qmpi
 * check` and QMPI_DEBUG print, and that of a preloaded library that is not listed. */
void qmpi_problem_print_entry(const struct qmpi_tool_entry *entry, char *problem);

/* Calls qmpi_problem_print_entry and qmpi_problem_stop. */
void qmpi_problem_report_entry(const struct qmpi_tool_entry *entry, char *problem);

/* Like qmpi_problem_print_entry, but for a problem of the named stack that contains an entry. The
 * message names the heading of the stack, and the run continues without the stack. */
void qmpi_problem_print_heading(const struct qmpi_tool_entry *entry, char *problem);

/* ---- Signals --------------------------------------------------------------------------------- */

/*
 * A damaged library may cause a fatal signal in the loader, in a constructor or in its init
 * function. Without these handlers, nothing would show which tool is the cause. While they are
 * installed, a message names the entry, and the process terminates with status 2, as after other
 * problems. The run cannot continue without the layer, because the loader is interrupted.
 */

/* Installs the handlers, unless QMPI_DEBUG traces loading (a debugger then gets the signal) or this
 * is a build with AddressSanitizer. */
void qmpi_problem_catch_signals(void);

/* Sets the entry of the layer that is loaded and initialized next. */
void qmpi_problem_set_loading(const struct qmpi_tool_entry *entry);

/* Restores the actions of the signals, except those that a tool has changed meanwhile. */
void qmpi_problem_release_signals(void);

#endif
