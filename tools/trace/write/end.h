/* SPDX-License-Identifier: MIT */
/* The end of the file of a process. For the writer. */
#ifndef QMPI_TOOL_TRACE_WRITE_END_H
#define QMPI_TOOL_TRACE_WRITE_END_H

struct layer;

/* Writes how the process ended, and its clock; closes the file. */
void end_write(struct layer *layer);

#endif
