/* SPDX-License-Identifier: MIT */
/* stuck=TIME: a thread that looks for calls that do not return. It makes no MPI call. */
#ifndef QMPI_TOOL_LOG_HANG_H
#define QMPI_TOOL_LOG_HANG_H

#include "layer.h"

/* Begins, if the layer has the option; again: does nothing. */
void hang_start(struct layer *layer);

/* Ends it and waits until it has ended. */
void hang_stop(struct layer *layer);

#endif
