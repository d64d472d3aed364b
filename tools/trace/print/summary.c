/* SPDX-License-Identifier: MIT */
/* The summary of a trace: the run, how its processes ended, missing data, and the calls by
 * function. */
#define _GNU_SOURCE
#include "tools/trace/print/print.h"

#include "tools/profile/result/profile.h"
#include "tools/trace/export/trace.h"
#include "util/util.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* ---- Figures --------------------------------------------------------------------------------- */

/* The calls of all functions with one name. */
struct function_figures {
    const char *name, *group;
    uint64_t calls, bytes;
    double time, longest; /* seconds */
};

struct summary {
    const struct trace_view *view;
    struct function_figures *functions;
    int function_count;
    uint64_t events, calls, messages, bytes, collectives, accesses, files;
    double mpi;   /* the sum of the seconds that threads spent in MPI */
    double total; /* the sum of the seconds that processes lasted */
};

struct call {
    uint32_t function;
    int64_t begin;
};

struct calls {
    struct call *all;
    int count;
};

static struct function_figures *add_figures(struct summary *summary,
                                            const struct trace_process *process, uint32_t function)
{
    const char *name = trace_name_function(process, function);
    for (int i = 0; i < summary->function_count; i++) {
        if (!strcmp(summary->functions[i].name, name))
            return &summary->functions[i];
    }
    summary->functions =
        qmpi_memory_grow(summary->functions, summary->function_count, sizeof *summary->functions);
    summary->functions[summary->function_count] =
        (struct function_figures){.name = name, .group = trace_name_group(process, function)};
    return &summary->functions[summary->function_count++];
}

/* Returns the index of the figures of a function. (A pointer would become invalid when further
 * figures are added.) `entries` contains the indices that are already known, by index of the
 * function in the process; others are negative. */
static int figures_index(struct summary *summary, const struct trace_process *process,
                         uint32_t function, int *entries)
{
    const uint32_t at =
        function < process->function_count ? function : (uint32_t)process->function_count;
    if (entries[at] < 0)
        entries[at] = (int)(add_figures(summary, process, function) - summary->functions);
    return entries[at];
}

static struct function_figures *figures_of(struct summary *summary,
                                           const struct trace_process *process, uint32_t function,
                                           int *entries)
{
    const int place = figures_index(summary, process, function, entries);
    return &summary->functions[place];
}

static void end_counted_call(struct summary *summary, struct calls *calls,
                             struct function_figures *entry, int64_t time)
{
    const struct call *call = &calls->all[--calls->count];
    const double duration = (double)(time - call->begin) * 1e-9;
    entry->time += duration;
    entry->longest = fmax(entry->longest, duration);
    if (!calls->count)
        summary->mpi += duration;
}

static void count_data(struct summary *summary, const struct trace_event *event,
                       struct function_figures *entry)
{
    switch (event->kind) {
    case TRACE_SEND:
    case TRACE_ISEND:
        if (event->peer == TRACE_PROC_NULL)
            break;
        summary->messages++;
        summary->bytes += event->bytes;
        break;
    case TRACE_RECV:
    case TRACE_IRECV:
        break;
    case TRACE_COLLECTIVE_BEGIN:
    case TRACE_ICOLLECTIVE_REQUEST:
        summary->collectives++;
        return;
    case TRACE_RMA_PUT:
    case TRACE_RMA_GET:
    case TRACE_RMA_ATOMIC:
        summary->accesses++;
        break;
    case TRACE_IO:
        summary->files++;
        break;
    case TRACE_COLLECTIVE_END:
    case TRACE_ICOLLECTIVE_COMPLETE:
        break;
    default:
        return;
    }
    if (entry)
        entry->bytes += event->bytes + event->received;
}

static void count_event(struct summary *summary, const struct trace_process *process,
                        const struct trace_event *event, struct calls *calls, int *entries)
{
    summary->events++;
    if (event->location >= process->location_count)
        return;
    struct calls *here = &calls[event->location];
    const struct call *top = here->count ? &here->all[here->count - 1] : NULL;
    if (event->kind == TRACE_ENTER) {
        here->all = qmpi_memory_grow(here->all, here->count, sizeof *here->all);
        here->all[here->count++] = (struct call){event->function, event->time};
        summary->calls++;
        figures_of(summary, process, event->function, entries)->calls++;
    } else if (top && (event->kind == TRACE_LEAVE || event->kind == TRACE_INTERRUPTED)) {
        end_counted_call(summary, here, figures_of(summary, process, top->function, entries),
                         event->time);
    } else {
        count_data(summary, event,
                   top ? figures_of(summary, process, top->function, entries) : NULL);
    }
}

/* Counts the events of a process. Returns false if memory is exhausted or a file cannot be read. */
static bool count_process(struct summary *summary, uint32_t index)
{
    const struct trace_view *view = summary->view;
    const struct trace_process *process = &view->trace->processes[index];
    const int64_t end = trace_view_end_of(view, index);
    int64_t begin = trace_reader_time(view->trace, process, process->start_ticks);
    struct trace_event event;
    uint64_t message;
    struct trace_view_stream *stream = trace_view_stream_make(view, index);
    struct calls *calls = qmpi_allocate(process->location_count + 1, sizeof *calls);
    int *entries = qmpi_allocate(process->function_count + 1, sizeof *entries);
    for (size_t i = 0; i <= process->function_count; i++)
        entries[i] = -1;
    while (stream && trace_view_stream_next(stream, &event, &message))
        count_event(summary, process, &event, calls, entries);
    for (size_t i = 0; i < process->location_count; i++) {
        while (calls[i].count)
            end_counted_call(
                summary, &calls[i],
                figures_of(summary, process, calls[i].all[calls[i].count - 1].function, entries),
                end);
        free(calls[i].all);
    }
    /* A process may end after the last event of the trace, but the duration of the trace does not.
     */
    const int64_t last = end < trace_view_end(view) ? end : trace_view_end(view);
    begin = begin > trace_view_begin(view) ? begin : trace_view_begin(view);
    if (last > begin)
        summary->total += (double)(last - begin) * 1e-9;
    const bool good = stream && !trace_view_stream_failed(stream);
    trace_view_stream_free(stream);
    free(calls);
    free(entries);
    return good;
}

