/* SPDX-License-Identifier: MIT */
/*
 * Further figures of `profile`, besides calls, times, waits and bytes: JSON, CSV and text contain
 * them for every function, call site, communicator and file. A line of this table is all that they,
 * the merging of ranks and the counters of threads need; the code that counts is in
 * tools/profile/record.
 *
 *     F(member, TIME or COUNT, LEAST, GREATEST or TOTAL, "heading", since)
 *
 * TIME is in ticks in the counters of threads and in seconds in results. LEAST, GREATEST and TOTAL
 * say how the figures of calls, threads and ranks are combined. The heading is that of the column
 * in the table of call sites; "": not there. `since` is the number of the schema (PROFILE_SCHEMA)
 * from which on every file has the figure; 0: files may lack it, and it is 0 then.
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
