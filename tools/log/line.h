/* SPDX-License-Identifier: MIT */
/* The lines of a log, whole. */
#ifndef QMPI_TOOL_LOG_LINE_H
#define QMPI_TOOL_LOG_LINE_H

#include "frames.h"
#include "layer.h"

/* Nanoseconds since the log began, of a reading of the clock and now. In a signal handler too. */
uint64_t line_time(uint64_t ticks);
uint64_t line_now(void);

/* "[0] 0.001234 MPI_Recv(…, status=?) <unfinished ...>", once for each call. */
void line_begin(struct frame *frame);

/* The same of a call that may be another thread's and may not return any more, with how long it has
 * lasted: "<unfinished after 5.00 s>". In a signal handler too, unless `may_print`. */
void line_unfinished(struct frame *frame, uint64_t now, bool may_print);

/* The line of a call that has returned: the calls that it was made from are announced before it. */
void line_finish(struct frame *frame, const QMPIX_Call *call, uint64_t time);

/* "MPI_Send(…) <left by a jump>". */
void line_left(struct frame *frame);

/* "+++ signal SIGTERM +++". In a signal handler too, unless `may_print`. */
void line_termination(struct layer *layer, const char *termination, bool may_print);

#endif
