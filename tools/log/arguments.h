/* SPDX-License-Identifier: MIT */
/* This part prints the name, arguments and result of a call, and remembers which call made a
 * request, so that the log can show what MPI_Wait waits for. */
#ifndef QMPI_TOOL_LOG_ARGUMENTS_H
#define QMPI_TOOL_LOG_ARGUMENTS_H

#include "tools/log/frames.h"
#include "tools/log/layer.h"

/* Writes "MPI_Recv(buf=0x7ffc, count=4, …, status=?)" into the text of the frame and records its
 * holes, which are the arguments that are known only after the call. The observer's `before`
 * callback calls this function. */
void arguments_begin(struct frame *frame, const QMPIX_Call *call);

/* Appends the text of the frame to `text` with its holes filled, and then the result, such as " =
 * MPI_SUCCESS". The observer's `after` callback calls this function. */
void arguments_end(struct text *text, const struct frame *frame, const QMPIX_Call *call);

/* Returns whether the options choose every function that can make or free a request. If they do
 * not, the calls that made requests are unknown: a handle that MPI reuses would be shown with the
 * name of the wrong call. */
bool arguments_know_requests(const struct layer_options *options);

/* Saves the requests that are passed to the call. The `before` callback calls this function.
 * QMPIX_OBSERVE_REQUESTS is not used because it would read the requests before there is a line, and
 * would fault if the program's pointer is invalid. */
void arguments_save_requests(struct frame *frame, const QMPIX_Call *call);

/* Records the request that the call made and forgets the requests that no longer exist. The `after`
 * callback calls this function when the line of the call is complete. */
void arguments_follow_requests(struct frame *frame, const QMPIX_Call *call);

#endif
