/* SPDX-License-Identifier: MIT */
/*
 * Names of the objects in a trace, for users. If an object has no name, one is made up, such as
 * "rank 3" or "communicator 2". The caller provides `room` for made-up names. The result is `room`,
 * a string of the process, or a constant.
 */
#ifndef QMPI_TRACE_NAME_H
#define QMPI_TRACE_NAME_H

#include "tools/trace/file/definitions.h"
#include "tools/trace/file/event.h"

enum { TRACE_NAME_SIZE = 160 }; /* size of `room` in bytes */

const char *trace_name_process(const struct trace_process *process, char *room);
const char *trace_name_comm(const struct trace_process *process, uint32_t comm, char *room);

/* Returns the name of the window, file, region or counter of an event, or NULL if events of its
 * kind have none. */
const char *trace_name_object(const struct trace_process *process, const struct trace_event *event,
                              char *room);
const char *trace_name_location(const struct trace_process *process, uint32_t location, char *room);

/* Return the names of a function and of its group; never NULL. */
const char *trace_name_function(const struct trace_process *process, uint32_t function);
const char *trace_name_group(const struct trace_process *process, uint32_t function);

/* Returns how a process ended: "MPI_Finalize", "signal SIGTERM", … */
const char *trace_name_end(const struct trace_process *process, char *room);

/* Returns the name of a kind of event in CSV: "enter", "send", … */
const char *trace_name_kind(enum trace_event_kind kind);

#endif
