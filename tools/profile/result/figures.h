/* SPDX-License-Identifier: MIT */
/*
 * Further figures of `profile`, besides calls, times, waits and bytes. JSON and CSV contain them
 * for every function, call site, communicator and file, and text for call sites. A line of this
 * table adds a figure to these outputs, to the merging of ranks and to the counters of threads. The
 * code that counts it is in tools/profile/record.
 *
 *     F(member, TIME or COUNT, LEAST, GREATEST or TOTAL, "heading", since)
 *
 * TIME is in ticks in the counters of threads and in seconds in results. LEAST, GREATEST and TOTAL
 * say how the figures of calls, threads and ranks are combined. The heading is that of the column
 * in the table of call sites; "": the table has no such column. `since` is the number of the first
 * schema (PROFILE_SCHEMA) whose files always have the figure. 0: files may lack the figure, which
 * then counts as 0.
 */
#ifndef QMPI_PROFILE_FIGURES_H
#define QMPI_PROFILE_FIGURES_H

#include <stddef.h>

/* clang-format off */
#define PROFILE_FIGURES(F) \
    F(shortest, TIME, LEAST, "", 1) \
    F(longest, TIME, GREATEST, "longest", 1) \
    F(polling, TIME, TOTAL, "", 0)
/* clang-format on */

enum profile_figure_unit { PROFILE_TIME, PROFILE_COUNT };
enum profile_figure_combine { PROFILE_LEAST, PROFILE_GREATEST, PROFILE_TOTAL };

struct profile_figure {
    const char *name; /* in JSON and CSV */
    size_t offset;    /* of the member, a double, in struct profile_calls */
    enum profile_figure_unit unit;
    enum profile_figure_combine combine;
    const char *heading;
    int since;
};

#define PROFILE_FIGURE_NUMBER(NAME, UNIT, COMBINE, HEADING, SINCE) PROFILE_FIGURE_##NAME,
enum { PROFILE_FIGURES(PROFILE_FIGURE_NUMBER) PROFILE_FIGURE_COUNT };

#endif
