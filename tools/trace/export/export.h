/* SPDX-License-Identifier: MIT */
/*
 * The writers of all formats share these. No function of this folder makes MPI calls, or
 * ends the process if memory is exhausted.
 */
#ifndef QMPI_TRACE_EXPORT_H
#define QMPI_TRACE_EXPORT_H

#include "tools/trace/analysis/pairs.h"
#include "tools/trace/analysis/view.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

/* Describes a call site, as "file:line" or "function (file:line)"; NULL: nothing is known. The
 * caller frees it. */
typedef char *trace_export_describe(void *data, const struct trace_process *process,
                                    const struct trace_site *site);

struct trace_export {
    const struct trace_view *view;
    const struct trace_pairs *pairs; /* the messages that have arrows; NULL: all */
    trace_export_describe *describe; /* NULL: sites are not described */
    void *describe_data;
};

/* Describes a site of a process. Returns NULL if nothing is known; the caller frees it. */
char *trace_export_site(const struct trace_export *export, const struct trace_process *process,
                        uint32_t site);

/* Whether a file begins like one that qmpi has written, or is empty. */
bool trace_export_is_ours(const char *bytes, size_t size);

#define TRACE_EXPORT_CSV_HEADER                                                                    \
    "time,rank,process,thread,event,function,group,communicator,peer,tag,root,bytes,received,"     \
    "request,object,value,site\n"

/* In the first bytes of every other format. */
#define TRACE_EXPORT_MARK "qmpi trace"

/* ---- Formats ----------------------------------------------------------------------------------
 */

/*
 * Writes comma-separated values: a row for each event, process by process, in the order of time.
 * Nothing is left out or combined. Columns that do not apply are empty. Returns false if memory is
 * exhausted; the caller checks the stream for errors.
 */
bool trace_export_csv(FILE *stream, const struct trace_export *export);

/*
 * Writes protocol buffers of the message TrackEvent for Perfetto (https://perfetto.dev). Times are
 * those of the clock of rank 0, and all identifiers depend only on the rank and the thread: files
 * of single ranks, one after the other, are a file of all. Packets are compressed if zlib is there.
 * Returns false if memory is exhausted; the caller checks the stream for errors.
 */
bool trace_export_perfetto(FILE *stream, const struct trace_export *export);

/* Writes a file for Perfetto, which appears complete or not at all, in any locale. On failure,
 * returns false, and sets *problem to a message with a hint, which the caller frees (NULL: memory
 * is exhausted). */
bool trace_export_perfetto_file(const struct trace_export *export, const char *target,
                                char **problem);

#endif
