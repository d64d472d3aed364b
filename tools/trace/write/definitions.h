/* SPDX-License-Identifier: MIT */
/*
 * What events refer to by index: threads that see an object for the first time add its definition
 * to a list, without a lock, before they record an event that refers to it. The writer writes them
 * before these events.
 */
#ifndef QMPI_TOOL_TRACE_WRITE_DEFINITIONS_H
#define QMPI_TOOL_TRACE_WRITE_DEFINITIONS_H

#include "trace/trace.h"

#include <stddef.h>
#include <stdint.h>

struct layer;

enum definition_kind {
    DEFINES_COMM,
    DEFINES_WINDOW,
    DEFINES_FILE,
    DEFINES_REGION,
    DEFINES_COUNTER,
    DEFINES_SITE
};

/* A frame of a call site, as QMPIX_Address_find gives it. */
struct definition_frame {
    const char *library;
    size_t offset;
};

struct definition {
    struct definition *next;
    enum definition_kind kind;
    uint32_t index;
    union {
        struct trace_comm comm; /* with strings and arrays of malloc, also below */
        struct trace_window window;
        struct trace_file file;
        struct trace_region region;
        struct trace_counter counter;
        struct {
            struct definition_frame *frames; /* never freed, nor is the definition */
            size_t count;
        } site;
    };
};

/* A definition that is empty; NULL: memory is exhausted. Not in a signal handler. */
struct definition *definition_make(enum definition_kind kind, uint32_t index);

/* Adds it. Any thread. */
void definitions_add(struct layer *layer, struct definition *definition);

/* For the writer: appends the records of all that were added to `records`. */
void definitions_take(struct layer *layer, struct trace_bytes *records);

/* For the writer: the index of a function, whose record is appended if it is new. */
uint32_t definitions_function(struct layer *layer, struct trace_bytes *records, int number);

/* For the writer: the record of a thread, if it is new. */
void definitions_location(struct layer *layer, struct trace_bytes *records, uint32_t location,
                          int64_t thread_id);

#endif
