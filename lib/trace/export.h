/* SPDX-License-Identifier: MIT */
/* What writers of all formats have in common. */
#ifndef QMPI_TRACE_EXPORT_H
#define QMPI_TRACE_EXPORT_H

#include "trace/pairs.h"
#include "trace/view.h"

#include <stdio.h>

/* Describes a call site, as "file:line" or "function (file:line)"; NULL: nothing is known. The
 * caller frees it. */
typedef char *trace_describe(void *data, const struct trace_process *process,
                             const struct trace_site *site);

struct trace_export {
    const struct trace_view *view;
    const struct trace_pairs *pairs; /* the messages that have arrows; NULL: all */
    trace_describe *describe;        /* NULL: sites are not described */
    void *describe_data;
};

/* The names of things, for which the caller provides the room; those without a name are numbered.
 * The result is `room`, or a string of the process. */
enum { TRACE_NAME_SIZE = 160 };
const char *trace_process_name(const struct trace_process *process, char *room);
const char *trace_comm_name(const struct trace_process *process, uint32_t comm, char *room);
const char *trace_object_name(const struct trace_process *process, const struct trace_event *event,
                              char *room);
const char *trace_function_name(const struct trace_process *process, uint32_t function);
const char *trace_function_group(const struct trace_process *process, uint32_t function);
const char *trace_location_name(const struct trace_process *process, uint32_t location, char *room);

/* How a process ended: "MPI_Finalize", "signal SIGTERM", …. */
const char *trace_end_name(const struct trace_process *process, char *room);

/* Describes a site of a process. Returns NULL if nothing is known; the caller frees it. */
char *trace_describe_site(const struct trace_export *export, const struct trace_process *process,
                          uint32_t site);

/*
 * The numbers by which viewers tell processes and threads apart. They are functions of the rank and
 * the thread alone: files of single ranks have the same ones as a file of all. Processes without a
 * rank follow, as the view contains them.
 */
uint32_t trace_world_size(const struct trace_process *process);
uint32_t trace_position(const struct trace_view *view, uint32_t process);
int64_t trace_process_number(const struct trace_view *view, uint32_t process);
int64_t trace_thread_number(const struct trace_view *view, uint32_t process, uint32_t location);

/* Whether a file is one that the writers of this folder have written, by its first bytes; an empty
 * one counts as such. */
bool trace_export_is_ours(const char *bytes, size_t size);

/* Names in files: the first bytes of each format contain it. */
#define TRACE_EXPORT_MARK "qmpi trace"

#endif
