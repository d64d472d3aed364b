/* SPDX-License-Identifier: MIT */
/* The functions of struct trace_otf2: see trace/otf2.h; and what they share. */
#ifndef QMPI_TRACE_OTF2_WRITE_H
#define QMPI_TRACE_OTF2_WRITE_H

#include "trace/otf2.h"
#include "trace/otf2/archive.h"
#include "trace/otf2/plan.h"

bool archive_write(const struct trace *trace, const char *directory,
                   const struct trace_selection *selection, char **problem);
bool archive_write_together(const struct trace_otf2_group *group, const char *file,
                            const char *directory, char **problem);

/* The event file of a thread that was not recorded: see archive_write_nothing. */
void archive_write_no_events(struct archive *archive, uint64_t location);

/* Calls a function for each rank that was not recorded. */
void archive_write_missing(struct archive *archive, const struct archive_plan *plan,
                           void (*write)(struct archive *archive, uint64_t location));

/* The global definitions, which only one process writes. */
void archive_write_common(struct archive *archive, const struct archive_plan *plan);

extern const char archive_no_memory[]; /* a message */

#endif
