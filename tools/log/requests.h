/* SPDX-License-Identifier: MIT */
/*
 * Which call made a request: what MPI_Wait waits for. Known only where every function that deals
 * with requests is observed: else a handle that is used again would have the name of another call.
 */
#ifndef QMPI_TOOL_LOG_REQUESTS_H
#define QMPI_TOOL_LOG_REQUESTS_H

#include "frames.h"
#include "layer.h"

/* Whether the options leave every such function in. */
bool requests_are_known(const struct options *options);

/* In `before`: keeps the requests that the call is given. (QMPIX_OBSERVE_REQUESTS would read them
 * before there is a line, and fault where the program's pointer is wrong.) */
void requests_save(struct frame *frame, const QMPIX_Call *call);

/* In `after`, when the call has its line: notes the request that it made, and those that are gone.
 */
void requests_follow(struct frame *frame, const QMPIX_Call *call);

#endif
