/* SPDX-License-Identifier: MIT */
/* qmpi report: reads files, and brings those of single processes of one run together. */
#define _GNU_SOURCE
#include "cli/report/report.h"

#include "symbols/symbols.h"
#include "trace/trace.h"
#include "util/util.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

/* ---- Places ---------------------------------------------------------------------------------- */

/* What a program was when the run began, not what has been built since. */
static bool is_unchanged(const char *module, const char *begin)
{
    struct tm parts = {0};
    struct stat status;
    return stat(module, &status) == 0 && S_ISREG(status.st_mode) &&
           strptime(begin, "%Y-%m-%dT%H:%M:%S", &parts) && status.st_mtime <= timegm(&parts);
}

/* Processes that end by a signal leave looking up addresses to us. */
static int find_places(const struct profile_result *result, const struct profile_frame *frame,
                       struct profile_frame **places)
{
    QMPIX_Frame *found = NULL;
    if (!is_unchanged(frame->module, result->begin))
        return 0;
    const int count = symbols_find_in(frame->module, frame->offset, &found);
    *places = count ? qmpi_allocate((size_t)count, sizeof **places) : NULL;
    for (int i = 0; i < count; i++)
        (*places)[i] = (struct profile_frame){.function = (char *)(uintptr_t)found[i].function,
                                              .file = (char *)(uintptr_t)found[i].file,
                                              .line = found[i].line};
    free(found);
    return count;
}

/* ---- Runs ------------------------------------------------------------------------------------ */

static bool has_suffix(const char *text, const char *suffix)
{
    const size_t length = strlen(text), size = strlen(suffix);
    return length >= size && !strcmp(text + length - size, suffix);
}

/* The directory of a trace, its archive, or the file of a process. */
static bool is_trace(const char *path)
{
    struct stat status;
    const char *slash = strrchr(path, '/');
    return has_suffix(path, TRACE_FILE_SUFFIX) ||
           !strcmp(slash ? slash + 1 : path, TRACE_OTF2_ANCHOR) ||
           (stat(path, &status) == 0 && S_ISDIR(status.st_mode));
}

static struct profile_result *read_trace(const char *path, char **problem)
{
    struct trace *trace = trace_open(path, problem);
    if (!trace)
        return NULL;
    if (*trace->warnings)
        qmpi_printf("%-s", trace->warnings);
    struct profile_result *result = trace_make_profile(trace, problem);
    trace_close(trace);
    return result;
}

/* NULL: it has been said why not. */
static struct profile_result *read_file(const char *path)
{
    char *problem = NULL;
    struct profile_result *result =
        is_trace(path) ? read_trace(path, &problem) : profile_read_json(path, &problem);
    if (!result)
        qmpi_printf("%-s", problem);
    free(problem);
    return result;
}

/* The run to which a file belongs, -1: a new one. Runs that are compared have their files one after
 * the other: those of the next run could fit an earlier one, too. */
static int find_run(const struct profile_combination *combinations, int count, bool compare,
                    const struct profile_result *result)
{
    for (int i = compare && count ? count - 1 : 0; i < count; i++) {
        if (profile_combination_fits(&combinations[i], result))
            return i;
    }
    return -1;
}

static void warn_of_loss(struct report_runs *runs, const char *path)
{
    qmpi_printf("%s: out of memory: this file and others of its run may be missing", path);
    runs->complete = false;
}

/* Merges each file at once, so that not all of them are in memory. */
static struct profile_combination *combine_files(const struct report_request *request,
                                                 struct report_runs *runs, int count)
{
    struct profile_combination *combinations = qmpi_allocate((size_t)count, sizeof *combinations);
    for (int i = 0; i < count; i++) {
        char *path = request->files[i];
        struct profile_result *result = read_file(path);
        if (!result) {
            runs->complete = false;
            continue;
        }
        int run = find_run(combinations, runs->count, request->compare, result);
        if (run < 0) {
            run = runs->count++;
            runs->all[run] = (struct report_run){.name = path};
        }
        runs->all[run].files++;
        if (!profile_combination_add(&combinations[run], result))
            warn_of_loss(runs, path);
    }
    return combinations;
}

static void prepare(const struct report_request *request, const struct report_run *run)
{
    struct profile_result *result = run->result;
    result->thresholds = request->thresholds;
    profile_frames_resolve(result, find_places);
    if (request->filter && !profile_filter(result, request->filter))
        qmpi_printf("%s: no function matches '%s'", run->name, request->filter);
    profile_result_sort(result, request->sort);
}

struct report_runs report_read_runs(const struct report_request *request)
{
    int count = 0;
    while (request->files[count])
        count++;
    struct report_runs runs = {qmpi_allocate((size_t)count, sizeof *runs.all), 0, true};
    struct profile_combination *combinations = combine_files(request, &runs, count);
    for (int i = 0; i < runs.count; i++) {
        if (!profile_combination_finish(&combinations[i]))
            warn_of_loss(&runs, runs.all[i].name);
        runs.all[i].result = combinations[i].parts[0];
        prepare(request, &runs.all[i]);
    }
    free(combinations);
    return runs;
}

void report_free_runs(struct report_runs *runs)
{
    for (int i = 0; i < runs->count; i++)
        profile_result_free(runs->all[i].result);
    free(runs->all);
}

struct profile_named *report_name_runs(const struct report_runs *runs)
{
    struct profile_named *named = qmpi_allocate((size_t)runs->count, sizeof *named);
    for (int i = 0; i < runs->count; i++)
        named[i] =
            (struct profile_named){runs->all[i].name, runs->all[i].result, runs->all[i].files};
    return named;
}
