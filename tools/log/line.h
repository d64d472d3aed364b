/* SPDX-License-Identifier: MIT */
/* This part makes complete lines of the log and writes them. */
#ifndef QMPI_TOOL_LOG_LINE_H
#define QMPI_TOOL_LOG_LINE_H

#include "tools/log/frames.h"
#include "tools/log/layer.h"

/* These functions convert a clock reading, or the present time, to nanoseconds since the log began.
 * They are safe in a signal handler. */
uint64_t line_time(uint64_t ticks);
uint64_t line_now(void);

/*
 * Starts the thread that reads debug information for line_find_caller, or does nothing if it is
 * already running. The tool's `init` calls this function. A separate thread with a large stack is
 * needed because a thread of the program may have a small stack, or may run a signal handler that
 * has interrupted malloc. The separate thread makes no MPI call and blocks all signals. It ends
 * when exit begins, and is started again if the thread that exits makes a call from a new place.
 */
void line_start_callers(void);

/* Ends the thread if it is running, and waits for it, at most for some seconds. */
void line_end_callers(void);

/*
 * Returns a description of the place in the program where a call was made, such as "solve
 * (heat.c:42)", "solve (app+0x1139)" or "app+0x1139". The string stays valid until the process
 * ends. An address is looked up when it is first seen. Any thread and any signal handler may call
 * this function. The result has the last of the three forms if no function is known at the address,
 * or if the thread that looks addresses up does not exist, as in a forked child, or does not answer
 * in time. It is "?" if `caller` is NULL or memory is exhausted.
 */
const char *line_find_caller(const void *caller);

/* Forgets the descriptions of callers in a library that was closed. */
void line_forget_callers(const void *begin, const void *end);

/* Tells the program that writes the lines about a call that begins, in case the process is killed.
 */
void line_open(struct frame *frame);

/* Announces a call with a line such as "[0] 0.001234 MPI_Recv(…, status=?) <unfinished ...>". Does
 * nothing if the call was already announced. */
void line_begin(struct frame *frame);

/* Writes a line that says how long a call has lasted so far, such as "<unfinished after 5.00 s>".
 * The call may belong to another thread and may never return. If it has returned, nothing is
 * written. `now` is the value of line_now. This function is safe in a signal handler unless
 * `may_print` is true. */
void line_unfinished(struct frame *frame, uint64_t now, bool may_print);

/* Writes the line of a call that has returned after `time` nanoseconds. If it was made during other
 * calls of the layer, in a callback for example, these are announced first, unless the layer judges
 * calls (layer.h). */
void line_finish(struct frame *frame, const QMPIX_Call *call, uint64_t time);

/* Writes a line such as "MPI_Send(…) <left by a jump>" for a call that was left with longjmp or an
 * exception. Writes nothing if the options choose lines by the time or the amount of data of calls,
 * unless errors=only is also given. */
void line_left(struct frame *frame);

/* Sets what is written if the process is killed (PHASE_…, see sink.h). This function is safe in a
 * signal handler. */
void line_set_phase(struct layer *layer, int phase);

/* Writes a line such as "+++ signal SIGTERM +++" about the end of the process. This function is
 * safe in a signal handler unless `may_print` is true. */
void line_process_end(struct layer *layer, const char *cause, bool may_print);

#endif
