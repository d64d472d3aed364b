/* SPDX-License-Identifier: MIT */
/* The arguments of a call by name, as a line has them: what it reads, then what it wrote. */
#ifndef QMPI_TOOL_LOG_ARGUMENTS_H
#define QMPI_TOOL_LOG_ARGUMENTS_H

#include "frames.h"
#include "layer.h"

/* In `before`: "MPI_Recv(buf=0x7ffc, count=4, …, status=?)" into the frame, with its holes. */
void arguments_begin(struct frame *frame, const QMPIX_Call *call);

/* In `after`: the same with the holes filled, and " = MPI_SUCCESS". */
void arguments_end(struct text *text, const struct frame *frame, const QMPIX_Call *call);

#endif
