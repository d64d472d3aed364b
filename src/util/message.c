/* SPDX-License-Identifier: MIT */
/* See message.h. */
#define _GNU_SOURCE
#include "util/message.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char *const topics[QMPI_TOPIC_COUNT] = {"parse", "find", "load", "base", "chain"};
static bool traced[QMPI_TOPIC_COUNT];

const char *qmpi_getenv(const char *name)
{
    const char *value = secure_getenv(name);
    return value && *value ? value : NULL;
}

int qmpi_launcher_rank(void)
{
    /* Hydra and Slurm's PMI-1/2, PMIx, Open MPI, MVAPICH2, Slurm, Cray PALS and ALPS. */
    static const char *const variables[] = {
        "PMI_RANK",    "PMIX_RANK",   "OMPI_COMM_WORLD_RANK", "MV2_COMM_WORLD_RANK",
        "PALS_RANKID", "ALPS_APP_PE", "SLURM_PROCID"};
    for (size_t i = 0; i < sizeof variables / sizeof *variables; i++) {
        const char *value = getenv(variables[i]);
        if (!value || !*value)
            continue;
        char *end;
        const long rank = strtol(value, &end, 10);
        if (!*end && rank >= 0 && rank <= INT_MAX)
            return (int)rank;
    }
    return -1;
}

bool qmpi_is_reporting_process(void)
{
    return qmpi_launcher_rank() <= 0;
}

void qmpi_out_of_memory(void)
{
    static const char text[] = "qmpi: out of memory\n";
    ssize_t written = write(STDERR_FILENO, text, sizeof text - 1);
    (void)written;
    _exit(2);
}

void *qmpi_allocate(size_t count, size_t size)
{
    void *memory = calloc(count ? count : 1, size ? size : 1);
    if (!memory)
        qmpi_out_of_memory();
    return memory;
}

void *qmpi_grow(void *array, int count, size_t size)
{
    const size_t used = (size_t)count;
    if (used & (used - 1))
        return array;
    void *more = reallocarray(array, used ? 2 * used : 1, size);
    if (!more)
        qmpi_out_of_memory();
    return more;
}

char *qmpi_copy_part(const char *text, size_t length)
{
    char *copy = qmpi_allocate(length + 1, 1);
    memcpy(copy, text, length);
    return copy;
}

char *qmpi_copy(const char *text)
{
    return qmpi_copy_part(text, strlen(text));
}

char *qmpi_format(const char *format, ...)
{
    char part[256]; /* mostly all of it */
    va_list list, again;
    va_start(list, format);
    va_copy(again, list);
    const int length = vsnprintf(part, sizeof part, format, list);
    va_end(list);
    if (length < 0)
        qmpi_out_of_memory();
    char *text = qmpi_allocate((size_t)length + 1, 1);
    if ((size_t)length < sizeof part)
        memcpy(text, part, (size_t)length);
    else
        vsnprintf(text, (size_t)length + 1, format, again);
    va_end(again);
    return text;
}

/* ---- Writing --------------------------------------------------------------------------------- */

/* Writes all of it: a message must not be cut by a signal or a slow pipe. */
static void write_all(const char *text, size_t length)
{
    while (length) {
        const ssize_t written = write(STDERR_FILENO, text, length);
        if (written < 0 && errno == EINTR)
            continue;
        if (written < 0)
            return;
        text += written;
        length -= (size_t)written;
    }
}

/* Whatever the text is made of, no control character of it gets out. */
static void say_with(const char *prefix, const char *text)
{
    char *all;
    size_t length;
    FILE *stream = open_memstream(&all, &length);
    if (!stream)
        qmpi_out_of_memory();
    while (*text) {
        const size_t line = strcspn(text, "\n");
        char *shown = qmpi_message("%.*s", (int)line, text);
        fprintf(stream, "%s%s\n", prefix, shown);
        free(shown);
        text += line + (text[line] == '\n');
    }
    if (fclose(stream))
        qmpi_out_of_memory();
    write_all(all, length);
    free(all);
}

void qmpi_print(const char *text)
{
    say_with("qmpi: ", text);
}

void qmpi_printf(const char *format, ...)
{
    va_list list;
    va_start(list, format);
    char *text = qmpi_message_list(format, list);
    va_end(list);
    qmpi_print(text);
    free(text);
}

static bool trace_topic(const char *name, size_t length)
{
    const bool all = length == 3 && !memcmp(name, "all", 3);
    bool known = all;
    for (int topic = 0; topic < QMPI_TOPIC_COUNT; topic++) {
        if (all || (strlen(topics[topic]) == length && !memcmp(topics[topic], name, length)))
            known = traced[topic] = true;
    }
    return known;
}

bool qmpi_debug_knows(const char *name, size_t length)
{
    bool known = length == 3 && !memcmp(name, "all", 3);
    for (int topic = 0; topic < QMPI_TOPIC_COUNT; topic++)
        known |= strlen(topics[topic]) == length && !memcmp(topics[topic], name, length);
    return known;
}

void qmpi_debug_start(const char *list)
{
    while (list && *list) {
        const size_t length = strcspn(list, ", ");
        if (length && !trace_topic(list, length) && qmpi_is_reporting_process()) {
            char *name = qmpi_copy_part(list, length);
            char *shown = qmpi_shorten(name);
            qmpi_printf("QMPI_DEBUG: unknown topic '%s'\n  " QMPI_TOPICS_HINT, shown);
            free(shown);
            free(name);
        }
        list += length + (list[length] != '\0');
    }
}

bool qmpi_debugs(enum qmpi_topic topic)
{
    return traced[topic];
}

void qmpi_debug(enum qmpi_topic topic, const char *format, ...)
{
    if (!traced[topic])
        return;
    va_list list;
    va_start(list, format);
    char *text = qmpi_message_list(format, list);
    va_end(list);
    const int rank = qmpi_launcher_rank();
    char *prefix = rank < 0 ? qmpi_format("qmpi: %s: ", topics[topic])
                            : qmpi_format("qmpi: rank %d: %s: ", rank, topics[topic]);
    say_with(prefix, text);
    free(prefix);
    free(text);
}
