/* SPDX-License-Identifier: MIT */
/*
 * What follows when a tool cannot be used: the run stops before any MPI call is carried out, or
 * goes on without that layer if QMPI_ON_ERROR=skip. One process of a job says what is wrong.
 */
#ifndef QMPI_LOADER_REPORT_H
#define QMPI_LOADER_REPORT_H

#include "config/tool_list.h"

/* Says so where QMPI_ON_ERROR is neither stop nor skip. */
void qmpi_problem_start(void);

/*
 * Reports `problem` (taken over): lines, the last of which begins with `hint: `. Returns only if
 * the run goes on; `without` says without what.
 */
void qmpi_problem_report(const char *where, char *problem, const char *without);

/* What is wrong with the configuration file, apart from the tools that it lists. */
void qmpi_problem_report_config(void);

/* What entries are from, where it is not QMPI_TOOLS: a variable or a file; not copied. */
void qmpi_problem_name_list(const char *source);

/* How messages name an entry of the list; the caller frees it. */
char *qmpi_problem_where(const struct qmpi_entry *entry);

/* The same for one entry of the list. */
void qmpi_problem_report_entry(const struct qmpi_entry *entry, char *problem);

#endif
