/* SPDX-License-Identifier: MIT */
/*
 * Determines when the file of this process begins and ends. It begins in MPI_Init, earlier if the
 * memory is full, or later if the program uses only sessions. It ends in MPI_Finalize or
 * MPI_Session_finalize, in MPI_Abort, at exit, or by a signal that can be caught. This part also
 * determines when a ring is written. The thread in write/writer.c writes the file.
 */
#ifndef QMPI_TOOL_TRACE_SAVE_PROCESS_FILE_H
#define QMPI_TOOL_TRACE_SAVE_PROCESS_FILE_H

#include "toolkit/toolkit.h"
#include "tools/trace/file/definitions.h"

#include <stdbool.h>

struct layer;

/* Prepares the directory on rank 0, and begins the file of each process, also of one that ranks=
 * excludes. Collective over `comm`, a communicator of all processes. */
void process_file_start_all(struct layer *layer, MPI_Comm comm);

/* Begins the file beside the directory, because the memory is full before MPI_Init has returned;
 * process_file_start_all moves this file. On failure, returns false; a message may have been
 * printed. Any thread may call this function. */
bool process_file_start_early(struct layer *layer);

/* Installs the handler of save-signal=, or prints a message if the program handles this signal
 * itself. If `is_early` is true (MPI_Init begins, and may never return), no message is printed; the
 * call after MPI_Init prints it. May be called repeatedly. */
void process_file_watch_save_signal(const struct layer *layer, bool is_early);

/* Makes the writer write everything that has been recorded, also the contents of a ring. Any thread
 * and any signal handler may call this function. */
void process_file_request_save(struct layer *layer);

/* Starts watching signals that end the process. Repeated calls do nothing. The thread that
 * initializes MPI calls this function. */
void process_file_watch_termination(void);

/* Completes the file of this process, and ends recording. If the file was not begun, but something
 * was recorded and the layer is on, begins it now. Repeated calls do nothing.
 * process_file_end_sessions does this if MPI_Session_finalize ends the trace. */
void process_file_end(struct layer *layer, enum trace_process_end end);
void process_file_end_sessions(struct layer *layer);

#endif
