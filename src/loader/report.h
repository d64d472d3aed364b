/* SPDX-License-Identifier: MIT */
/*
 * Handles tools that cannot be used: the run stops before any MPI call is carried out, or continues
 * without the layer if QMPI_ON_ERROR=skip. One process of a job prints the message.
 */
#ifndef QMPI_LOADER_REPORT_H
#define QMPI_LOADER_REPORT_H

#include "config/config.h"

/* Prints a message if QMPI_ON_ERROR is neither stop nor skip. */
void qmpi_problem_start(void);

/*
 * Reports `problem` and frees it. It consists of lines, the last of which starts with `hint: `.
 * Returns only if the run continues; `without` names what is left out.
 */
void qmpi_problem_report(const char *where, char *problem, const char *without);

/* As qmpi_problem_report, for a problem of all layers of a stack. The run continues without them
 * only if it would do so without each of them. */
void qmpi_problem_report_stack(const struct qmpi_tool_stack *stack, char *problem);

/* As qmpi_problem_report, for the errors in the configuration files, except those in the tools that
 * they list. Whether one of them stops the run is left to qmpi_problem_stop, so that all messages
 * appear at once. */
void qmpi_problem_print_config(void);

/* Ends the process if a message has been printed that stops the run. */
void qmpi_problem_stop(void);

/* Prints what the user should know about a stack. */
void qmpi_problem_print_notes(const struct qmpi_tool_stack *stack);

/* Sets what gives the middle of the stack if it is not QMPI_TOOLS: a variable or a file; not
 * copied. It appears in messages about entries without a source. */
void qmpi_problem_name_middle(const char *source);

/* Returns the text that identifies an entry in messages; the caller frees it. */
char *qmpi_problem_where(const struct qmpi_entry *entry);

/* Reports a problem of one entry of the stack; the run then continues or stops as on-error says
 * (see config/stack.h). With @optional=yes, the run continues, and nothing is printed except by
 * `qmpi check` and QMPI_DEBUG. */
void qmpi_problem_print_entry(const struct qmpi_entry *entry, char *problem); /* does not stop */
void qmpi_problem_report_entry(const struct qmpi_entry *entry, char *problem);

/* As qmpi_problem_print_entry, for a problem of the named stack that an entry is from: the message
 * names the heading of the stack, and the run continues without the stack. */
void qmpi_problem_print_heading(const struct qmpi_entry *entry, char *problem);

#endif
