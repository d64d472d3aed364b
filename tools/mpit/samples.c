/* SPDX-License-Identifier: MIT */
/* See samples.h. */
#define _GNU_SOURCE
#include "tools/mpit/samples.h"

#include "toolkit/toolkit.h"
#include "tools/mpit/variable.h"
#include "util/util.h"

#include <errno.h>
#include <fcntl.h>
#include <qmpi/clock.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* ---- Handles of variables -------------------------------------------------------------------- */

const char *samples_watch_open(int tool_id, MPI_T_pvar_session session,
                               const struct variable *variable, bool has_world,
                               MPI_T_pvar_handle *handle, int *count)
{
    MPI_Comm world = MPI_COMM_WORLD;
    const bool bound = variable->bind != MPI_T_BIND_NO_OBJECT;
    if (!variable->type)
        return "its datatype is not one of MPI_T's";
    if (bound && (variable->bind != MPI_T_BIND_MPI_COMM || !has_world))
        return "it is bound to an object";
    const int result = CALL_NEXT(tool_id, T_pvar_handle_alloc, MPI_T_PVAR_HANDLE_ALLOC_T, session,
                                 variable->index, bound ? &world : NULL, handle, count);
    return result == MPI_SUCCESS ? NULL : "no handle can be allocated";
}

static void watch_variable(struct samples_watch *watch, const struct variable *variable)
{
    if (!QMPI_MEMORY_RESERVE(watch->all, watch->room, (size_t)watch->count + 1))
        return;
    struct samples_watched *watched = &watch->all[watch->count];
    if (samples_watch_open(watch->tool_id, watch->session, variable, watch->has_world,
                           &watched->handle, &watched->count))
        return;
    if (!variable->continuous)
        CALL_NEXT(watch->tool_id, T_pvar_start, MPI_T_PVAR_START_T, watch->session,
                  watched->handle);
    watched->index = variable->index;
    watched->name = qmpi_copy(variable->name);
    watched->var_class = variable->var_class;
    watched->type = variable->type;
    watch->count++;
}

void samples_watch_extend(struct samples_watch *watch)
{
    int count = 0;
    if (watch->session == MPI_T_PVAR_SESSION_NULL)
        return;
    CALL_NEXT(watch->tool_id, T_pvar_get_num, MPI_T_PVAR_GET_NUM_T, &count);
    for (; watch->seen < count; watch->seen++) {
        struct variable variable;
        if (!variable_read_pvar_info(watch->tool_id, watch->seen, &variable))
            continue;
        if (watch->wants(watch->data, &variable))
            watch_variable(watch, &variable);
        variable_clear(&variable);
    }
}

void samples_watch_begin(struct samples_watch *watch, int tool_id, bool has_world,
                         bool (*wants)(void *data, const struct variable *variable), void *data)
{
    *watch = (struct samples_watch){.tool_id = tool_id,
                                    .has_world = has_world,
                                    .wants = wants,
                                    .data = data,
                                    .session = MPI_T_PVAR_SESSION_NULL};
    if (CALL_NEXT(tool_id, T_pvar_session_create, MPI_T_PVAR_SESSION_CREATE_T, &watch->session) !=
        MPI_SUCCESS)
        watch->session = MPI_T_PVAR_SESSION_NULL;
    samples_watch_extend(watch);
}

const struct samples_watched *samples_watch_find(const struct samples_watch *watch, int index)
{
    int low = 0, high = watch->count;
    while (low < high) {
        const int middle = low + (high - low) / 2;
        if (watch->all[middle].index < index)
            low = middle + 1;
        else
            high = middle;
    }
    return low < watch->count && watch->all[low].index == index ? &watch->all[low] : NULL;
}

void *samples_watch_read(const struct samples_watch *watch, const struct samples_watched *watched)
{
    void *data = variable_make_room(watched->type, watched->count);
    if (CALL_NEXT(watch->tool_id, T_pvar_read, MPI_T_PVAR_READ_T, watch->session, watched->handle,
                  data) == MPI_SUCCESS)
        return data;
    free(data);
    return NULL;
}

void samples_watch_end(struct samples_watch *watch)
{
    for (int i = 0; i < watch->count; i++) {
        CALL_NEXT(watch->tool_id, T_pvar_handle_free, MPI_T_PVAR_HANDLE_FREE_T, watch->session,
                  &watch->all[i].handle);
        free(watch->all[i].name);
    }
    if (watch->session != MPI_T_PVAR_SESSION_NULL)
        CALL_NEXT(watch->tool_id, T_pvar_session_free, MPI_T_PVAR_SESSION_FREE_T, &watch->session);
    free(watch->all);
    *watch = (struct samples_watch){.session = MPI_T_PVAR_SESSION_NULL};
}

/* ---- Samples --------------------------------------------------------------------------------- */

static uint64_t read_clock(void)
{
    uint64_t ticks = 0;
    QMPIX_Clock_get_time(&ticks);
    return ticks;
}

QMPI_COMPUTES static double seconds_since(uint64_t begin)
{
    uint64_t nanoseconds = 0;
    QMPIX_Clock_to_nanoseconds(read_clock() - begin, &nanoseconds);
    return 1e-9 * (double)nanoseconds;
}

