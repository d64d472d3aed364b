/* SPDX-License-Identifier: MIT */
/* See text_parts.h: waiting, communicators, files, regions and processes. */
#include "profile/text_parts.h"

#include "profile/columns.h"
#include "profile/efficiency.h"
#include "profile/units.h"

#include <string.h>

/* ---- Waiting --------------------------------------------------------------------------------- */

bool text_waits(const struct text *text)
{
    static const char *const headings[] = {"function", "waiting", "%",   "mean rank",
                                           "min",      "on",      "max", "on",
                                           "stddev",   "working", NULL};
    struct columns columns;
    size_t count = 0;
    columns_start(&columns, "lrrrrrrrrr");
    columns_set_optional(&columns, "...2....1.");
    columns_add_all(&columns, headings);
    for (size_t i = 0; i < text->result->function_count; i++) {
        const struct profile_calls *calls = &text->result->functions[i].calls;
        if (!(calls->wait.sum > 0) || count++ >= text_shown(text, text->result->function_count))
            continue;
        columns_add(&columns, "%s", text->result->functions[i].name);
        columns_add(&columns, "%s", units_time(calls->wait.sum));
        text_add_share(&columns, text, calls->wait.sum);
        columns_add(&columns, "%s", units_time(calls->wait.mean));
        text_add_extremes(&columns, &calls->wait);
        columns_add(&columns, "%s", units_time(calls->wait.stddev));
        columns_add(&columns, "%s", units_time(calls->time.sum));
    }
    if (!count) {
        columns_drop(&columns);
        return true;
    }
    fprintf(text->stream, "\nWaiting for the other ranks before collectives\n");
    const bool good = columns_print(&columns, text->stream, text->width);
    text_rest(text, count, "functions");
    return good;
}

/* ---- Communicators and files ----------------------------------------------------------------- */

bool text_communicators(const struct text *text)
{
    static const char *const headings[] = {"communicator", "size", "first", "times",    "calls",
                                           "time",         "%",    "sent",  "received", NULL};
    const size_t shown = text_shown(text, text->result->communicator_count);
    struct columns columns;
    if (!shown)
        return true;
    fprintf(text->stream,
            "\nCommunicators: number of processes, rank of the first, number of instances\n");
    columns_start(&columns, "lrrrrrrrr");
    columns_set_optional(&columns, "..21.....");
    columns_add_all(&columns, headings);
    for (size_t i = 0; i < shown; i++) {
        const struct profile_communicator *it = &text->result->communicators[i];
        columns_add(&columns, "%s", it->name && *it->name ? it->name : "(no name)");
        columns_add(&columns, "%d", it->size);
        if (it->first >= 0)
            columns_add(&columns, "%d", it->first);
        else
            columns_add(&columns, "?");
        columns_add(&columns, "%llu", (unsigned long long)it->instances);
        columns_add(&columns, "%llu", (unsigned long long)it->calls.calls);
        columns_add(&columns, "%s", units_time(it->calls.time.sum));
        text_add_share(&columns, text, it->calls.time.sum);
        columns_add(&columns, "%s", units_bytes((double)it->calls.sent));
        columns_add(&columns, "%s", units_bytes((double)it->calls.received));
    }
    const bool good = columns_print(&columns, text->stream, text->width);
    text_rest(text, text->result->communicator_count, "communicators");
    return good;
}

bool text_files(const struct text *text)
{
    static const char *const headings[] = {"file", "opens", "calls",   "time",
                                           "%",    "read",  "written", NULL};
    const size_t shown = text_shown(text, text->result->file_count);
    struct columns columns;
    if (!shown)
        return true;
    fprintf(text->stream, "\nFiles\n");
    columns_start(&columns, "lrrrrrr");
    columns_add_all(&columns, headings);
    for (size_t i = 0; i < shown; i++) {
        const struct profile_file *it = &text->result->files[i];
        columns_add(&columns, "%s", it->name);
        columns_add(&columns, "%llu", (unsigned long long)it->opens);
        columns_add(&columns, "%llu", (unsigned long long)it->calls.calls);
        columns_add(&columns, "%s", units_time(it->calls.time.sum));
        text_add_share(&columns, text, it->calls.time.sum);
        columns_add(&columns, "%s", units_bytes((double)it->read));
        columns_add(&columns, "%s", units_bytes((double)it->written));
    }
    const bool good = columns_print(&columns, text->stream, text->width);
    text_rest(text, text->result->file_count, "files");
    return good;
}

/* ---- Regions --------------------------------------------------------------------------------- */

