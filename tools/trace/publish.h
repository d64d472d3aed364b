/* SPDX-License-Identifier: MIT */
/* The MPI_T variables of a layer: what has been recorded, and a switch that saves it. */
#ifndef QMPI_TOOL_TRACE_PUBLISH_H
#define QMPI_TOOL_TRACE_PUBLISH_H

struct layer;

/* Publishes them when MPI_T is first initialized. */
void publish_lazily(struct layer *layer);

#endif
