/* SPDX-License-Identifier: MIT */
/* UTF-8 in files: names come from programs, which may use any bytes. */
#ifndef QMPI_TRACE_UTF8_H
#define QMPI_TRACE_UTF8_H

#include <stdbool.h>
#include <stddef.h>

/* Returns the number of bytes of the first character of a text; 0: it is not valid. */
size_t trace_utf8_length(const char *text);

/* Copies a text; what is not valid becomes U+FFFD. Returns `text` itself if it is valid, else
 * `room`, where it may be cut. */
const char *trace_utf8(const char *text, char *room, size_t size);

#endif
