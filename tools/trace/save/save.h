/* SPDX-License-Identifier: MIT */
/*
 * Determines when the trace of this process is written: where its file begins, when a ring is
 * saved, and when the file ends: in MPI_Finalize, in MPI_Abort, at exit, or by a signal that can be
 * caught. When MPI is finalized, processes also write the formats of other programs.
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
 * returned; save_start_all moves this file. Returns false on failure, for which a message may have
 * been printed. Any thread. */
bool save_start_early(struct layer *layer);

/* Installs the handler of save-signal=, if the program has none for this signal. Repeated calls do
 * nothing. */
void save_watch_save_signal(const struct layer *layer);

/* Makes the writer write the contents of a ring. Any thread, also in a signal handler. */
void save_request(struct layer *layer);

/* Starts watching signals that end the process. Repeated calls do nothing. Called by the thread
 * that initializes MPI. */
void save_watch_termination(void);

/* Completes the file of this process, and ends recording. A process that has not begun its file
 * begins it now. Repeated calls do nothing. */
void save_end(struct layer *layer, enum trace_process_end end);

/* ---- Formats of other programs --------------------------------------------------------------- */

/*
 * When MPI is finalized, processes also write together an archive in OTF2, or a file for viewers
 * for each process.
 */

/* If the library that format=otf2 needs is missing, reports this, once for all processes. Called in
 * `init`. */
void save_check_format(const struct layer *layer);

/* Writes the formats that the option `format` selects. The files of the processes must be complete.
 * Collective over `comm`, which contains all processes. Failures are reported by messages. */
void save_write_formats(struct layer *layer, MPI_Comm comm);

#endif
