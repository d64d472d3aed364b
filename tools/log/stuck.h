/* SPDX-License-Identifier: MIT */
/* stuck=TIME: a thread that looks for calls that do not return. It makes no MPI call. */
#ifndef QMPI_LOG_STUCK_H
#define QMPI_LOG_STUCK_H

#include "layer.h"

/* Begins, if the layer has the option; again: does nothing. */
void stuck_start(struct layer *layer);

/* Ends it and waits until it has ended. */
void stuck_stop(struct layer *layer);

#endif
