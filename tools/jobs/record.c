/* SPDX-License-Identifier: MIT */
/* See record.h. */
#define _GNU_SOURCE
#include "tools/jobs/record.h"

#include "toolkit/toolkit.h"
#include "util/util.h"

#include <errno.h>
#include <fcntl.h>
#include <qmpi/qmpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { THOUSAND = 1000, MILLION = 1000000 };

/* ---- The file -------------------------------------------------------------------------------- */

static bool name_file(char path[PATH_MAX], const char *directory, const char *dot, const char *name,
                      const char *suffix)
{
    const int length = snprintf(path, PATH_MAX, "%s/%s%s.%s", directory, dot, name, suffix);
    return length > 0 && length < PATH_MAX;
}

/* The time makes the name unique, because process ids are used again. */
void jobs_record_make(struct jobs_record *record, const char *directory, int tool_id)
{
    struct timespec now;
    struct tm parts;
    char time[64] = "";
    *record = (struct jobs_record){.exit = -1, .begin = *tool_run_process_begin()};
    clock_gettime(CLOCK_REALTIME, &now);
    if (gmtime_r(&now.tv_sec, &parts))
        strftime(time, sizeof time, "%Y%m%dT%H%M%S", &parts);
    char *place = tool_output_name("%j-%h-%p", tool_id, 0), *name = NULL;
    bool good = place && asprintf(&name, "%s.%09ldZ-%s", time, now.tv_nsec, place) > 0;
    good = good && name_file(record->path, directory, "", name, "json") &&
           name_file(record->temporary[0], directory, ".", name, "part") &&
           name_file(record->temporary[1], directory, ".", name, "last");
    if (!good)
        record->path[0] = record->temporary[0][0] = record->temporary[1][0] = '\0';
    free(name);
    free(place);
}

/* ---- Constant members ------------------------------------------------------------------------ */

/* Writes a string, or null if `text` is NULL. Bytes that are no text appear as in messages: \x1b,
 * \xff. */
static void put_string(FILE *stream, const char *text)
{
    char *clean = text ? qmpi_message("%s", text) : NULL;
    if (!clean) {
        fputs("null", stream);
        return;
    }
    fputc('"', stream);
    for (const char *c = clean; *c; c++) {
        if (*c == '"' || *c == '\\')
            fputc('\\', stream);
        fputc(*c, stream);
    }
    fputc('"', stream);
    free(clean);
}

static void put_member(FILE *stream, const char *name, const char *text)
{
    fprintf(stream, ",\"%s\":", name);
    put_string(stream, text);
}

static void put_number(FILE *stream, const char *name, int number)
{
    if (number < 0)
        fprintf(stream, ",\"%s\":null", name);
    else
        fprintf(stream, ",\"%s\":%d", name, number);
}

static void put_begin(FILE *stream, const struct timespec *begin)
{
    struct tm parts;
    char date[64] = "";
    if (gmtime_r(&begin->tv_sec, &parts))
        strftime(date, sizeof date, "%Y-%m-%dT%H:%M:%SZ", &parts);
    put_member(stream, "begin", date);
}

static void put_nodes(FILE *stream, const struct jobs_processes *processes)
{
    put_number(stream, "node_count", processes->node_count);
    fputs(",\"nodes\":[", stream);
    for (int i = 0; i < processes->named; i++) {
        if (i)
            fputc(',', stream);
        put_string(stream, processes->nodes[i]);
    }
    fputc(']', stream);
}

static void put_layers(FILE *stream)
{
    int count = 0;
    QMPIX_Tool_count(&count);
    fputs(",\"layers\":[", stream);
    for (int tool_id = 1; tool_id <= count; tool_id++) {
        const QMPIX_Tool_info *info = NULL;
        const char *name = NULL;
        QMPIX_Tool_get_name(tool_id, &name);
        QMPIX_Tool_get_info(tool_id, &info);
        fputs(tool_id > 1 ? ",{\"tool\":" : "{\"tool\":", stream);
        put_string(stream, name);
        put_member(stream, "version", info ? info->version : NULL);
        fputc('}', stream);
    }
    fputc(']', stream);
}

static void put_versions(FILE *stream, const struct jobs_processes *processes)
{
    int major = 0, minor = 0, patch = 0;
    QMPIX_Get_version(&major, &minor, &patch);
    fprintf(stream, ",\"qmpi\":\"%d.%d.%d\"", major, minor, patch);
    put_member(stream, "mpi", processes->mpi);
}

