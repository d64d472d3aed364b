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

bool trace_convert(const struct trace_export *export, const char *target,
                   enum trace_convert_to format, char **problem)
{
    char *temporary;
    *problem = NULL;
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
