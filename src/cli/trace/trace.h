/* SPDX-License-Identifier: MIT */
/*
 * qmpi trace: declarations for its parts. The command line becomes a request (options.c), the paths
 * a trace (input.c), which is printed (summary_print.c, timeline_print.c), written (output.c) or
 * checked (trace.c).
 */
#ifndef QMPI_CLI_TRACE_TRACE_H
#define QMPI_CLI_TRACE_TRACE_H

#include "trace/trace.h"
#include "util/util.h"

#include <argp.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

enum trace_action { TRACE_SUMMARY, TRACE_TEXT, TRACE_CHECK, TRACE_CONVERT };
enum trace_format { FORMAT_PERFETTO, FORMAT_JSON, FORMAT_CSV, FORMAT_OTF2 };

struct trace_request {
    enum trace_action action;
    enum trace_format format;
    bool is_merge, repair;
    const char *output; /* NULL: standard output */
    const char *ranks;  /* as it was given; NULL: all */
    struct qmpi_number_set rank_set;
    bool has_begin, has_end;
    int64_t begin, end;
    char **paths; /* ends with NULL */
};

/* Reads the command line. Errors of use end the command. */
struct trace_request trace_read_request(int argc, char **argv);
void trace_free_request(struct trace_request *request);

/* Opens the trace of one path, or of several ones that have parts of one run: these are together in
 * a directory, by symbolic links, while it is opened. Returns NULL after a message. */
struct trace *trace_open_input(char **paths);

/* Finds the processes of --ranks. Returns NULL after a message if there are none; the caller frees
 * it. */
unsigned char *trace_find_processes(const struct trace *trace, const struct trace_request *request);

/* Writes the trace in a format. Returns the exit status. */
int trace_write(const struct trace_export *export, const struct trace_request *request);

/* Prints it. `width`: of a line; `is_terminal`: whether it may have colours. They return false if
 * memory is exhausted. */
bool trace_print_summary(FILE *stream, const struct trace_view *view);
bool trace_print_timeline(FILE *stream, const struct trace_view *view, int width, bool is_terminal);

/* Ranks as a list: "0-3, 8". The caller frees it. */
char *trace_list_ranks(const struct trace *trace, const unsigned char *processes);

/* Describes call sites: `describe` and `describe_data` of struct trace_export. */
struct trace_sites;
struct trace_sites *trace_sites_make(void);
char *trace_sites_describe(void *sites, const struct trace_process *process,
                           const struct trace_site *site);
void trace_sites_free(struct trace_sites *sites);

#endif