void jobs_record_describe(struct jobs_record *record, const struct jobs_processes *processes)
{
    char *text = NULL, *user = tool_output_name("%u", 1, 0);
    size_t length;
    FILE *stream = open_memstream(&text, &length);
    if (stream) {
        fputs("{\"schema\":\"qmpi-job/1\"", stream);
        put_member(stream, "user", user);
        fprintf(stream, ",\"uid\":%lu", (unsigned long)geteuid());
        put_member(stream, "job", tool_run_batch_job());
        put_member(stream, "step", getenv("SLURM_STEP_ID"));
        put_member(stream, "program", tool_run_program());
        put_begin(stream, &record->begin);
        put_number(stream, "ranks", processes->ranks);
        put_nodes(stream, processes);
        put_layers(stream);
        put_versions(stream, processes);
        if (fclose(stream)) {
            free(text);
            text = NULL;
        }
    }
    free(user);
    record->head = text;
}

/* ---- The line -------------------------------------------------------------------------------- */

/* These functions neither allocate memory nor use locks or streams, so that signal handlers can
 * call them. */
struct tail {
    size_t used;
    char bytes[256]; /* has room for all members */
};

static void add_text(struct tail *tail, const char *text)
{
    while (*text && tail->used < sizeof tail->bytes)
        tail->bytes[tail->used++] = *text++;
}

/* Adds a number of at least `least` digits. */
static void add_number(struct tail *tail, unsigned long long number, int least)
{
    char digits[24], *first = digits + sizeof digits - 1;
    *first = '\0';
    do {
        *--first = (char)('0' + number % 10);
        number /= 10;
    } while (number || digits + sizeof digits - 1 - first < least);
    add_text(tail, first);
}

static void add_seconds(struct tail *tail, const struct timespec *begin)
{
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    long long milliseconds = (long long)(now.tv_sec - begin->tv_sec) * THOUSAND +
                             (now.tv_nsec - begin->tv_nsec) / MILLION;
    if (milliseconds < 0)
        milliseconds = 0; /* the clock was set back */
    add_text(tail, ",\"seconds\":");
    add_number(tail, (unsigned long long)milliseconds / THOUSAND, 1);
    add_text(tail, ".");
    add_number(tail, (unsigned long long)milliseconds % THOUSAND, 3);
}

static void make_tail(struct tail *tail, const struct jobs_record *record)
{
    static const char *const states[] = {"none",   "starting", "running", "finalized",
                                         "exited", "aborted",  "signal"};
    tail->used = 0;
    add_seconds(tail, &record->begin);
    add_text(tail, ",\"state\":\"");
    add_text(tail, states[record->state]);
    add_text(tail, record->is_finalized ? "\",\"finalized\":true" : "\",\"finalized\":false");
    add_text(tail, ",\"exit\":");
    if (record->exit < 0)
        add_text(tail, "null");
    else
        add_number(tail, (unsigned)record->exit, 1);
    add_text(tail, record->signal ? ",\"signal\":\"" : ",\"signal\":null}\n");
    if (record->signal) {
        add_text(tail, record->signal);
        add_text(tail, "\"}\n");
    }
}

static int write_file(const struct jobs_record *record, const char *name)
{
    struct qmpi_output output;
    struct tail tail;
    make_tail(&tail, record);
    int problem = qmpi_output_open(&output, name, O_CREAT | O_EXCL | O_NOFOLLOW, 0644);
    if (problem)
        return problem;
    problem = qmpi_output_write(&output, record->head, strlen(record->head));
    if (!problem)
        problem = qmpi_output_write(&output, tail.bytes, tail.used);
    const int closed = qmpi_output_close(&output);
    if (!problem)
        problem = closed;
    if (!problem && rename(name, record->path))
        problem = errno;
    if (problem)
        unlink(name);
    return problem;
}

int jobs_record_write(const struct jobs_record *record, bool in_handler)
{
    const int error = errno;
    const int problem = record->head ? write_file(record, record->temporary[in_handler]) : ENOMEM;
    errno = error;
    return problem;
}

void jobs_record_remove(const struct jobs_record *record)
{
    unlink(record->path);
}
