/* SPDX-License-Identifier: MIT */
/*
 * The communicators, windows and files of the program: each gets an index when it is first seen, by
 * which events refer to it, and its definition goes to the writer. An index is never given twice.
 * Calls find the index by the handle, without a lock.
 */
#ifndef QMPI_TOOL_TRACE_RECORD_OBJECTS_H
#define QMPI_TOOL_TRACE_RECORD_OBJECTS_H

#include "record/recorder.h"

#include <qmpi/observer.h>

#include <stdbool.h>
#include <stdint.h>

struct layer;
struct recorder;

/* Where the ranks of all processes are known: from now on, until objects_end. */
void objects_begin(struct layer *layer, MPI_Session session);
void objects_end(struct layer *layer);

/* The index of the communicator, window or file that is an argument of a call; TRACE_NONE: it is
 * not known. It is looked at if it is seen for the first time: after a call that succeeded, or
 * while the call is in progress. */
uint32_t objects_find_comm(struct recorder *recorder, const QMPIX_Call *call, int argument);
uint32_t objects_window(struct recorder *recorder, const QMPIX_Call *call, int argument);
uint32_t objects_file(struct recorder *recorder, const QMPIX_Call *call, int argument);

/* After a call that created a communicator, window or file; `argument` leads to it. TRACE_NONE:
 * none was created here. */
uint32_t objects_create_comm(struct recorder *recorder, const QMPIX_Call *call, int argument);
uint32_t objects_create_window(struct recorder *recorder, const QMPIX_Call *call, int argument,
                               int comm);
uint32_t objects_open_file(struct recorder *recorder, const QMPIX_Call *call);

/* The same for a communicator whose handle is at an address: see argument_word_at. */
uint32_t objects_create_comm_at(struct recorder *recorder, const QMPIX_Call *call, int argument,
                                const void *handle);

/* After MPI_Comm_set_name and MPI_Win_set_name. */
void objects_name_comm(struct recorder *recorder, const QMPIX_Call *call);
void objects_name_window(struct recorder *recorder, const QMPIX_Call *call);

/* Around a call that gives the object back to which argument 0 leads: see toolkit/leavings.h. The
 * second one returns its index if it is gone, otherwise TRACE_NONE. */
void objects_begin_free(struct recorder *recorder, const QMPIX_Call *call, const QMPIX_Word *word,
                        enum object_kind kind);
uint32_t objects_end_free(struct recorder *recorder, const QMPIX_Word *word, bool has_succeeded);

#endif
