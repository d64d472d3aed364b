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

/* Reports errors in the configuration file, except those in the tools that it lists. */
void qmpi_problem_report_config(void);

/* Sets the origin of the entries if it is not QMPI_TOOLS: a variable or a file; not copied. */
void qmpi_problem_name_list(const char *source);

/* Returns the text that identifies an entry in messages; the caller frees it. */
char *qmpi_problem_where(const struct qmpi_entry *entry);

/* Reports a problem of one entry of the list. */
void qmpi_problem_report_entry(const struct qmpi_entry *entry, char *problem);

#endif
