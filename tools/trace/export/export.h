/* SPDX-License-Identifier: MIT */
/*
 * The functions that write traces in the formats of other programs, and what these functions share.
 * No function in this folder makes MPI calls, and none ends the process if memory is exhausted.
 */
#ifndef QMPI_TRACE_EXPORT_H
#define QMPI_TRACE_EXPORT_H

#include "tools/trace/analysis/pairs.h"
#include "tools/trace/analysis/view.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

/* Returns a description of a call site such as "file:line" or "function (file:line)", or NULL if it
 * is unknown. The caller frees it. */
typedef char *trace_export_describe(void *data, const struct trace_process *process,
                                    const struct trace_site *site);

struct trace_export {
    const struct trace_view *view;
    const struct trace_pairs *pairs; /* the messages that have arrows; NULL if all have one */
    trace_export_describe *describe; /* NULL if call sites are shown as library and offset */
    void *describe_data;
};

/* Returns a description of a call site of a process, by `describe` if it returns one, otherwise as
 * library and offset. Returns NULL if the site is unknown or memory is exhausted. The caller frees
 * the result. */
char *trace_export_site(const struct trace_export *export, const struct trace_process *process,
                        uint32_t site);

/* Returns whether a file that begins with these bytes was written by qmpi, or is empty. */
bool trace_export_is_ours(const char *bytes, size_t size);

#define TRACE_EXPORT_CSV_HEADER                                                                    \
    "time,rank,process,thread,event,function,group,communicator,peer,tag,root,bytes,received,"     \
    "request,object,value,site\n"

/* In formats other than CSV, the first 128 bytes of a file contain this text. */
#define TRACE_EXPORT_MARK "qmpi trace"

/* ---- Formats --------------------------------------------------------------------------------- */

/*
 * Writes comma-separated values: one row for each event, ordered by process and time. All events
 * are included, and none are combined. Columns that do not apply are empty. Returns false if memory
 * is exhausted or a file of the trace cannot be read. The caller checks the stream for errors.
 */
bool trace_export_csv(FILE *stream, const struct trace_export *export);

/*
 * Writes packets of TrackEvent for Perfetto (https://perfetto.dev). Times are those of the clock of
 * rank 0, and the identifiers of processes with a rank do not depend on the other processes of the
 * file. Therefore, the files of single ranks can be concatenated to a file of all ranks. Packets
 * are compressed if zlib is available. Returns false if memory is exhausted or a file of the trace
 * cannot be read. The caller checks the stream for errors.
 */
bool trace_export_perfetto(FILE *stream, const struct trace_export *export);

/* Writes a file for Perfetto, in any locale. The file appears complete or not at all. On failure,
 * returns false, and sets *problem to a message with a hint, which the caller frees, or to NULL if
 * memory is exhausted. */
bool trace_export_perfetto_file(const struct trace_export *export, const char *target,
                                char **problem);

#endif
