/* SPDX-License-Identifier: MIT */
/* Prints traces as text, for the command. */
#ifndef QMPI_TOOL_TRACE_PRINT_PRINT_H
#define QMPI_TOOL_TRACE_PRINT_PRINT_H

#include <stdbool.h>
#include <stdio.h>

struct trace;
struct trace_view;

/* Prints a summary. Returns false if memory is exhausted or a file cannot be read. */
bool print_summary(FILE *stream, const struct trace_view *view);

/* Prints a timeline with lines of `width` columns. `has_colours` says whether to use the colours of
 * a terminal. Returns false if memory is exhausted or a file cannot be read. */
bool print_timeline(FILE *stream, const struct trace_view *view, int width, bool has_colours);

/* Returns ranks as a list such as "0-3, 8", which the caller frees. `processes` says for each
 * process whether it is included; NULL if all are. Returns "not known" if no included process has a
 * rank. */
char *print_rank_list(const struct trace *trace, const unsigned char *processes);

#endif
