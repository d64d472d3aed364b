/* SPDX-License-Identifier: MIT */
/* Ranks, tags and roots of MPI as those of a trace. */
#ifndef QMPI_TOOL_TRACE_RECORD_VALUES_H
#define QMPI_TOOL_TRACE_RECORD_VALUES_H

int value_of_peer(int peer);
int value_of_tag(int tag);
int value_of_root(int root);

#endif
