/* SPDX-License-Identifier: MIT */
/*
 * What libqmpi says: errors and warnings, always with the prefix `qmpi:`, on stderr; and the traces
 * that QMPI_DEBUG asks for, by topic. Nothing here runs on the path of an MPI call. Also the one
 * way in which the library reads its environment.
 *
 * Names, paths and values come from outside: a message shows control characters in them as \n or
 * \x1b, and bytes that are no UTF-8 as \xff. The lines of a message are those of its format.
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

/* The value of an environment variable of ours; NULL in a privileged program, or where it is empty.
 */
const char *qmpi_getenv(const char *name);

/* This process's rank as the launcher gave it in the environment; -1 where none did. */
int qmpi_launcher_rank(void);

/* Whether this process speaks for its job: launcher rank 0, or a process without a launcher. */
bool qmpi_is_reporting_process(void);

/* Writes `text` to stderr in one piece, every line with the prefix. */
void qmpi_print(const char *text);

/*
 * A message's text, formatted as by asprintf, but that %s shows its argument as above, in one line.
 * %-s takes one that is a text of this kind already and keeps its lines. To be freed.
 */
char *qmpi_message(const char *format, ...) __attribute__((format(printf, 1, 2)));
char *qmpi_message_list(const char *format, va_list list) __attribute__((format(printf, 1, 0)));

/* As qmpi_print of what qmpi_message makes. */
void qmpi_printf(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* Traces the topics of a comma list (NULL: none) and reports those that it does not know. */
void qmpi_debug_start(const char *list);

/* Whether there is a topic of this name, or it is `all`. */
bool qmpi_debug_knows(const char *name, size_t length);

/* Whether a topic is traced. */
bool qmpi_debugs(enum qmpi_topic topic);

/* Traces one line under a topic, with the rank where it is known. */
void qmpi_debug(enum qmpi_topic topic, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* `text` as a message shows it, shortened with `…` to what fits there; the caller frees it. */
char *qmpi_shorten(const char *text);

/* As asprintf, but ends the process with a message where memory is out. */
char *qmpi_format(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* Says so and ends the process. */
_Noreturn void qmpi_out_of_memory(void);

/* calloc, strdup and strndup that end the process with a message where memory is out. */
void *qmpi_allocate(size_t count, size_t size);
char *qmpi_copy(const char *text);
char *qmpi_copy_part(const char *text, size_t length);

/*
 * An array with room for one element more than its `count`, of `size` bytes each: `array` itself
 * (NULL: none yet), or a larger copy in its place. One that is grown so has room for the next power
 * of two.
 */
void *qmpi_grow(void *array, int count, size_t size);

#endif