static bool is_sampled(void *data, const struct variable *variable)
{
    struct samples *samples = data;
    const bool chosen = qmpi_value_matches_patterns(samples->globs, variable->name, false);
    const bool allowed =
        variable_early_allows(samples->early, variable->name, variable->var_class, samples->globs);
    samples->has_left_out |= chosen && !allowed;
    return chosen && allowed;
}

/* Prints an error. Called at most once, because nothing is written after the first error. */
static void print_write_error(struct samples *samples, const char *what, int problem)
{
    qmpi_printf("mpit (layer %d): cannot write %s%s: %s\n"
                "  hint: give csv= a file in a directory that you can write to",
                samples->tool_id, what, samples->file, strerror(problem ? problem : ENOMEM));
}

/* Returns false if not everything has been written. */
static bool close_stream(struct samples *samples)
{
    const bool had_error = ferror(samples->stream);
    const bool good = fclose(samples->stream) == 0 && !had_error;
    samples->stream = NULL;
    return good;
}

void samples_discard_file(const char *path)
{
    struct stat status;
    if (!lstat(path, &status) && S_ISREG(status.st_mode))
        unlink(path);
}

static void open_stream(struct samples *samples)
{
    samples->path = qmpi_output_full_path(samples->file);
    int problem = samples->path
                      ? qmpi_output_open(&samples->output, samples->path, O_CREAT | O_TRUNC, 0666)
                      : ENOMEM;
    samples->stream = problem ? NULL : qmpi_output_stream(&samples->output);
    if (!samples->stream) {
        if (!problem)
            qmpi_output_close(&samples->output);
        if (!problem)
            samples_discard_file(samples->path);
        print_write_error(samples, "", problem);
        return;
    }
    fputs("rank,sample,moment,seconds,variable,class,element,value\n", samples->stream);
    if (fflush(samples->stream)) {
        close_stream(samples);
        samples_discard_file(samples->path);
        print_write_error(samples, "", samples->output.error);
    }
}

void samples_begin(struct samples *samples, int tool_id, int rank, bool has_world,
                   const char *globs, const struct variable_early *early, char *file)
{
    *samples = (struct samples){.globs = globs,
                                .early = early,
                                .tool_id = tool_id,
                                .rank = rank,
                                .file = file,
                                .begin = read_clock(),
                                .watch = {.session = MPI_T_PVAR_SESSION_NULL}};
    pthread_mutex_init(&samples->lock, NULL);
    open_stream(samples);
    if (samples->stream)
        samples_watch_begin(&samples->watch, tool_id, has_world, is_sampled, samples);
}

static void write_variable(const struct samples *samples, const struct samples_watched *watched,
                           const char *moment, double seconds)
{
    FILE *stream = samples->stream;
    void *data = samples_watch_read(&samples->watch, watched);
    const bool is_text = watched->type->kind == VALUE_TEXT;
    for (int i = 0; data && i < (is_text ? 1 : watched->count); i++) {
        fprintf(stream, "%d,%d,%s,%.6f,", samples->rank, samples->number, moment, seconds);
        qmpi_text_put_csv(stream, watched->name);
        fprintf(stream, ",%s,%d,", variable_class_name(watched->var_class), i);
        if (is_text)
            qmpi_text_put_csv(stream, data);
        else
            variable_print_element(stream, watched->type, data, i);
        fputc('\n', stream);
    }
    free(data);
}

/* All lines of a sample have the time at which it began. */
void samples_write(struct samples *samples, const char *moment)
{
    pthread_mutex_lock(&samples->lock);
    if (samples->stream) {
        struct qmpi_value_numbers numbers;
        qmpi_value_begin_numbers(&numbers);
        const double seconds = seconds_since(samples->begin);
        samples_watch_extend(&samples->watch);
        for (int i = 0; i < samples->watch.count; i++)
            write_variable(samples, &samples->watch.all[i], moment, seconds);
        samples->number++;
        qmpi_value_end_numbers(&numbers);
        if (fflush(samples->stream) || ferror(samples->stream)) {
            close_stream(samples);
            print_write_error(samples, "the rest of ", samples->output.error);
        }
    }
    pthread_mutex_unlock(&samples->lock);
}

static bool is_matched_by(const struct samples_watch *watch, const char *glob)
{
    for (int i = 0; i < watch->count; i++) {
        if (qmpi_value_matches_patterns(glob, watch->all[i].name, false))
            return true;
    }
    return false;
}

static void print_unmatched(const struct samples *samples)
{
    const char *globs = samples->globs;
    while (globs && *globs && samples->rank == 0) {
        const size_t length = strcspn(globs, ";");
        char *glob = qmpi_copy_part(globs, length);
        if (*glob && !is_matched_by(&samples->watch, glob))
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
        print_unmatched(samples);
        if (!close_stream(samples))
            print_write_error(samples, "the rest of ", samples->output.error);
    }
    samples_watch_end(&samples->watch);
    free(samples->path);
    free(samples->file);
    samples->path = samples->file = NULL;
    pthread_mutex_unlock(&samples->lock);
}
