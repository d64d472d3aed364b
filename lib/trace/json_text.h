/* SPDX-License-Identifier: MIT */
/* Elements of JSON that are written as they come. */
#ifndef QMPI_TRACE_JSON_TEXT_H
#define QMPI_TRACE_JSON_TEXT_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

/* A string in quotes, in valid UTF-8. */
void trace_json_string(FILE *stream, const char *text);

/* Members of an object; `separator` is written before it, and becomes ",". */
void trace_json_member_number(FILE *stream, const char **separator, const char *name,
                              int64_t value);
void trace_json_member_string(FILE *stream, const char **separator, const char *name,
                              const char *text);

/* A time in microseconds, with three decimals. */
void trace_json_time(FILE *stream, int64_t nanoseconds);

#endif
