/* SPDX-License-Identifier: MIT */
/* qmpi trace: opens the trace, which several directories may contain, and finds its ranks. */
#define _GNU_SOURCE
#include "cli/trace/trace.h"

#include "cli/cli.h"
#include "util/util.h"

#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* ---- Several paths --------------------------------------------------------------------------- */

static void remove_folder(char *folder)
{
    DIR *stream = folder ? opendir(folder) : NULL;
    for (const struct dirent *entry; stream && (entry = readdir(stream));)
        unlinkat(dirfd(stream), entry->d_name, 0);
    if (stream) {
        closedir(stream);
        rmdir(folder);
    }
    free(folder);
}

/* Names a file in the folder, so that it is read with the others. */
static bool add_file(const char *folder, const char *path, int number)
{
    char *real = realpath(path, NULL);
    char *name = qmpi_format("%s/%d" TRACE_FILE_SUFFIX, folder, number);
    const bool good = real && symlink(real, name) == 0;
    if (!good)
        qmpi_printf("cannot read %s: %s\nhint: name the directory of a trace, or the file of a "
                    "process",
                    path, strerror(errno));
    free(real);
    free(name);
    return good;
}

static bool is_trace_file(const char *name)
{
    const size_t length = strlen(name), suffix = strlen(TRACE_FILE_SUFFIX);
    return length > suffix && !strcmp(name + length - suffix, TRACE_FILE_SUFFIX);
}

static bool add_path(const char *folder, const char *path, int *number)
{
    DIR *stream = opendir(path);
    const int before = *number;
    bool good = true;
    if (!stream)
        return add_file(folder, path, (*number)++);
    for (const struct dirent *entry; good && (entry = readdir(stream));) {
        if (!is_trace_file(entry->d_name))
            continue;
        char *file = qmpi_format("%s/%s", path, entry->d_name);
        good = add_file(folder, file, (*number)++);
        free(file);
    }
    closedir(stream);
    if (good && *number == before) {
        qmpi_printf("%s: this directory contains no trace files\nhint: name the directory that "
                    "the tool trace wrote",
                    path);
        return false;
    }
    return good;
}

static char *gather(char **paths)
{
    const char *place = getenv("TMPDIR");
    char *folder = qmpi_format("%s/qmpi-trace-XXXXXX", place && *place ? place : "/tmp");
    int number = 0;
    if (!mkdtemp(folder)) {
        qmpi_printf("cannot create a directory: %s: %s\nhint: set TMPDIR to a directory that can "
                    "be written",
                    folder, strerror(errno));
        free(folder);
        return NULL;
    }
    for (; *paths; paths++) {
        if (add_path(folder, *paths, &number))
            continue;
        remove_folder(folder);
        return NULL;
    }
    return folder;
}

/* ---- One trace ------------------------------------------------------------------------------- */

struct trace *trace_open_input(char **paths)
{
    char *problem = NULL;
    char *folder = paths[1] ? gather(paths) : NULL;
    if (paths[1] && !folder)
        return NULL;
    struct trace *trace = trace_open(folder ? folder : *paths, &problem);
    remove_folder(folder);
    if (!trace)
        qmpi_printf("%-s", problem ? problem : "out of memory");
    free(problem);
    return trace;
}

/* ---- Ranks ----------------------------------------------------------------------------------- */

unsigned char *trace_find_processes(const struct trace *trace, const struct trace_request *request)
{
    unsigned char *processes = qmpi_allocate(trace->process_count + 1, 1);
    size_t count = 0;
    for (size_t i = 0; i < trace->process_count; i++) {
        const int rank = trace->processes[i].rank;
        processes[i] = !request->ranks ||
                       (rank >= 0 && qmpi_number_set_has(&request->rank_set, (uint64_t)rank));
        count += processes[i];
    }
    if (count || !request->ranks)
        return processes;
    char *ranks = trace_list_ranks(trace, NULL);
    qmpi_printf("--ranks=%s: the trace has no such rank\nhint: its ranks are %s", request->ranks,
                ranks);
    free(ranks);
    free(processes);
    return NULL;
}

char *trace_list_ranks(const struct trace *trace, const unsigned char *processes)
{
    char *text = qmpi_copy("");
    int first = -2, last = -2;
    for (size_t i = 0; i <= trace->process_count; i++) {
        const bool is_end = i == trace->process_count;
        const int rank = is_end ? -2 : trace->processes[i].rank;
        if (!is_end && (rank < 0 || (processes && !processes[i])))
            continue;
        if (!is_end && rank == last + 1 && first >= 0) {
            last = rank;
            continue;
        }
        if (first >= 0) {
            char *more = first == last
                             ? qmpi_format("%s%s%d", text, *text ? ", " : "", first)
                             : qmpi_format("%s%s%d-%d", text, *text ? ", " : "", first, last);
            free(text);
            text = more;
        }
        first = last = rank;
    }
    if (*text)
        return text;
    free(text);
    return qmpi_copy("not known");
}
