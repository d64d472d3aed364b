/* SPDX-License-Identifier: MIT */
/*
 * Fuzz target: `qmpi trace` and `qmpi report` with a trace of two processes, whose files have any
 * content. The environment variable FUZZ_USE names the use. The first two bytes of the input are
 * the size of rank 0's file, which follows them; the rest is rank 1's file. The checksums are
 * corrected first, because the reader would refuse damaged files at once. Each use must end with a
 * result, or with a message that has a hint.
 */
#define _GNU_SOURCE
#include "tools/profile/result/profile.h"
#include "tools/trace/export/trace.h"
#include "tools/trace/file/block.h"
#include "tools/trace/profile/profile.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(bool holds)
{
    if (!holds)
        abort();
}

/* ---- Files ----------------------------------------------------------------------------------- */

/* Makes blocks of everything after the magic number of the file: sets the magic number, the sizes
 * and the checksums of each block. */
static void set_checksums(unsigned char *file, size_t size)
{
    for (size_t at = TRACE_MAGIC_SIZE; at < size && size - at >= TRACE_BLOCK_SIZE;) {
        unsigned char *block = file + at;
        const size_t left = size - at - TRACE_BLOCK_SIZE;
        size_t head = (size_t)trace_bytes_read_word(block + 8, 4) % (left + 1);
        size_t stored = (size_t)trace_bytes_read_word(block + 12, 4) % (left - head + 1);
        memcpy(block, TRACE_BLOCK_MAGIC, TRACE_BLOCK_MAGIC_SIZE);
        trace_bytes_write_word(block + 8, head, 4);
        trace_bytes_write_word(block + 12, stored, 4);
        if (!block[5])
            trace_bytes_write_word(block + 16, stored, 4);
        trace_bytes_write_word(block + 20, trace_block_checksum(0, block + TRACE_BLOCK_SIZE, head),
                               4);
        trace_bytes_write_word(block + 24,
                               trace_block_checksum(0, block + TRACE_BLOCK_SIZE + head, stored), 4);
        trace_bytes_write_word(block + 28, trace_block_checksum(0, block, 28), 4);
        at += TRACE_BLOCK_SIZE + head + stored;
    }
}

static char directory[64];

static void remove_directory(void)
{
    char path[96];
    for (int rank = 0; rank < 2; rank++) {
        snprintf(path, sizeof path, "%s/rank-%d.qtrace", directory, rank);
        unlink(path);
    }
    rmdir(directory);
}

static void write_file(int rank, const uint8_t *data, size_t size)
{
    char path[96];
    unsigned char *file = malloc(size + 1);
    memcpy(file, data, size);
    set_checksums(file, size);
    snprintf(path, sizeof path, "%s/rank-%d.qtrace", directory, rank);
    const int descriptor = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    check(descriptor >= 0 && write(descriptor, file, size) == (ssize_t)size);
    close(descriptor);
    free(file);
}

static struct trace *open_trace(const uint8_t *data, size_t size)
{
    if (!*directory) {
        snprintf(directory, sizeof directory, "%s/fuzz-XXXXXX",
                 access("/dev/shm", W_OK) ? "/tmp" : "/dev/shm");
        check(mkdtemp(directory));
        atexit(remove_directory);
    }
    size_t first = data[0] | (size_t)data[1] << 8;
    data += 2;
    size -= 2;
    first = first > size ? size : first;
    write_file(0, data, first);
    write_file(1, data + first, size - first);
    char *problem = NULL;
    struct trace *trace = trace_reader_open(directory, &problem);
    if (!trace)
        check(strstr(problem, "\nhint: ") != NULL);
    free(problem);
    return trace;
}

/* ---- Functions that are never called, but that the linker needs ------------------------------ */

bool profile_output_open(struct profile_output *output, const char *path, char **problem)
{
    (void)output, (void)path, (void)problem;
    return false;
}

bool profile_output_close(struct profile_output *output, bool complete, char **problem)
{
    (void)output, (void)complete, (void)problem;
    return false;
}

/* ---- Uses ------------------------------------------------------------------------------------ */

enum use { CHECK, REPAIR, REPORT, PERFETTO, CSV, USES };
static const char *const uses[USES] = {[CHECK] = "check",
                                       [REPAIR] = "repair",
                                       [REPORT] = "report",
                                       [PERFETTO] = "perfetto",
                                       [CSV] = "csv"};
enum { LATENCY = 100 }; /* nanoseconds */

static enum use find_use(void)
{
    const char *name = getenv("FUZZ_USE");
    int use = 0;
    while (use < USES && name && strcmp(name, uses[use]) != 0)
        use++;
    if (!name || use == USES) {
        fputs("set FUZZ_USE to one of these:", stderr);
        for (use = 0; use < USES; use++)
            fprintf(stderr, " %s", uses[use]);
        fputc('\n', stderr);
        exit(1);
    }
    return (enum use)use;
}

/* Writes the trace in a format for other programs. */
static void convert(const struct trace_view *view, enum use use, FILE *stream)
{
    struct trace_pairs pairs;
    check(trace_pairs_find(&pairs, view));
    const struct trace_export export = {view, &pairs, NULL, NULL};
    if (use == PERFETTO)
        check(trace_export_perfetto(stream, &export));
    else
        check(trace_export_csv(stream, &export));
    trace_pairs_free(&pairs);
}

/* Corrects the times of the trace, and writes the corrected trace. */
static void repair(struct trace_view *view, FILE *stream)
{
    struct trace_view repaired;
    struct trace_corrections *corrections = trace_corrections_find(view, LATENCY);
    check(corrections && trace_view_open(&repaired, view->trace, &view->selection));
    repaired.corrections = corrections;
    convert(&repaired, CSV, stream);
    trace_view_close(&repaired);
    trace_corrections_free(corrections);
}

static void report(const struct trace *trace, FILE *stream)
{
    char *problem = NULL;
    struct profile_result *result = trace_profile_make(trace, true, &problem);
    if (!result) {
        check(strstr(problem, "\nhint: ") != NULL);
        free(problem);
        return;
    }
    const struct profile_layout layout = {10, PROFILE_TEXT_WIDTH};
    check(profile_text_print(stream, result, UINT32_MAX, &layout));
    check(profile_csv_print(stream, result) && profile_json_print(stream, result));
    profile_result_free(result);
}

static void use_view(struct trace_view *view, enum use use, FILE *stream)
{
    struct trace_check found;
    switch (use) {
    case CHECK:
        check(trace_check_run(&found, view));
        trace_check_free(&found);
        break;
    case REPAIR:
        repair(view, stream);
        break;
    default:
        convert(view, use, stream);
        break;
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static FILE *stream;
    static enum use use;
    if (!stream) {
        use = find_use();
        stream = fopen("/dev/null", "w");
    }
    struct trace *trace = size > 2 ? open_trace(data, size) : NULL;
    if (!trace)
        return 0;
    const struct trace_cursor_selection part = {
        .has_begin = true, .has_end = true, .begin = trace->end / 4, .end = trace->end / 2};
    if (use == REPORT) {
        report(trace, stream);
    } else {
        for (int i = 0; i < 2; i++) {
            struct trace_view view;
            check(trace_view_open(&view, trace, i ? &part : NULL));
            use_view(&view, use, stream);
            trace_view_close(&view);
        }
    }
    trace_reader_close(trace);
    return 0;
}
