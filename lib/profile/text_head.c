/* SPDX-License-Identifier: MIT */
/* See text_parts.h: what is said of the run as a whole. */
#include "profile/columns.h"
#include "profile/efficiency.h"
#include "profile/text_parts.h"
#include "profile/units.h"

#include <string.h>

/* ---- Head ------------------------------------------------------------------------------------ */

/* How it came that these are not the figures of all ranks. */
static const char *describe_termination(const char *termination)
{
    if (!strcmp(termination, PROFILE_SESSIONS_ENDED))
        return "each process reported separately: ";
    return strcmp(termination, "checkpoint") ? "without MPI_Finalize: " : "not yet: ";
}

/* Whose figures these are. */
static bool print_subject(const struct text *text)
{
    const struct profile_result *result = text->result;
    struct columns lines;
    columns_start(&lines, "l");
    if (result->rank >= 0)
        columns_note(&lines, "profile (layer %d): rank %d alone", result->tool_id, result->rank);
    else
        columns_note(&lines, "profile (layer %d): %d rank%s", result->tool_id, result->ranks,
                     result->ranks == 1 ? "" : "s");
    columns_note(&lines, "program  %s", result->program ? result->program : "");
    columns_note(&lines, "started  %s", result->begin ? result->begin : "");
    columns_note(&lines, "MPI      %.*s", text->width - 9, result->mpi ? result->mpi : "");
    if (result->termination)
        columns_note(&lines, "ended    %s%s", describe_termination(result->termination),
                     result->termination);
    return columns_print(&lines, text->stream, text->width);
}

static void add_spread(struct columns *columns, const struct text *text, const char *name,
                       const struct profile_spread *spread)
{
    columns_add(columns, "%s", name);
    columns_add(columns, "%s", units_time(spread->sum));
    text_add_share(columns, text, spread->sum);
    columns_add(columns, "%s", units_time(spread->mean));
    text_add_extremes(columns, spread);
    columns_add(columns, "%s", units_time(spread->stddev));
}

static double most_memory(const struct profile_result *result)
{
    double most = 0;
    for (size_t i = 0; i < result->process_count; i++) {
        const double memory = (double)result->processes[i].memory;
        most = memory > most ? memory : most;
    }
    return most;
}

bool text_head(const struct text *text)
{
    static const char *const headings[] = {"",   "all ranks", "%",  "mean rank", "min",
                                           "on", "max",       "on", "stddev",    NULL};
    const struct profile_result *result = text->result;
    struct columns columns;
    if (!print_subject(text) || !text_findings(text))
        return false;
    fputc('\n', text->stream);
    columns_start(&columns, "lrrrrrrrr");
    columns_set_optional(&columns, "........1");
    columns_add_all(&columns, headings);
    add_spread(&columns, text, "application time", &result->application);
    add_spread(&columns, text, "time in MPI", &result->time);
    columns_note(&columns, "percentages: of the application time of all ranks, %s",
                 units_time(result->application.sum));
    if (result->process_count)
        columns_note(&columns, "peak memory of a process: %s", units_bytes(most_memory(result)));
    return columns_print(&columns, text->stream, text->width);
}

/* ---- Efficiency ------------------------------------------------------------------------------ */

static void add_ratio(struct columns *columns, const char *name, double value, const char *meaning)
{
    columns_add(columns, "%s", name);
    columns_add(columns, "%.3f", value);
    columns_add(columns, "%s", meaning);
}

bool text_efficiency(const struct text *text)
{
    struct profile_efficiency it;
    struct columns columns;
    char meaning[96];
    if (!profile_efficiency_find(text->result, NULL, &it))
        return true;
    fprintf(text->stream, "\nEfficiency (POP model): 1 is ideal, less than 0.8 is worth a look\n");
    columns_start(&columns, "lrl");
    snprintf(meaning, sizeof meaning, "mean rank: %s of %s outside MPI", units_time(it.mean),
             units_time(it.elapsed));
    add_ratio(&columns, "parallel efficiency", it.parallel, meaning);
    snprintf(meaning, sizeof meaning, "mean %s, most %s on rank %d", units_time(it.mean),
             units_time(it.most), it.most_rank);
    add_ratio(&columns, "  load balance", it.balance, meaning);
    if (it.nodes > 1) {
        snprintf(meaning, sizeof meaning, "%d nodes", it.nodes);
        add_ratio(&columns, "    between nodes", it.between_nodes, meaning);
        add_ratio(&columns, "    within nodes", it.within_nodes, "");
    }
    snprintf(meaning, sizeof meaning, "rank %d: %s of %s outside MPI", it.most_rank,
             units_time(it.most), units_time(it.elapsed));
    add_ratio(&columns, "  communication", it.communication, meaning);
    if (it.has_path) {
        snprintf(meaning, sizeof meaning, "rank %d works %s, the critical path is %s", it.most_rank,
                 units_time(it.most), units_time(it.path));
        add_ratio(&columns, "    serialisation", it.serialisation, meaning);
        snprintf(meaning, sizeof meaning, "%s of %s", units_time(it.path), units_time(it.elapsed));
        add_ratio(&columns, "    transfer", it.transfer, meaning);
    }
    return columns_print(&columns, text->stream, text->width);
}
