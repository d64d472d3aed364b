/* SPDX-License-Identifier: MIT */
/* See convert.h. */
#define _GNU_SOURCE
#include "trace/convert.h"

#include "trace/csv.h"
#include "trace/json.h"
#include "trace/perfetto.h"

#include <errno.h>
#include <locale.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static bool write_format(FILE *stream, const struct trace_export *export,
                         enum trace_convert_to format)
{
    switch (format) {
    case TRACE_TO_PERFETTO:
        return trace_write_perfetto(stream, export);
    case TRACE_TO_JSON:
        return trace_write_json(stream, export);
    default:
        return trace_write_csv(stream, export);
    }
}

/* Numbers have a decimal point in any locale of the application. */
static bool write_numbers(FILE *stream, const struct trace_export *export,
                          enum trace_convert_to format)
{
    const locale_t ours = newlocale(LC_NUMERIC_MASK, "C", (locale_t)0);
    if (!ours)
        return false;
    const locale_t before = uselocale(ours);
    const bool good = write_format(stream, export, format);
    uselocale(before);
    freelocale(ours);
    return good;
}

static void set_problem(char **problem, const char *target, int reason)
{
    if (asprintf(problem, "cannot write %s: %s\nhint: choose another directory with output=",
                 target, strerror(reason ? reason : EIO)) < 0)
        *problem = NULL;
}

static bool write_target(const char *target, const struct trace_export *export,
                         enum trace_convert_to format, char **problem)
{
    char *temporary;
    if (asprintf(&temporary, "%s.%ld.tmp", target, (long)getpid()) < 0)
        return false;
    errno = 0;
    FILE *stream = fopen(temporary, "we");
    bool complete = true, good = stream;
    if (stream) {
        complete = write_numbers(stream, export, format);
        good = complete && !ferror(stream);
        good = fclose(stream) == 0 && good;
        good = good && rename(temporary, target) == 0;
    }
    if (complete && !good)
        set_problem(problem, target, errno);
    if (stream && !good)
        unlink(temporary);
    free(temporary);
    return good;
}

bool trace_convert_opened(const struct trace *trace, const char *target,
                          enum trace_convert_to format, trace_describe *describe,
                          void *describe_data, char **problem)
{
    *problem = NULL;
    struct trace_view view;
    struct trace_pairs pairs = {0};
    const bool is_alone = trace->process_count == 1;
    bool good = trace_view_open(&view, trace, NULL);
    good = good && (is_alone || trace_pairs_find(&pairs, &view));
    if (good) {
        const struct trace_export export = {&view, is_alone ? NULL : &pairs, describe,
                                            describe_data};
        good = write_target(target, &export, format, problem);
    }
    trace_pairs_free(&pairs);
    trace_view_close(&view);
    return good;
}

bool trace_convert(const char *source, const char *target, enum trace_convert_to format,
                   trace_describe *describe, void *describe_data, char **problem)
{
    *problem = NULL;
    struct trace *trace = trace_open(source, problem);
    if (!trace)
        return false;
    const bool good = trace_convert_opened(trace, target, format, describe, describe_data, problem);
    trace_close(trace);
    return good;
}
