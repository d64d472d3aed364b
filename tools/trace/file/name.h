/* SPDX-License-Identifier: MIT */
/*
 * Names of what a trace contains, for people to read. The caller provides the room for names that
 * are made: "rank 3", "communicator 2". The result is `room` or a string of the process.
 */
#ifndef QMPI_TRACE_NAME_H
#define QMPI_TRACE_NAME_H

#include "tools/trace/file/definitions.h"
#include "tools/trace/file/event.h"

enum { TRACE_NAME_SIZE = 160 }; /* bytes of `room` */

const char *trace_name_process(const struct trace_process *process, char *room);
const char *trace_name_comm(const struct trace_process *process, uint32_t comm, char *room);

/* The window, file, region or counter of an event; NULL if events of its kind have none. */
const char *trace_name_object(const struct trace_process *process, const struct trace_event *event,
                              char *room);
const char *trace_name_location(const struct trace_process *process, uint32_t location, char *room);

/* A function, and its group; never NULL. */
const char *trace_name_function(const struct trace_process *process, uint32_t function);
const char *trace_name_group(const struct trace_process *process, uint32_t function);

/* How a process ended: "MPI_Finalize", "signal SIGTERM", …. */
const char *trace_name_end(const struct trace_process *process, char *room);

/* A kind of event, as in CSV: "enter", "send", …. */
const char *trace_name_kind(enum trace_event_kind kind);

#endif
