/* SPDX-License-Identifier: MIT */
/* See text_parts.h: call sites, waiting, communicators, files, regions and processes. */
#include "profile/text_parts.h"

#include "profile/columns.h"
#include "profile/efficiency.h"
#include "profile/units.h"

#include <string.h>

static const char *base_name(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

/* ---- Call sites ------------------------------------------------------------------------------ */

static void note_frame(struct columns *columns, const struct profile_frame *frame, bool first)
{
    const char *indent = first ? "    from " : "         ";
    const char *module = frame->module && *frame->module ? base_name(frame->module) : "?";
    const unsigned long long offset = frame->offset;
    if (frame->file && frame->line > 0)
        columns_note(columns, "%s%s (%s:%d)", indent, frame->function ? frame->function : "?",
                     base_name(frame->file), frame->line);
    else if (frame->function)
        columns_note(columns, "%s%s (%s+0x%llx)", indent, frame->function, module, offset);
    else
        columns_note(columns, "%s%s+0x%llx", indent, module, offset);
}

static void add_figures(struct columns *columns, const struct profile_calls *calls)
{
    for (int i = 0; i < PROFILE_FIGURE_COUNT; i++) {
        const double value = profile_figure_get(calls, i);
        if (!*profile_figures[i].heading)
            continue;
        if (profile_figures[i].unit == PROFILE_COUNT)
            columns_add(columns, "%.0f", value);
        else
            columns_add(columns, "%s", units_time(value));
    }
}

bool text_callsites(FILE *stream, const struct profile_result *result, int top)
{
    static const char *const before[] = {"call site", "calls", "time", "%", "per call", NULL};
    static const char *const after[] = {"ranks", "sent", "received", NULL};
    char format[sizeof "lrrrrrrr" + PROFILE_FIGURE_COUNT] = "lrrrrrrr";
    const size_t shown = text_shown(result->callsite_count, top);
    const double time = text_time(result->functions, result->function_count);
    struct columns columns;
    if (!shown)
        return true;
    fprintf(stream, "\nCall sites\n");
    for (int i = 0; i < PROFILE_FIGURE_COUNT; i++) {
        if (*profile_figures[i].heading)
            strcat(format, "r");
    }
    columns_start(&columns, format);
    columns_add_all(&columns, before);
    for (int i = 0; i < PROFILE_FIGURE_COUNT; i++) {
        if (*profile_figures[i].heading)
            columns_add(&columns, "%s", profile_figures[i].heading);
    }
    columns_add_all(&columns, after);
    for (size_t i = 0; i < shown; i++) {
        const struct profile_callsite *site = &result->callsites[i];
        const struct profile_calls *calls = &site->calls;
        columns_add(&columns, "%s", site->name);
        columns_add(&columns, "%llu", (unsigned long long)calls->calls);
        columns_add(&columns, "%s", units_time(calls->time.sum));
        columns_add(&columns, "%s", units_percent(calls->time.sum, time));
        columns_add(&columns, "%s",
                    units_time(calls->calls ? calls->time.sum / (double)calls->calls : 0));
        add_figures(&columns, calls);
        columns_add(&columns, "%d", site->ranks);
        columns_add(&columns, "%s", units_bytes((double)calls->sent));
        columns_add(&columns, "%s", units_bytes((double)calls->received));
        for (int k = 0; k < site->frame_count; k++)
            note_frame(&columns, &site->frames[k], k == 0);
    }
    const bool good = columns_print(&columns, stream);
    text_rest(stream, result->callsite_count, top, "call sites");
    return good;
}

/* ---- Calls under way ------------------------------------------------------------------------- */

bool text_flights(FILE *stream, const struct profile_result *result, int top)
{
    static const char *const headings[] = {"call", "rank", "so far", "since", "", NULL};
    const size_t shown = text_shown(result->flight_count, top);
    struct columns columns;
    if (!shown)
        return true;
    fprintf(stream, "\nCalls in flight when the process%s saved\n",
            result->ranks == 1 ? " was" : "es were");
    columns_start(&columns, "lrrll");
    columns_add_all(&columns, headings);
    for (size_t i = 0; i < shown; i++) {
        const struct profile_flight *it = &result->flights[i];
        columns_add(&columns, "%s", it->name);
        columns_add(&columns, "%d", it->rank);
        columns_add(&columns, "%s", units_time(it->time));
        columns_add(&columns, "%s", it->since);
        columns_add(&columns, "%s", it->waits ? "waiting before it" : "");
        for (int k = 0; k < it->frame_count; k++)
            note_frame(&columns, &it->frames[k], k == 0);
    }
    const bool good = columns_print(&columns, stream);
    text_rest(stream, result->flight_count, top, "calls");
    return good;
}

/* ---- Waiting --------------------------------------------------------------------------------- */

bool text_waits(FILE *stream, const struct profile_result *result, int top)
{
    static const char *const headings[] = {"function", "waiting",   "mean rank", "min",
                                           "on",       "max",       "on",        "stddev",
                                           "working",  "% waiting", NULL};
    struct columns columns;
    size_t count = 0;
    columns_start(&columns, "lrrrrrrrrr");
    columns_add_all(&columns, headings);
    for (size_t i = 0; i < result->function_count; i++) {
        const struct profile_calls *calls = &result->functions[i].calls;
        if (!(calls->wait.sum > 0) || count++ >= text_shown(result->function_count, top))
            continue;
        columns_add(&columns, "%s", result->functions[i].name);
        columns_add(&columns, "%s", units_time(calls->wait.sum));
        columns_add(&columns, "%s", units_time(calls->wait.mean));
        text_add_extremes(&columns, &calls->wait);
        columns_add(&columns, "%s", units_time(calls->wait.stddev));
        columns_add(&columns, "%s", units_time(calls->time.sum));
        columns_add(&columns, "%s",
                    units_percent(calls->wait.sum, calls->wait.sum + calls->time.sum));
    }
    if (!count) {
        columns_drop(&columns);
        return true;
    }
    fprintf(stream, "\nWaiting for the other ranks before collectives\n");
    const bool good = columns_print(&columns, stream);
    text_rest(stream, count, top, "functions");
    return good;
}

/* ---- Communicators and files ----------------------------------------------------------------- */

bool text_communicators(FILE *stream, const struct profile_result *result, int top)
{
    static const char *const headings[] = {"communicator", "size", "first", "times",    "calls",
                                           "time",         "%",    "sent",  "received", NULL};
    const size_t shown = text_shown(result->communicator_count, top);
    const double time = text_time(result->functions, result->function_count);
    struct columns columns;
    if (!shown)
        return true;
    fprintf(stream,
            "\nCommunicators: number of processes, rank of the first, number of instances\n");
    columns_start(&columns, "lrrrrrrrr");
    columns_add_all(&columns, headings);
    for (size_t i = 0; i < shown; i++) {
        const struct profile_communicator *it = &result->communicators[i];
        columns_add(&columns, "%s", it->name && *it->name ? it->name : "(no name)");
        columns_add(&columns, "%d", it->size);
        if (it->first >= 0)
            columns_add(&columns, "%d", it->first);
        else
            columns_add(&columns, "?");
        columns_add(&columns, "%llu", (unsigned long long)it->instances);
        columns_add(&columns, "%llu", (unsigned long long)it->calls.calls);
        columns_add(&columns, "%s", units_time(it->calls.time.sum));
        columns_add(&columns, "%s", units_percent(it->calls.time.sum, time));
        columns_add(&columns, "%s", units_bytes((double)it->calls.sent));
        columns_add(&columns, "%s", units_bytes((double)it->calls.received));
    }
    const bool good = columns_print(&columns, stream);
    text_rest(stream, result->communicator_count, top, "communicators");
    return good;
}

bool text_files(FILE *stream, const struct profile_result *result, int top)
{
    static const char *const headings[] = {"file", "opens", "calls",   "time",
                                           "%",    "read",  "written", NULL};
    const size_t shown = text_shown(result->file_count, top);
    const double time = text_time(result->functions, result->function_count);
    struct columns columns;
    if (!shown)
        return true;
    fprintf(stream, "\nFiles\n");
    columns_start(&columns, "lrrrrrr");
    columns_add_all(&columns, headings);
    for (size_t i = 0; i < shown; i++) {
        const struct profile_file *it = &result->files[i];
        columns_add(&columns, "%s", it->name);
        columns_add(&columns, "%llu", (unsigned long long)it->opens);
        columns_add(&columns, "%llu", (unsigned long long)it->calls.calls);
        columns_add(&columns, "%s", units_time(it->calls.time.sum));
        columns_add(&columns, "%s", units_percent(it->calls.time.sum, time));
        columns_add(&columns, "%s", units_bytes((double)it->read));
        columns_add(&columns, "%s", units_bytes((double)it->written));
    }
    const bool good = columns_print(&columns, stream);
    text_rest(stream, result->file_count, top, "files");
    return good;
}

/* ---- Regions --------------------------------------------------------------------------------- */

static void add_efficiency(struct columns *columns, const struct profile_result *result,
                           const struct profile_region *region)
{
    struct profile_efficiency it;
    const bool known = profile_efficiency_find(result, region, &it);
    const double values[] = {it.parallel, it.balance, it.communication};
    for (size_t i = 0; i < sizeof values / sizeof *values; i++) {
        if (known)
            columns_add(columns, "%.3f", values[i]);
        else
            columns_add(columns, "-");
    }
}

static bool print_region_times(FILE *stream, const struct profile_result *result, size_t shown)
{
    static const char *const headings[] = {"region", "entries", "time",  "mean rank", "min",
                                           "on",     "max",     "on",    "stddev",    "MPI",
                                           "PE",     "LB",      "CommE", NULL};
    struct columns columns;
    columns_start(&columns, "lrrrrrrrrrrrr");
    columns_add_all(&columns, headings);
    for (size_t i = 0; i < shown; i++) {
        const struct profile_region *region = &result->regions[i];
        columns_add(&columns, "%s", region->name);
        columns_add(&columns, "%llu", (unsigned long long)region->entries);
        columns_add(&columns, "%s", units_time(region->time.sum));
        columns_add(&columns, "%s", units_time(region->time.mean));
        text_add_extremes(&columns, &region->time);
        columns_add(&columns, "%s", units_time(region->time.stddev));
        columns_add(&columns, "%s", units_time(region->mpi.sum));
        add_efficiency(&columns, result, region);
    }
    columns_note(&columns,
                 "PE parallel efficiency, LB load balance, CommE communication efficiency");
    return columns_print(&columns, stream);
}

bool text_regions(FILE *stream, const struct profile_result *result, int top)
{
    const size_t shown = text_shown(result->region_count, top);
    if (!shown)
        return true;
    fprintf(stream, "\nRegions: total time, time in MPI, and efficiency\n");
    bool good = print_region_times(stream, result, shown);
    text_rest(stream, result->region_count, top, "regions");
    for (size_t i = 0; i < shown && good; i++) {
        const struct profile_region *region = &result->regions[i];
        struct columns title; /* its name may hold anything */
        if (!region->function_count)
            continue;
        columns_start(&title, "l");
        columns_note(&title, "Functions in region %s", region->name);
        fputc('\n', stream);
        good = columns_print(&title, stream) &&
               text_functions(stream, region->functions, region->function_count, top);
    }
    return good;
}

/* ---- Processes ------------------------------------------------------------------------------- */

static void add_process(struct columns *columns, const char *why,
                        const struct profile_process *process)
{
    columns_add(columns, "%s", process->host ? process->host : "");
    columns_add(columns, "%d", process->rank);
    columns_add(columns, "%s", units_time(process->application));
    columns_add(columns, "%s", units_time(process->mpi));
    columns_add(columns, "%s", units_percent(process->mpi, process->application));
    columns_add(columns, "%s", units_bytes((double)process->memory));
    columns_add(columns, "%s", why);
}

static double share(const struct profile_process *process)
{
    return process->application > 0 ? process->mpi / process->application : 0;
}

/* Of many: those at the ends of each scale. */
static void add_extremes(struct columns *columns, const struct profile_result *result)
{
    const struct profile_process *all = result->processes;
    const struct profile_process *least = all, *most = all, *smallest = all, *largest = all;
    const struct profile_process *shortest = all, *longest = all;
    for (size_t i = 1; i < result->process_count; i++) {
        const struct profile_process *it = &all[i];
        least = share(it) < share(least) ? it : least;
        most = share(it) > share(most) ? it : most;
        smallest = it->memory < smallest->memory ? it : smallest;
        largest = it->memory > largest->memory ? it : largest;
        shortest = it->application < shortest->application ? it : shortest;
        longest = it->application > longest->application ? it : longest;
    }
    add_process(columns, "most in MPI", most);
    add_process(columns, "least in MPI", least);
    add_process(columns, "longest", longest);
    add_process(columns, "shortest", shortest);
    add_process(columns, "most memory", largest);
    add_process(columns, "least memory", smallest);
}

static void add_means(struct columns *columns, const struct profile_result *result)
{
    const double count = (double)result->process_count;
    double application = 0, mpi = 0, memory = 0;
    for (size_t i = 0; i < result->process_count; i++) {
        application += result->processes[i].application;
        mpi += result->processes[i].mpi;
        memory += (double)result->processes[i].memory;
    }
    columns_add(columns, "all %zu", result->process_count);
    columns_add(columns, "%s", "");
    columns_add(columns, "%s", units_time(application / count));
    columns_add(columns, "%s", units_time(mpi / count));
    columns_add(columns, "%s", units_percent(mpi, application));
    columns_add(columns, "%s", units_bytes(memory / count));
    columns_add(columns, "mean");
}

bool text_processes(FILE *stream, const struct profile_result *result, int top)
{
    static const char *const headings[] = {"host",        "rank", "application", "in MPI", "% MPI",
                                           "peak memory", "",     NULL};
    const bool all = text_shown(result->process_count, top) == result->process_count;
    struct columns columns;
    if (!result->process_count)
        return true;
    fprintf(stream, "\nProcesses%s\n", all ? "" : ": the extremes");
    columns_start(&columns, "lrrrrrl");
    columns_add_all(&columns, headings);
    for (size_t i = 0; i < result->process_count && all; i++)
        add_process(&columns, "", &result->processes[i]);
    if (!all)
        add_extremes(&columns, result);
    if (result->process_count > 1)
        add_means(&columns, result);
    return columns_print(&columns, stream);
}
