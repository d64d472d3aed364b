/* SPDX-License-Identifier: MIT */
/* See samples.h. */
#define _GNU_SOURCE
#include "samples.h"

#include "catalogue.h"
#include "constants.h"
#include "patterns.h"
#include "toolkit/toolkit.h"
#include "util/util.h"

#include <qmpi/clock.h>

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static uint64_t now(void)
{
    uint64_t ticks = 0;
    QMPIX_Clock_get_time(&ticks);
    return ticks;
}

static double seconds_since(uint64_t begin)
{
    uint64_t nanoseconds = 0;
    QMPIX_Clock_to_nanoseconds(now() - begin, &nanoseconds);
    return 1e-9 * (double)nanoseconds;
}

static bool wants(void *data, const struct variable *variable)
{
    struct samples *samples = data;
    const bool chosen = globs_match(samples->globs, variable->name);
    const bool allowed =
        early_allows(samples->early, variable->name, variable->var_class, samples->globs);
    samples->has_left_out |= chosen && !allowed;
    return chosen && allowed;
}

static void say_unwritten(struct samples *samples)
{
    qmpi_printf("mpit (layer %d): cannot write %s: %s\n"
                "  hint: give csv= a file in a directory that you can write to",
                samples->tool_id, samples->file, strerror(errno));
    if (samples->stream)
        fclose(samples->stream);
    samples->stream = NULL;
}

void samples_begin(struct samples *samples, int tool_id, int rank, bool has_world,
                   const char *globs, const struct early *early, char *file)
{
    *samples = (struct samples){.globs = globs,
                                .early = early,
                                .tool_id = tool_id,
                                .rank = rank,
                                .file = file,
                                .begin = now(),
                                .watch = {.session = MPI_T_PVAR_SESSION_NULL}};
    pthread_mutex_init(&samples->lock, NULL);
    samples->stream = fopen(file, "we");
    if (!samples->stream ||
        fprintf(samples->stream, "rank,sample,moment,seconds,variable,class,element,value\n") < 0) {
        say_unwritten(samples);
        return;
    }
    watch_begin(&samples->watch, tool_id, has_world, wants, samples);
}

/* RFC 4180. */
static void print_field(FILE *stream, const char *text)
{
    if (!strpbrk(text, "\",\r\n")) {
        fputs(text, stream);
        return;
    }
    fputc('"', stream);
    for (; *text; text++)
        fprintf(stream, *text == '"' ? "\"\"" : "%c", *text);
    fputc('"', stream);
}

static void write_variable(const struct samples *samples, const struct watched *watched,
                           const char *moment, double seconds)
{
    FILE *stream = samples->stream;
    void *data = watch_read(&samples->watch, watched);
    const bool is_text = watched->type->kind == VALUE_TEXT;
    for (int i = 0; data && i < (is_text ? 1 : watched->count); i++) {
        fprintf(stream, "%d,%d,%s,%.6f,", samples->rank, samples->number, moment, seconds);
        print_field(stream, watched->name);
        fprintf(stream, ",%s,%d,", word_of_class(watched->var_class), i);
        if (is_text)
            print_field(stream, data);
        else
            value_print_element(stream, watched->type, data, i);
        fputc('\n', stream);
    }
    free(data);
}

/* All lines of a sample tell one time: that of its begin. */
void samples_write(struct samples *samples, const char *moment)
{
    pthread_mutex_lock(&samples->lock);
    if (samples->stream) {
        struct tool_numbers numbers;
        tool_numbers_begin(&numbers);
        const double seconds = seconds_since(samples->begin);
        watch_extend(&samples->watch);
        for (int i = 0; i < samples->watch.count; i++)
            write_variable(samples, &samples->watch.all[i], moment, seconds);
        samples->number++;
        tool_numbers_end(&numbers);
        if (fflush(samples->stream) || ferror(samples->stream))
            say_unwritten(samples);
    }
    pthread_mutex_unlock(&samples->lock);
}

static bool is_matched(const struct watch *watch, const char *glob)
{
    for (int i = 0; i < watch->count; i++) {
        if (globs_match(glob, watch->all[i].name))
            return true;
    }
    return false;
}

static void say_unmatched(const struct samples *samples)
{
    const char *globs = samples->globs;
    while (globs && *globs && samples->rank == 0) {
        const size_t length = strcspn(globs, ";");
        char *glob = qmpi_copy_part(globs, length);
        if (*glob && !is_matched(&samples->watch, glob))
            qmpi_printf("mpit (layer %d): pvars=: no performance variable is named '%s'\n"
                        "  hint: `qmpi vars -t TOOLS` lists them%s",
                        samples->tool_id, glob,
                        samples->has_left_out
                            ? "; give the full names of the MPI library's own variables"
                            : "");
        free(glob);
        globs += length + (globs[length] == ';');
    }
}

void samples_end(struct samples *samples)
{
    pthread_mutex_lock(&samples->lock);
    if (samples->stream) {
        say_unmatched(samples);
        if (fclose(samples->stream)) {
            samples->stream = NULL;
            say_unwritten(samples);
        }
        samples->stream = NULL;
    }
    watch_end(&samples->watch);
    free(samples->file);
    samples->file = NULL;
    pthread_mutex_unlock(&samples->lock);
}