static void add_efficiency(struct columns *columns, const struct profile_result *result,
                           const struct profile_region *region, bool with_path)
{
    struct profile_efficiency it;
    const bool known = profile_efficiency_find(result, region, &it);
    const double values[] = {it.parallel, it.balance, it.communication, it.serialisation,
                             it.transfer};
    for (int i = 0; i < (with_path ? 5 : 3); i++) {
        if (known && (i < 3 || it.has_path))
            columns_add(columns, "%.3f", values[i]);
        else
            columns_add(columns, "-");
    }
}

static bool has_path(const struct profile_region *regions, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        if (regions[i].path > 0)
            return true;
    }
    return false;
}

static bool print_region_times(const struct text *text, size_t shown)
{
    static const char *const headings[] = {
        "region", "entries", "time", "%",  "mean rank", "min",  "on", "max", "on",
        "stddev", "MPI",     "PE",   "LB", "CommE",     "SerE", "TE", NULL};
    const bool with_path = has_path(text->result->regions, shown);
    struct columns columns;
    columns_start(&columns, with_path ? "lrrrrrrrrrrrrrrr" : "lrrrrrrrrrrrrr");
    columns_set_optional(&columns, with_path ? ".4..233..13....." : ".4..233..13...");
    for (size_t i = 0; headings[i] && (with_path || strcmp(headings[i], "SerE")); i++)
        columns_add(&columns, "%s", headings[i]);
    for (size_t i = 0; i < shown; i++) {
        const struct profile_region *region = &text->result->regions[i];
        columns_add(&columns, "%s", region->name);
        columns_add(&columns, "%llu", (unsigned long long)region->entries);
        columns_add(&columns, "%s", units_time(region->time.sum));
        text_add_share(&columns, text, region->time.sum);
        columns_add(&columns, "%s", units_time(region->time.mean));
        text_add_extremes(&columns, &region->time);
        columns_add(&columns, "%s", units_time(region->time.stddev));
        columns_add(&columns, "%s", units_time(region->mpi.sum));
        add_efficiency(&columns, text->result, region, with_path);
    }
    columns_note(&columns,
                 "PE parallel efficiency, LB load balance, CommE communication efficiency");
    if (with_path)
        columns_note(&columns, "SerE serialisation efficiency, TE transfer efficiency");
    return columns_print(&columns, text->stream, text->width);
}

bool text_regions(const struct text *text)
{
    const size_t shown = text_shown(text, text->result->region_count);
    if (!shown)
        return true;
    fprintf(text->stream, "\nRegions: total time, time in MPI, and efficiency\n");
    bool good = print_region_times(text, shown);
    text_rest(text, text->result->region_count, "regions");
    for (size_t i = 0; i < shown && good; i++) {
        const struct profile_region *region = &text->result->regions[i];
        struct columns title; /* its name may hold anything */
        if (!region->function_count)
            continue;
        columns_start(&title, "l");
        columns_note(&title, "Functions in region %s", region->name);
        fputc('\n', text->stream);
        good = columns_print(&title, text->stream, text->width) &&
               text_functions(text, region->functions, region->function_count);
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
    columns_add(columns, "%s", units_time(process->useful));
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
    double application = 0, mpi = 0, useful = 0, memory = 0;
    for (size_t i = 0; i < result->process_count; i++) {
        application += result->processes[i].application;
        mpi += result->processes[i].mpi;
        useful += result->processes[i].useful;
        memory += (double)result->processes[i].memory;
    }
    columns_add(columns, "all %zu", result->process_count);
    columns_add(columns, "%s", "");
    columns_add(columns, "%s", units_time(application / count));
    columns_add(columns, "%s", units_time(mpi / count));
    columns_add(columns, "%s", units_time(useful / count));
    columns_add(columns, "%s", units_bytes(memory / count));
    columns_add(columns, "mean");
}

bool text_processes(const struct text *text)
{
    static const char *const headings[] = {
        "host", "rank", "application", "in MPI", "outside MPI", "peak memory", "", NULL};
    const bool all = text_shown(text, text->result->process_count) == text->result->process_count;
    struct columns columns;
    if (!text->result->process_count)
        return true;
    fprintf(text->stream, "\nProcesses%s\n", all ? "" : ": the extremes");
    columns_start(&columns, "lrrrrrl");
    columns_add_all(&columns, headings);
    for (size_t i = 0; i < text->result->process_count && all; i++)
        add_process(&columns, "", &text->result->processes[i]);
    if (!all)
        add_extremes(&columns, text->result);
    if (text->result->process_count > 1)
        add_means(&columns, text->result);
    return columns_print(&columns, text->stream, text->width);
}
