/* SPDX-License-Identifier: MIT */
/* qmpi trace: what is at the call sites of a trace, by the debug information of the files. Each is
 * looked up once. */
#define _GNU_SOURCE
#include "cli/trace/trace.h"

#include "symbols/symbols.h"
#include "util/util.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

struct trace_sites {
    struct trace_table texts; /* by file and offset: char * */
};

struct trace_sites *trace_sites_make(void)
{
    struct trace_sites *sites = qmpi_allocate(1, sizeof *sites);
    trace_table_start(&sites->texts, sizeof(char *));
    return sites;
}

/* What a program was when the run began, not what has been built since. */
static bool is_unchanged(const char *path, int64_t started)
{
    struct stat status;
    return stat(path, &status) == 0 && S_ISREG(status.st_mode) &&
           status.st_mtime <= started / 1000000000;
}

/* As the tool says it in the files that it writes. */
static const char *base_name(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

/* NULL: nothing is known. */
static char *look_up(const char *path, uint64_t offset)
{
    QMPIX_Frame *frames = NULL;
    char *text = NULL;
    const int count = symbols_find_in(path, offset, &frames);
    if (count > 0 && frames->file && frames->function)
        text = qmpi_format("%s (%s:%d)", frames->function, base_name(frames->file), frames->line);
    else if (count > 0 && frames->function)
        text = qmpi_copy(frames->function);
    for (int i = 0; i < count; i++) {
        free((char *)(uintptr_t)frames[i].function);
        free((char *)(uintptr_t)frames[i].file);
    }
    free(frames);
    return text;
}

static uint64_t key_of(const char *path, uint64_t offset)
{
    uint64_t key = offset;
    for (; *path; path++)
        key = trace_mix_two(key, (unsigned char)*path);
    return key;
}

char *trace_sites_describe(void *data, const struct trace_process *process,
                           const struct trace_site *site)
{
    struct trace_sites *sites = data;
    const struct trace_frame *frame = site->frames;
    if (!site->count || frame->library >= process->library_count)
        return NULL;
    const char *path = process->libraries[frame->library];
    char **place = trace_table_put(&sites->texts, key_of(path, frame->offset));
    if (!place)
        return NULL;
    if (!*place && is_unchanged(path, process->started))
        *place = look_up(path, frame->offset);
    if (!*place)
        *place = qmpi_copy("");
    return **place ? strdup(*place) : NULL;
}

static void free_text(void *data, uint64_t key, void *value)
{
    (void)data;
    (void)key;
    free(*(char **)value);
}

void trace_sites_free(struct trace_sites *sites)
{
    trace_table_each(&sites->texts, free_text, NULL);
    trace_table_free(&sites->texts);
    symbols_close();
    free(sites);
}