/* ---- The head -------------------------------------------------------------------------------- */

char *print_rank_list(const struct trace *trace, const unsigned char *processes)
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

static void print_head_line(FILE *stream, const char *name, const char *text)
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

static const char *program_of(const struct trace *trace, uint32_t process)
{
    const char *program = trace->processes[process].program;
    return program ? program : "";
}

/* Prints each program once, with its ranks if there are several programs. */
static void print_programs(FILE *stream, const struct trace_view *view)
{
    const struct trace *trace = view->trace;
    unsigned char *alike = qmpi_allocate(trace->process_count, 1);
    unsigned char *done = qmpi_allocate(trace->process_count, 1);
    for (uint32_t i = 0; i < trace->process_count; i++) {
        const char *program = program_of(trace, i);
        bool is_only = true;
        if (done[i] || !*program || !trace_view_has(view, i))
            continue;
        for (uint32_t k = 0; k < trace->process_count; k++) {
            const bool is_alike = !strcmp(program, program_of(trace, k));
            alike[k] = trace_view_has(view, k) && is_alike;
            done[k] |= alike[k];
            is_only = is_only && (is_alike || !trace_view_has(view, k));
        }
        char *list = print_rank_list(trace, alike);
        char *text =
            is_only ? qmpi_copy(program)
                    : qmpi_format("%s (rank%s %s)", program, strpbrk(list, ",-") ? "s" : "", list);
        print_head_line(stream, "program", text);
        free(text);
        free(list);
    }
    free(alike);
    free(done);
}

static void print_ranks(FILE *stream, const struct trace_view *view)
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
    char *list = print_rank_list(trace, view->selection.processes);
    char *of = ranks > 0 ? qmpi_format(" of %d", ranks) : qmpi_copy("");
    char *text = qmpi_format("%s%s; %zu process%s with %zu thread%s, %s%s", list, of, processes,
                             processes == 1 ? "" : "es", threads, threads == 1 ? "" : "s",
                             is_one ? "on " : "on several hosts", is_one && first ? first : "");
    print_head_line(stream, "ranks", text);
    free(text);
    free(of);
    free(list);
}

/* Prints how the processes ended, with one line for all that ended in the same way. */
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
        const char *end = trace_name_end(&trace->processes[i], room);
        for (uint32_t k = i; k < trace->process_count; k++) {
            alike[k] = k >= i && trace_view_has(view, k) &&
                       !strcmp(end, trace_name_end(&trace->processes[k], other));
            done[k] |= alike[k];
        }
        char *list = print_rank_list(trace, alike);
        char *text = qmpi_format("%s (rank%s %s)", end, strpbrk(list, ",-") ? "s" : "", list);
        print_head_line(stream, title, text);
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
    if (trace->has_bound && !trace->bound)
        fprintf(stream, "%-13sthe processes have one clock\n", "clocks");
    else if (trace->has_bound)
        fprintf(stream, "%-13sthe error is at most %s when times of two processes are compared\n",
                "clocks", units_time((double)trace->bound * 1e-9));
    else
        fprintf(stream, "%-13snot compared: times of different hosts may differ by any amount\n",
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
    if (omits & TRACE_OMITS_BEGINNING && !is_ring)
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
    if (pairs->unnumbered)
        fprintf(stream, "; %" PRIu64 " sends and receives are not matched: others may be missing",
                pairs->unnumbered);
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
    print_head_line(stream, "trace", trace->path);
    print_programs(stream, view);
    if (first->mpi)
        print_head_line(stream, "MPI", first->mpi);
    print_ranks(stream, view);
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
        fprintf(stream, "%-13s%" PRIu64 "\n", "I/O accesses", summary->files);
}

/* ---- The table ------------------------------------------------------------------------------- */

static int compare_times(const void *one, const void *other)
{
    const struct function_figures *a = one, *b = other;
    if (a->time != b->time)
        return a->time < b->time ? 1 : -1;
    return strcmp(a->name, b->name);
}

static void print_functions(FILE *stream, const struct summary *summary)
{
    if (!summary->function_count)
        return;
    fprintf(stream, "\n%-26s %10s %10s %6s %10s %10s\n", "function", "calls", "time", "%",
            "longest", "bytes");
    for (int i = 0; i < summary->function_count; i++) {
        const struct function_figures *entry = &summary->functions[i];
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

bool print_summary(FILE *stream, const struct trace_view *view)
{
    struct summary summary = {.view = view};
    struct trace_pairs pairs;
    bool good = trace_pairs_find(&pairs, view);
    for (uint32_t i = 0; i < view->trace->process_count && good; i++) {
        if (trace_view_has(view, i))
            good = count_process(&summary, i);
    }
    if (good) {
        if (summary.functions)
            qsort(summary.functions, (size_t)summary.function_count, sizeof *summary.functions,
                  compare_times);
        print_head(stream, &summary, &pairs);
        print_functions(stream, &summary);
        if (*view->trace->warnings) {
            char *warnings = qmpi_message("%-s", view->trace->warnings);
            fprintf(stream, "\nwarnings:\n%s%s", warnings,
                    warnings[strlen(warnings) - 1] == '\n' ? "" : "\n");
            free(warnings);
        }
    }
    trace_pairs_free(&pairs);
    free(summary.functions);
    return good;
}
