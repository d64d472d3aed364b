/* SPDX-License-Identifier: MIT */
/*
 * Messages of libqmpi: errors and warnings on stderr, with the prefix `qmpi:`, and the traces that
 * QMPI_DEBUG requests, by topic. Nothing here runs on the path of an MPI call. This is also the
 * only place where libqmpi reads environment variables.
 *
 * Names, paths and values come from outside: a message shows their control characters as \n or
 * \x1b, and bytes that are not UTF-8 as \xff. Only the format of a message contains line breaks.
 */
#ifndef QMPI_UTIL_MESSAGE_H
#define QMPI_UTIL_MESSAGE_H

#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>

enum qmpi_topic {
    QMPI_TOPIC_PARSE,
    QMPI_TOPIC_FIND,
    QMPI_TOPIC_LOAD,
    QMPI_TOPIC_BASE,
    QMPI_TOPIC_CHAIN,
    QMPI_TOPIC_COUNT
};

/* Returns the value of an environment variable of qmpi; NULL if it is empty, or in a privileged
 * program.
 */
const char *qmpi_getenv(const char *name);

/* Returns the rank of this process that the launcher set in the environment; -1: none. */
int qmpi_launcher_rank(void);

/* Whether this process prints messages for its job: launcher rank 0, or no launcher. */
bool qmpi_is_reporting_process(void);

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

/* Enables tracing of the topics of a list (NULL: none), which commas or blanks separate, and
 * reports unknown topics.
 */
void qmpi_debug_start(const char *list);

#define QMPI_TOPICS_HINT "hint: use parse, find, load, base, chain or all"

/* Whether this is the name of a topic, or `all`. */
bool qmpi_debug_knows(const char *name, size_t length);

/* Whether a topic is traced. */
bool qmpi_debugs(enum qmpi_topic topic);

/* Traces one line under a topic, with the rank if it is known. */
void qmpi_debug(enum qmpi_topic topic, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* Escapes `text` for a message, and shortens it with `…` if it is long. The caller frees the
 * result. */
char *qmpi_shorten(const char *text);

/* Like asprintf, but terminates the process with a message if memory is exhausted. */
char *qmpi_format(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* Prints a message and terminates the process. */
_Noreturn void qmpi_out_of_memory(void);

/* Like calloc, strdup and strndup, but terminate the process with a message if memory is exhausted.
 */
void *qmpi_allocate(size_t count, size_t size);
char *qmpi_copy(const char *text);
char *qmpi_copy_part(const char *text, size_t length);

/*
 * Returns an array with room for one more than `count` elements of `size` bytes: `array` itself
 * (NULL: none yet), or a larger copy that replaces it. The capacity is the next power of two.
 */
void *qmpi_grow(void *array, int count, size_t size);

#endif
