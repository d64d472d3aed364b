/* SPDX-License-Identifier: MIT */
/*
 * The records of which blocks of definitions consist: a varint for the type, one for the size, and
 * the members in a fixed order. A reader skips records of types that it does not know, and what
 * follows the members that it knows; members that are missing at the end are 0.
 */
#ifndef QMPI_TRACE_RECORDS_H
#define QMPI_TRACE_RECORDS_H

#include "trace/bytes.h"
#include "trace/decode.h"
#include "trace/definitions.h"

enum trace_record {
    TRACE_RECORD_PROCESS = 1,
    TRACE_RECORD_KINDS,
    TRACE_RECORD_FUNCTION,
    TRACE_RECORD_LIBRARY,
    TRACE_RECORD_SITE,
    TRACE_RECORD_COMM,
    TRACE_RECORD_WINDOW,
    TRACE_RECORD_FILE,
    TRACE_RECORD_REGION,
    TRACE_RECORD_COUNTER,
    TRACE_RECORD_LOCATION,
    TRACE_RECORD_WORLD,
    TRACE_RECORD_CLOCK,
    TRACE_RECORD_END,
    TRACE_RECORD_ALIVE
};

/* As trace_put_definitions and trace_put_header, which compress what is worth it. */
void trace_put_records(struct trace_bytes *out, struct trace_bytes *records, bool compress);
void trace_put_first_records(struct trace_bytes *out, const struct trace_process *process,
                             bool compress);

/* What is read of the definitions of a process. */
struct trace_definitions {
    struct trace_process *process;
    uint32_t fields[TRACE_KINDS_MAX]; /* by kind of event */
    size_t function_room, library_room, site_room, comm_room, window_room, file_room, region_room,
        counter_room, location_room;
    uint64_t budget; /* bytes that may still be allocated */
    uint64_t seen;   /* records and blocks of events */
    bool is_exhausted;
};

/* Adds the records of a block. Returns false at the first invalid one, or if memory, or the budget,
 * is exhausted. */
bool trace_definitions_read(struct trace_definitions *definitions, const void *records,
                            size_t size);

/* Makes all references between definitions valid, and all strings. */
bool trace_definitions_finish(struct trace_definitions *definitions);

/* Makes room for the location `index`; adds a function. */
bool trace_definitions_add_location(struct trace_definitions *definitions, uint32_t index);
bool trace_definitions_add_function(struct trace_definitions *definitions, const char *name);

#endif
