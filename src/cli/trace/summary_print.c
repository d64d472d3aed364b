/* SPDX-License-Identifier: MIT */
/* qmpi trace: the summary of a trace: what run it is, how its processes ended, what is missing, and
 * the calls by function. */
#define _GNU_SOURCE
#include "cli/trace/summary.h"
#include "cli/trace/trace.h"

#include "profile/profile.h"
#include "util/util.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* ---- The head -------------------------------------------------------------------------------- */

static void print_line(FILE *stream, const char *name, const char *text)
{
    char *line = qmpi_message("%s", text);
    fprintf(stream, "%-13s%s\n", name, line);
    free(line);
}

static void print_start(FILE *stream, const struct trace *trace)
{
    char text[64];
    struct tm parts;
    const time_t seconds = (time_t)(trace->started / 1000000000);
    if (!gmtime_r(&seconds, &parts) || !strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%S", &parts))
        return;
    fprintf(stream, "%-13s%s.%03dZ\n", "begin", text, (int)(trace->started % 1000000000 / 1000000));
}

static void print_hosts(FILE *stream, const struct trace_view *view)
{
    const struct trace *trace = view->trace;
    const char *first = NULL;
    size_t processes = 0, threads = 0;
    int ranks = 0;
    bool is_one = true;
    for (uint32_t i = 0; i < trace->process_count; i++) {
        const struct trace_process *process = &trace->processes[i];
        if (!trace_view_has(view, i))
            continue;
        const char *host = process->host ? process->host : "unknown";
        is_one = is_one && (!first || !strcmp(first, host));
        first = first ? first : host;
        processes++;
        threads += process->location_count;
        ranks = process->ranks > ranks ? process->ranks : ranks;
    }
    char *list = trace_list_ranks(trace, view->selection.processes);
    char *text =
        qmpi_format("%s of %d; %zu process%s with %zu thread%s, %s%s", list, ranks, processes,
                    processes == 1 ? "" : "es", threads, threads == 1 ? "" : "s",
                    is_one ? "on " : "on several hosts", is_one && first ? first : "");
    print_line(stream, "ranks", text);
    free(text);
    free(list);
}

/* How the processes ended: those that ended alike in one line. */
static void print_ends(FILE *stream, const struct trace_view *view)
{
    const struct trace *trace = view->trace;
    unsigned char *alike = qmpi_allocate(trace->process_count + 1, 1);
    unsigned char *done = qmpi_allocate(trace->process_count + 1, 1);
    const char *title = "end";
    for (uint32_t i = 0; i < trace->process_count; i++) {
        char room[TRACE_NAME_SIZE], other[TRACE_NAME_SIZE];
        if (done[i] || !trace_view_has(view, i))
            continue;
        const char *end = trace_end_name(&trace->processes[i], room);
        for (uint32_t k = i; k < trace->process_count; k++) {
            alike[k] = k >= i && trace_view_has(view, k) &&
                       !strcmp(end, trace_end_name(&trace->processes[k], other));
            done[k] |= alike[k];
        }
        char *list = trace_list_ranks(trace, alike);
        char *text = qmpi_format("%s (rank%s %s)", end, strpbrk(list, ",-") ? "s" : "", list);
        print_line(stream, title, text);
        title = "";
        free(text);
        free(list);
        memset(alike, 0, trace->process_count);
    }
    free(alike);
    free(done);
}

static void print_clock(FILE *stream, const struct trace_view *view)
{
    const struct trace *trace = view->trace;
    size_t processes = 0;
    for (uint32_t i = 0; i < trace->process_count; i++)
        processes += trace_view_has(view, i);
    if (processes < 2)
        return;
    if (trace->has_bound)
        fprintf(stream, "%-13stimes of two processes may be wrong by %s against each other\n",
                "clocks", units_time((double)trace->bound * 1e-9));
    else
        fprintf(stream, "%-13snot compared: times of different hosts may differ by any time\n",
                "clocks");
}

static void print_losses(FILE *stream, const struct trace_view *view)
{
    uint64_t dropped = 0, unfinished = 0;
    unsigned omits = 0;
    bool is_ring = false;
    for (uint32_t i = 0; i < view->trace->process_count; i++) {
        if (!trace_view_has(view, i))
            continue;
        dropped += view->trace->processes[i].dropped;
        unfinished += view->trace->processes[i].unfinished;
        is_ring |= view->trace->processes[i].is_ring;
        omits |= view->trace->processes[i].omits;
    }
    if (omits & TRACE_OMITS_FUNCTIONS)
        fprintf(stream, "%-13sonly chosen functions; calls of others count as outside of MPI\n",
                "recorded");
    if (omits & TRACE_OMITS_BEGINNING)
        fprintf(stream, "%-13sonly parts of the run\n", "recorded");
    if (dropped)
        fprintf(stream, "%-13s%" PRIu64 " events, for lack of memory\n", "dropped", dropped);
    if (unfinished)
        fprintf(stream, "%-13s%s at the ends of files, which were not complete\n", "cut off",
                units_bytes((double)unfinished));
    if (is_ring)
        fprintf(stream, "%-13sonly the last part of the run was kept\n", "ring");
}

static void print_messages(FILE *stream, const struct summary *summary,
                           const struct trace_pairs *pairs)
{
    fprintf(stream, "%-13s%" PRIu64 " sent, %s", "messages", summary->messages,
            units_bytes((double)summary->bytes));
    if (pairs->sent)
        fprintf(stream, "; %" PRIu64 " without their receive", pairs->sent);
    if (pairs->received)
        fprintf(stream, "; %" PRIu64 " without their send", pairs->received);
    if (pairs->reversed)
        fprintf(stream, "; %" PRIu64 " arrive before they were sent, by at most %s",
                pairs->reversed, units_time((double)pairs->worst * 1e-9));
    fputc('\n', stream);
}

static void print_head(FILE *stream, const struct summary *summary, const struct trace_pairs *pairs)
{
    const struct trace_view *view = summary->view;
    const struct trace *trace = view->trace;
    const struct trace_process *first = trace->processes;
    const int64_t begin = trace_view_begin(view), end = trace_view_end(view);
    print_line(stream, "trace", trace->path);
    if (first->program)
        print_line(stream, "program", first->program);
    if (first->mpi)
        print_line(stream, "MPI", first->mpi);
    print_hosts(stream, view);
    print_start(stream, trace);
    fprintf(stream, "%-13s%s\n", "duration",
            units_time((double)(end > begin ? end - begin : 0) * 1e-9));
    print_ends(stream, view);
    print_clock(stream, view);
    fprintf(stream, "%-13s%" PRIu64 ", of %" PRIu64 " calls\n", "events", summary->events,
            summary->calls);
    print_losses(stream, view);
    print_messages(stream, summary, pairs);
    if (summary->collectives)
        fprintf(stream, "%-13s%" PRIu64 ", counted by process\n", "collectives",
                summary->collectives);
    if (summary->accesses)
        fprintf(stream, "%-13s%" PRIu64 "\n", "RMA accesses", summary->accesses);
    if (summary->files)
        fprintf(stream, "%-13s%" PRIu64 "\n", "file accesses", summary->files);
}

/* ---- The table ------------------------------------------------------------------------------- */

static int compare(const void *one, const void *other)
{
    const struct entry *a = one, *b = other;
    if (a->time != b->time)
        return a->time < b->time ? 1 : -1;
    return strcmp(a->name, b->name);
}

static void print_table(FILE *stream, const struct summary *summary)
{
    if (!summary->entry_count)
        return;
    fprintf(stream, "\n%-26s %10s %10s %6s %10s %10s\n", "function", "calls", "time", "%",
            "longest", "bytes");
    for (int i = 0; i < summary->entry_count; i++) {
        const struct entry *entry = &summary->entries[i];
        char *name = qmpi_message("%s", entry->name);
        fprintf(stream, "%-26s %10" PRIu64 " %10s %6s %10s %10s\n", name, entry->calls,
                units_time(entry->time), units_percent(entry->time, summary->total),
                units_time(entry->longest), units_bytes((double)entry->bytes));
        free(name);
    }
    fprintf(stream, "%-26s %10" PRIu64 " %10s %6s\n", "in MPI", summary->calls,
            units_time(summary->mpi), units_percent(summary->mpi, summary->total));
    fprintf(stream, "(percentages: of the duration of all processes, %s)\n",
            units_time(summary->total));
}

bool trace_print_summary(FILE *stream, const struct trace_view *view)
{
    struct summary summary = {.view = view};
    struct trace_pairs pairs;
    bool good = trace_pairs_find(&pairs, view);
    for (uint32_t i = 0; i < view->trace->process_count && good; i++) {
        if (trace_view_has(view, i))
            good = summary_count(&summary, i);
    }
    if (good) {
        if (summary.entries)
            qsort(summary.entries, (size_t)summary.entry_count, sizeof *summary.entries, compare);
        print_head(stream, &summary, &pairs);
        print_table(stream, &summary);
        if (*view->trace->warnings) {
            char *warnings = qmpi_message("%-s", view->trace->warnings);
            fprintf(stream, "\nwarnings:\n%s%s", warnings,
                    warnings[strlen(warnings) - 1] == '\n' ? "" : "\n");
            free(warnings);
        }
    }
    trace_pairs_free(&pairs);
    free(summary.entries);
    return good;
}
