/* SPDX-License-Identifier: MIT */
/*
 * Messages of libqmpi: errors and warnings on stderr, with the prefix `qmpi:`, and the traces that
 * QMPI_DEBUG requests, by topic. During MPI calls, these functions are called only to report
 * something.
 *
 * Names, paths and values come from outside: a message shows their control characters as \n or
 * \x1b, and bytes that are not UTF-8 as \xff. The line breaks of a message are in its
 * format, or in a text that is escaped already (%-s).
 */
#ifndef QMPI_UTIL_MESSAGE_H
#define QMPI_UTIL_MESSAGE_H

#include "util/memory.h"

#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>

enum qmpi_message_topic {
    QMPI_TOPIC_PARSE,
    QMPI_TOPIC_FIND,
    QMPI_TOPIC_LOAD,
    QMPI_TOPIC_MPI_LIBRARY, /* "base" in QMPI_DEBUG */
    QMPI_TOPIC_CHAIN,
    QMPI_TOPIC_COUNT
};

/* Returns the value of an environment variable of qmpi. Returns NULL if the variable is unset or
 * empty, and in a privileged program. For a variable that a configuration file can replace, see
 * qmpi_setting. */
const char *qmpi_getenv(const char *name);

/* Writes `text` to stderr in one piece, with the prefix on each line. */
void qmpi_print(const char *text);

/*
 * Formats a message like asprintf, except that %s escapes its argument as described above, in one
 * line. %-s takes a text that is escaped already, and keeps its lines. The caller frees the result.
 */
char *qmpi_message(const char *format, ...) __attribute__((format(printf, 1, 2)));
char *qmpi_message_list(const char *format, va_list list) __attribute__((format(printf, 1, 0)));

/* Prints a message that qmpi_message formats. */
void qmpi_printf(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* Enables tracing of the topics of a list, which commas or blanks separate, and reports unknown
 * topics. `list` may be NULL. */
void qmpi_message_debug_start(const char *list);

#define QMPI_TOPICS_HINT "hint: use parse, find, load, base, chain or all"

/* Returns whether this is the name of a topic, or `all`. */
bool qmpi_message_knows_topic(const char *name, size_t length);

/* Returns whether a topic is traced. */
bool qmpi_message_debugs(enum qmpi_message_topic topic);

/* Traces one line under a topic, with the rank if it is known. */
void qmpi_debug(enum qmpi_message_topic topic, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* Escapes `text` for a message, and shortens it with `…` if it is long. The caller frees the
 * result. */
char *qmpi_message_shorten(const char *text);

#endif
