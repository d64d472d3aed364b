/* SPDX-License-Identifier: MIT */
/*
 * When the trace of this process is written: where its file begins, when a ring is saved, and how
 * the file ends, in MPI_Finalize, MPI_Abort, at exit, or by a signal that can be caught. When MPI
 * is finalized, processes also write the formats of other programs.
 */
#ifndef QMPI_TOOL_TRACE_SAVE_SAVE_H
#define QMPI_TOOL_TRACE_SAVE_SAVE_H

#include "toolkit/toolkit.h"
#include "tools/trace/export/trace.h"

#include <stdbool.h>

struct layer;

/* Prepares the directory, on rank 0, and begins to write the file of each process that records.
 * Collective over `comm`, a communicator of all processes. */
void save_start_all(struct layer *layer, MPI_Comm comm);

/* Begins to write to a file beside the directory, because the memory is full before MPI_Init has
 * returned; save_start_all moves this file. False: failed, perhaps with a message. Any thread. */
bool save_start_early(struct layer *layer);

/* Installs the handler of save-signal=, if the program has none for this signal. Repeated calls do
 * nothing. */
void save_watch_save_signal(const struct layer *layer);

/* Makes the writer write what a ring keeps. Any thread, also in a signal handler. */
void save_request(struct layer *layer);

/* Begins to watch signals that end the process. Repeated calls do nothing. In the thread that
 * begins MPI. */
void save_watch_termination(void);

/* Completes the file of this process, and ends recording. A process that has not begun its file
 * begins it now. Repeated calls do nothing. */
void save_end(struct layer *layer, enum trace_process_end end);

/* ---- Formats of other programs --------------------------------------------------------------- */

/*
 * Processes write these together when MPI is finalized, besides their files: an archive in OTF2, or
 * a file for each process that viewers read.
 */

/* If the library that format=otf2 needs is missing, says so, once for all processes. In `init`. */
void save_check_format(const struct layer *layer);

/* Writes what the option `format` asks for. The files of the processes are complete. Collective
 * over `comm`, which contains all processes. Messages say what could not be written. */
void save_write_formats(struct layer *layer, MPI_Comm comm);

#endif
