/* SPDX-License-Identifier: MIT */
/* qmpi report: reads files, and brings those of single processes of one run together. */
#define _GNU_SOURCE
#include "cli/report/report.h"

#include "symbols/symbols.h"
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

/* NULL: it has been said why not. */
static struct profile_result *read_file(const char *path)
{
    char *problem;
    struct profile_result *result = profile_read_json(path, &problem);
    if (!result)
        qmpi_printf("%-s", problem);
    free(problem);
    return result;
}

/* The run to which a file belongs; NULL: a new one. Runs that are compared have their files one
 * after the other: those of the next run could fit an earlier one, too. */
static struct report_run *find_run(const struct report_runs *runs, bool compare,
                                   const struct profile_result *result)
{
    for (int i = compare && runs->count ? runs->count - 1 : 0; i < runs->count; i++) {
        if (profile_combine_fits(runs->all[i].result, result))
            return &runs->all[i];
    }
    return NULL;
}

static void add(struct report_runs *runs, bool compare, const char *path,
                struct profile_result *result)
{
    struct report_run *run = find_run(runs, compare, result);
    if (!run) {
        runs->all[runs->count++] = (struct report_run){path, 1, result};
    } else if (profile_combine(run->result, result)) {
        run->files++;
    } else {
        qmpi_printf("%s: skipped: out of memory", path);
        runs->complete = false;
    }
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
    for (int i = 0; i < count; i++) {
        struct profile_result *result = read_file(request->files[i]);
        if (result)
            add(&runs, request->compare, request->files[i], result);
        else
            runs.complete = false;
    }
    for (int i = 0; i < runs.count; i++)
        prepare(request, &runs.all[i]);
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
