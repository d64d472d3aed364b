/* SPDX-License-Identifier: MIT */
/*
 * Events as comma-separated values, one in a row, process by process, and in order of time in each.
 * Nothing is left out or combined. Columns that do not apply are empty.
 */
#ifndef QMPI_TRACE_CSV_H
#define QMPI_TRACE_CSV_H

#include "trace/export.h"

#define TRACE_CSV_HEADER                                                                           \
    "time,rank,process,thread,event,function,group,communicator,peer,tag,root,bytes,received,"     \
    "request,object,value,site\n"

/* Returns false if memory is exhausted; the caller checks the stream for errors. */
bool trace_write_csv(FILE *stream, const struct trace_export *export);

/* The name of a kind of event: "enter", "send", …. */
const char *trace_kind_name(enum trace_kind kind);

#endif
