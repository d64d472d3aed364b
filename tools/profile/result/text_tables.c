/* SPDX-License-Identifier: MIT */
/* See text_tables.h. */
#define _GNU_SOURCE
#include "tools/profile/result/text_tables.h"

#include "tools/profile/result/columns.h"
#include "tools/profile/result/finder.h"
#include "tools/profile/result/hang.h"
#include "tools/profile/result/names.h"
#include "tools/profile/result/profile.h"
#include "util/util.h"

#include <ctype.h>
#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

/* ---- Parts of tables ------------------------------------------------------------------------- */

size_t text_shown(const struct text *text, size_t count)
{
    return text->top > 0 && (size_t)text->top < count ? (size_t)text->top : count;
}

void text_rest(const struct text *text, size_t count, const char *what)
{
    const size_t rest = count - text_shown(text, count);
    if (rest)
        fprintf(text->stream, "(%zu more %s)\n", rest, what);
}

void text_add_share(struct columns *columns, const struct text *text, double time)
{
    columns_add(columns, "%s", units_percent(time, text->result->application.sum));
}

static bool has_share(const char *function)
{
    return strcmp(function, "MPI_Init") != 0 && strcmp(function, "MPI_Init_thread") != 0;
}

void text_add_share_of(struct columns *columns, const struct text *text, const char *function,
                       double time)
{
    if (has_share(function))
        text_add_share(columns, text, time);
    else
        columns_add(columns, "-");
}

void text_add_extremes(struct columns *columns, const struct profile_spread *spread)
{
    const double values[] = {spread->min, spread->max};
    const int ranks[] = {spread->min_rank, spread->max_rank};
    for (int i = 0; i < 2; i++) {
        columns_add(columns, "%s", units_time(values[i]));
        if (ranks[i] >= 0)
            columns_add(columns, "%d", ranks[i]);
        else
            columns_add(columns, "%s", "");
    }
}

/* ---- Functions ------------------------------------------------------------------------------- */

/* Sums of the columns that can be added. */
struct sum {
    struct profile_calls calls;
    double application; /* the part of the time that is in the application time */
};

static void add_to_sum(struct sum *sum, const struct profile_function *function)
{
    const struct profile_calls *calls = &function->calls;
    sum->calls.calls += calls->calls;
    sum->calls.time.sum += calls->time.sum;
    sum->calls.time.mean += calls->time.mean;
    sum->calls.sent += calls->sent;
    sum->calls.received += calls->received;
    sum->application += has_share(function->name) ? calls->time.sum : 0;
}

static void add_byte_cells(struct columns *columns, const struct profile_calls *calls)
{
    columns_add(columns, "%s", units_bytes((double)calls->sent));
    columns_add(columns, "%s", units_bytes((double)calls->received));
}

static void add_function_row(struct columns *columns, const struct text *text,
                             const struct profile_function *function)
{
    const struct profile_calls *calls = &function->calls;
    columns_add(columns, "%s", function->name);
    columns_add(columns, "%llu", (unsigned long long)calls->calls);
    columns_add(columns, "%s", units_time(calls->time.sum));
    text_add_share_of(columns, text, function->name, calls->time.sum);
    columns_add(columns, "%s", units_time(calls->time.mean));
    text_add_extremes(columns, &calls->time);
    columns_add(columns, "%s", units_time(calls->time.stddev));
    add_byte_cells(columns, calls);
}

static void add_sum_row(struct columns *columns, const struct text *text, const char *name,
                        const struct sum *sum)
{
    columns_add(columns, "%s", name);
    columns_add(columns, "%llu", (unsigned long long)sum->calls.calls);
    columns_add(columns, "%s", units_time(sum->calls.time.sum));
    text_add_share(columns, text, sum->application);
    columns_add(columns, "%s", units_time(sum->calls.time.mean));
    columns_add_all(columns, (const char *const[]){"", "", "", "", "", NULL});
    add_byte_cells(columns, &sum->calls);
}

static bool print_functions(const struct text *text, const struct profile_function *functions,
                            size_t count)
{
    static const char *const headings[] = {"function", "calls",    "time", "%",  "mean rank",
                                           "min",      "on",       "max",  "on", "stddev",
                                           "sent",     "received", NULL};
    const size_t shown = text_shown(text, count);
    struct sum rest = {.application = 0}, all = {.application = 0};
    struct columns columns;
    columns_start(&columns, "lrrrrrrrrrrr");
    columns_set_optional(&columns, "....2....133");
    columns_add_all(&columns, headings);
    for (size_t i = 0; i < count; i++) {
        if (i < shown)
            add_function_row(&columns, text, &functions[i]);
        else
            add_to_sum(&rest, &functions[i]);
        add_to_sum(&all, &functions[i]);
    }
    if (count > shown) {
        char name[64];
        snprintf(name, sizeof name, "(%zu more)", count - shown);
        add_sum_row(&columns, text, name, &rest);
    }
    if (count > 1)
        add_sum_row(&columns, text, "total", &all);
    return columns_print(&columns, text->stream, text->width);
}

bool text_functions(const struct text *text)
{
    const struct profile_result *result = text->result;
    fprintf(text->stream,
            "\nFunctions: time of all ranks, and the least and greatest time of a rank\n");
    if (!result->function_count)
        fprintf(text->stream, "(no calls)\n");
    if (result->function_count && !print_functions(text, result->functions, result->function_count))
        return false;
    if (result->unfinished_receives)
        fprintf(
            text->stream,
            "(the completion of %llu nonblocking or persistent receive%s was not seen, or their\n"
            "size is not known: their data is not counted)\n",
            (unsigned long long)result->unfinished_receives,
            result->unfinished_receives == 1 ? "" : "s");
    return true;
}

/* ---- Frames ---------------------------------------------------------------------------------- */

/* Adds a line for a frame. Shortens the name of the function if it is too long for the line. */
static void add_frame_line(struct columns *columns, const struct text *text,
                           const struct profile_frame *frame, bool first)
{
    const char *indent = first ? "    from " : "         ";
    const char *module = *frame->module ? qmpi_text_base_name(frame->module) : "?";
    char *place = NULL;
    int length;
    if (frame->file && frame->line > 0)
        length = asprintf(&place, "(%s:%d%s%s)%s", qmpi_text_base_name(frame->file), frame->line,
                          frame->names_module ? " in " : "", frame->names_module ? module : "",
                          frame->inlined ? " [inlined]" : "");
    else
        length = asprintf(&place, frame->function ? "(%s+0x%llx)" : "%s+0x%llx", module,
                          (unsigned long long)frame->offset);
    if (length < 0) {
        columns->good = false;
        return;
    }
    const char *function = frame->function ? frame->function : frame->file ? "?" : "";
    const int room = text->width - (int)strlen(indent) - length - 1;
    char *name = names_shorten(function, room < 4 ? SIZE_MAX : (size_t)room);
    columns->good = columns->good && name;
    columns_add_line(columns, "%s%s%s%s", indent, name ? name : "", *function ? " " : "", place);
    free(name);
    free(place);
}

void text_add_frames(struct columns *columns, const struct text *text,
                     const struct profile_frame *frames, int count)
{
    for (int i = 0; i < count; i++)
        add_frame_line(columns, text, &frames[i], i == 0);
}

/* ---- Time outside MPI ------------------------------------------------------------------------ */

/* Describes a call site in one line. */
static const char *describe_call(const struct text *text, uint64_t key, const char *none,
                                 char *line, size_t size)
{
    const struct profile_callsite *site = profile_callsite_find(text->result, key);
    char place[96];
    finder_describe_place(site, place, sizeof place);
    snprintf(line, size, site ? "%s at %s" : "%s", site ? site->name : none, place);
    return line;
}

static void add_outside_row(struct columns *columns, const struct text *text,
                            const struct profile_outside *it)
{
    char line[160];
    columns_add(columns, "%s", describe_call(text, it->from, "the start", line, sizeof line));
    columns_add(columns, "%s", units_time(it->time.sum));
    text_add_share(columns, text, it->time.sum);
    columns_add(columns, "%s", units_time(it->time.mean));
    text_add_extremes(columns, &it->time);
    columns_add_line(columns, "    to %s",
                     describe_call(text, it->to, "the end", line, sizeof line));
}

bool text_outside(const struct text *text, bool briefly)
{
    enum { BRIEFLY = 5 };
    static const char *const headings[] = {"between", "time", "%",  "mean rank", "min",
                                           "on",      "max",  "on", NULL};
    const size_t count = text->result->outside_count;
    const size_t few = briefly && text->top && count > BRIEFLY ? BRIEFLY : count;
    const size_t shown = text_shown(text, few);
    struct columns columns;
    if (!shown)
        return true;
    fprintf(text->stream, "\nOutside MPI, by the calls before and after: time of all ranks\n");
    columns_start(&columns, "lrrrrrrr");
    columns_set_optional(&columns, "...122..");
    columns_add_all(&columns, headings);
    for (size_t i = 0; i < shown; i++)
        add_outside_row(&columns, text, &text->result->outside[i]);
    const bool good = columns_print(&columns, text->stream, text->width);
    if (shown < count)
        fprintf(text->stream, "(%zu more%s)\n", count - shown,
                shown == few ? ": qmpi report --outside" : "");
    return good;
}

/* ---- Sentences ------------------------------------------------------------------------------- */

size_t text_fit_words(const char *words, int room)
{
    size_t length = strlen(words);
    if (length <= (size_t)room)
        return length;
    length = (size_t)room;
    while (length > 1 && words[length] != ' ')
        length--;
    return length > 1 ? length : (size_t)room;
}

/* Like text_fit_words, but keeps numbers and their units together. */
static size_t fit_figures(const char *words, int room)
{
    size_t length = text_fit_words(words, room);
    if (!words[length] || length < 2 || !isdigit((unsigned char)words[length - 1]))
        return length;
    size_t shorter = length - 1;
    while (shorter && words[shorter] != ' ')
        shorter--;
    return shorter ? shorter : length;
}

void text_add_wrapped(struct columns *lines, const char *words, int width, const char *prefix)
{
    const int indent = (int)strlen(prefix);
    while (*words) {
        const size_t length = fit_figures(words, width - indent);
        columns_add_line(lines, "%s%.*s", prefix, (int)length, words);
        words += length;
        words += strspn(words, " ");
        prefix = indent ? "   " : "";
    }
}

/* ---- Calls in flight ------------------------------------------------------------------------- */

/* Adds a cell that tells for what a call waits: messages, or a collective on a communicator. */
static void add_partners(struct columns *columns, const struct profile_flight *flight)
{
    char partners[160] = "";
    FILE *stream = fmemopen(partners, sizeof partners - 1, "w");
    if (stream) {
        hang_print_partners(stream, flight, true);
        if (!flight->await_count && flight->communicator)
            fprintf(stream, " on %s", flight->communicator);
        fclose(stream);
    }
    columns_add(columns, "%s%s", flight->waits ? "waiting before it" : "",
                partners + (*partners == ' ' && !flight->waits));
}

bool text_flights(const struct text *text)
{
    static const char *const headings[] = {"call", "rank", "so far", "since", "", NULL};
    const size_t shown = text_shown(text, text->result->flight_count);
    struct columns columns;
    if (!shown)
        return true;
    fprintf(text->stream, "\nCalls in flight when the process%s saved\n",
            text->result->ranks == 1 ? " was" : "es were");
    columns_start(&columns, "lrrll");
    columns_add_all(&columns, headings);
    for (size_t i = 0; i < shown; i++) {
        const struct profile_flight *it = &text->result->flights[i];
        columns_add(&columns, "%s", it->name);
        columns_add(&columns, "%d", it->rank);
        columns_add(&columns, "%s", units_time(it->time));
        columns_add(&columns, "%s", it->since);
        add_partners(&columns, it);
        text_add_frames(&columns, text, it->frames, it->frame_count);
    }
    const bool good = columns_print(&columns, text->stream, text->width);
    text_rest(text, text->result->flight_count, "calls");
    return good;
}

/* ---- Waiting for peers ----------------------------------------------------------------------- */

struct place_wait {
    const struct profile_callsite *site;
    const struct profile_wait *wait;
};

/* Orders by time, longest first. */
static int compare_waits(const void *a, const void *b)
{
    const struct place_wait *mine = a, *its = b;
    return (mine->wait->time < its->wait->time) - (mine->wait->time > its->wait->time);
}

/* Lists all waits of the result. Returns NULL if memory is exhausted. */
static struct place_wait *list_waits(const struct profile_result *result, size_t *count)
{
    size_t room = 1, listed = 0;
    for (size_t i = 0; i < result->callsite_count; i++)
        room += result->callsites[i].waits.count;
    struct place_wait *all = calloc(room, sizeof *all);
    for (size_t i = 0; all && i < result->callsite_count; i++) {
        const struct profile_callsite *site = &result->callsites[i];
        for (size_t k = 0; k < site->waits.count; k++)
            all[listed++] = (struct place_wait){site, &site->waits.all[k]};
    }
    if (all)
        qsort(all, listed, sizeof *all, compare_waits);
    *count = listed;
    return all;
}

static void add_wait_row(struct columns *columns, const struct text *text,
                         const struct place_wait *it)
{
    columns_add(columns, "%s", it->site->name);
    columns_add(columns, "%d", it->wait->rank);
    if (it->wait->peer >= 0)
        columns_add(columns, "%d", it->wait->peer);
    else
        columns_add(columns, "?");
    columns_add(columns, "%llu", (unsigned long long)it->wait->calls);
    columns_add(columns, "%s", units_time(it->wait->time));
    text_add_share(columns, text, it->wait->time);
    text_add_frames(columns, text, it->site->frames, it->site->frame_count);
}

bool text_peer_waits(const struct text *text)
{
    static const char *const headings[] = {"call site", "rank", "peer", "calls",
                                           "waiting",   "%",    NULL};
    struct columns columns;
    size_t count;
    struct place_wait *all = list_waits(text->result, &count);
    if (!all || !count) {
        free(all);
        return all != NULL;
    }
    fprintf(text->stream, "\nWaiting for a peer in point-to-point calls\n");
    columns_start(&columns, "lrrrrr");
    columns_add_all(&columns, headings);
    for (size_t i = 0; i < text_shown(text, count); i++)
        add_wait_row(&columns, text, &all[i]);
    const bool good = columns_print(&columns, text->stream, text->width);
    text_rest(text, count, "waits");
    free(all);
    return good;
}

/* ---- Waiting before collectives -------------------------------------------------------------- */

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

/* ---- Histograms ------------------------------------------------------------------------------ */

enum { MAP_RANKS = 32, MAP_LEVELS = 9, BAR = 36 };

/* Prints a line for each bin from the first to the last one with calls, and one line for several
 * empty bins in a row. */
static bool print_bins(const struct text *text, const char *const *headings, const uint64_t *bins,
                       int count, const char *(*bound)(int bin))
{
    static const char bar[BAR + 1] = "####################################";
    int first = 0, last = count - 1;
    uint64_t most = 1;
    struct columns columns;
    while (first < count && !bins[first])
        first++;
    while (last > first && !bins[last])
        last--;
    if (first == count)
        return true;
    columns_start(&columns, "rlrrl");
    columns_add_all(&columns, headings);
    for (int bin = first; bin <= last; bin++)
        most = bins[bin] > most ? bins[bin] : most;
    for (int bin = first; bin <= last; bin++) {
        if (!bins[bin] && !bins[bin + 1]) {
            columns_add_line(&columns, "     ...");
            while (!bins[bin + 1])
                bin++;
            continue;
        }
        /* The length is rounded up, so that every bin with calls has a bar. */
        const double part = (double)bins[bin] / (double)most;
        const int length = bins[bin] ? 1 + (int)((BAR - 1) * part) : 0;
        columns_add(&columns, "%s", bound(bin));
        columns_add(&columns, "to");
        columns_add(&columns, "%s", bound(bin + 1));
        columns_add(&columns, "%llu", (unsigned long long)bins[bin]);
        columns_add(&columns, "%.*s", length, bar);
    }
    fputc('\n', text->stream);
    return columns_print(&columns, text->stream, text->width);
}

static const char *size_bound(int bin)
{
    return units_bytes(ldexp(1, bin));
}

static const char *time_bound(int bin)
{
    return units_time(bin ? ldexp(1e-9, bin) : 0);
}

bool text_histograms(const struct text *text)
{
    static const char *const size_headings[] = {"bytes", "", "below", "calls", "", NULL};
    static const char *const time_headings[] = {"time", "", "below", "calls", "", NULL};
    uint64_t sizes[PROFILE_SIZE_BINS] = {0}, times[PROFILE_TIME_BINS] = {0}, no_bytes = 0;
    for (size_t i = 0; i < text->result->function_count; i++) {
        const struct profile_function *function = &text->result->functions[i];
        for (int bin = 0; bin < PROFILE_SIZE_BINS; bin++)
            sizes[bin] += function->sizes[bin];
        for (int bin = 0; bin < PROFILE_TIME_BINS; bin++)
            times[bin] += function->times[bin];
        no_bytes += function->no_bytes;
    }
    if (!text->result->function_count)
        return true;
    fprintf(text->stream, "\nCalls by size and by time (calls without data: %llu)\n",
            (unsigned long long)no_bytes);
    return print_bins(text, size_headings, sizes, PROFILE_SIZE_BINS, size_bound) &&
           print_bins(text, time_headings, times, PROFILE_TIME_BINS, time_bound);
}

/* ---- The map --------------------------------------------------------------------------------- */

struct map {
    int ranks;
    int least; /* exponent of the smallest number of bytes in a cell */
    int step;  /* exponents per level, at least 1 */
    char marks[MAP_RANKS][MAP_RANKS];
};

static const char level_marks[MAP_LEVELS + 1] = ".:-=+*#%@";

static int exponent_of(uint64_t bytes)
{
    int value = 0;
    while (bytes >>= 1)
        value++;
    return value;
}

static void scale_map(struct map *map, const struct profile_result *result)
{
    int most = 0;
    map->least = 64;
    for (size_t i = 0; i < result->matrix_entry_count; i++) {
        if (!result->matrix[i].bytes)
            continue;
        const int value = exponent_of(result->matrix[i].bytes);
        map->least = value < map->least ? value : map->least;
        most = value > most ? value : most;
    }
    map->step = most > map->least ? (most - map->least) / MAP_LEVELS + 1 : 1;
}

static void fill_map(struct map *map, const struct profile_result *result)
{
    memset(map->marks, ' ', sizeof map->marks);
    for (size_t i = 0; i < result->matrix_entry_count; i++) {
        const struct profile_matrix_entry *cell = &result->matrix[i];
        map->marks[cell->from][cell->to] =
            cell->bytes ? level_marks[(exponent_of(cell->bytes) - map->least) / map->step] : 'o';
    }
}

static void print_legend(const struct text *text, const struct map *map)
{
    bool used[256] = {false};
    for (int from = 0; from < map->ranks; from++) {
        for (int to = 0; to < map->ranks; to++)
            used[(unsigned char)map->marks[from][to]] = true;
    }
    fprintf(text->stream, "  at least:");
    int length = 11;
    for (int level = 0; level < MAP_LEVELS; level++) {
        if (!used[(unsigned char)level_marks[level]])
            continue;
        const char *bytes = units_bytes(ldexp(1, map->least + level * map->step));
        if (length + 3 + (int)strlen(bytes) + 1 > text->width)
            length = fprintf(text->stream, "\n           ") - 1;
        length += fprintf(text->stream, "  %c %s", level_marks[level], bytes);
    }
    fprintf(text->stream, "%s\n", used['o'] ? "  o no bytes" : "");
}

static void print_map(const struct text *text, const struct map *map)
{
    fprintf(text->stream, "  from");
    for (int to = 0; to < map->ranks; to++)
        fprintf(text->stream, to % 5 && map->ranks > 10 ? "  " : "%2d", to);
    fprintf(text->stream, " to\n");
    for (int from = 0; from < map->ranks; from++) {
        int last = map->ranks - 1; /* avoids blanks at the end of the line */
        while (last >= 0 && map->marks[from][last] == ' ')
            last--;
        fprintf(text->stream, "%6d", from);
        for (int to = 0; to <= last; to++)
            fprintf(text->stream, " %c", map->marks[from][to]);
        fputc('\n', text->stream);
    }
    print_legend(text, map);
}

/* ---- Pairs ----------------------------------------------------------------------------------- */

static int compare_pair_bytes(const void *a, const void *b)
{
    const struct profile_matrix_entry *mine = *(const struct profile_matrix_entry *const *)a;
    const struct profile_matrix_entry *its = *(const struct profile_matrix_entry *const *)b;
    if (mine->bytes != its->bytes)
        return mine->bytes < its->bytes ? 1 : -1;
    if (mine->messages != its->messages)
        return mine->messages < its->messages ? 1 : -1;
    return mine < its ? -1 : mine > its; /* by from, then to */
}

static bool print_pairs(const struct text *text)
{
    static const char *const headings[] = {"from", "to", "messages", "bytes", "per message", NULL};
    const struct profile_matrix_entry **order =
        malloc(text->result->matrix_entry_count * sizeof *order);
    struct columns columns;
    if (!order)
        return false;
    for (size_t i = 0; i < text->result->matrix_entry_count; i++)
        order[i] = &text->result->matrix[i];
    qsort(order, text->result->matrix_entry_count, sizeof *order, compare_pair_bytes);
    columns_start(&columns, "rrrrr");
    columns_add_all(&columns, headings);
    for (size_t i = 0; i < text_shown(text, text->result->matrix_entry_count); i++) {
        const struct profile_matrix_entry *cell = order[i];
        columns_add(&columns, "%d", cell->from);
        columns_add(&columns, "%d", cell->to);
        columns_add(&columns, "%llu", (unsigned long long)cell->messages);
        columns_add(&columns, "%s", units_bytes((double)cell->bytes));
        columns_add(&columns, "%s",
                    units_bytes(cell->messages ? (double)cell->bytes / (double)cell->messages : 0));
    }
    free(order);
    const bool good = columns_print(&columns, text->stream, text->width);
    text_rest(text, text->result->matrix_entry_count, "pairs");
    return good;
}

/* Returns the number of ranks of the map, or a number above MAP_RANKS if the map would be too
 * large. Because a file of some processes also contains messages of other ranks, the map has room
 * for the highest rank of any message. */
static int map_ranks(const struct profile_result *result)
{
    int ranks = result->termination ? 1 : result->ranks;
    for (size_t i = 0; i < result->matrix_entry_count; i++) {
        const struct profile_matrix_entry *cell = &result->matrix[i];
        const int last = cell->from > cell->to ? cell->from : cell->to;
        ranks = last >= ranks && last < MAP_RANKS ? last + 1 : ranks;
        if (cell->from < 0 || cell->to < 0 || last >= MAP_RANKS)
            return MAP_RANKS + 1;
    }
    return ranks;
}

bool text_matrix(const struct text *text)
{
    struct map map = {.ranks = map_ranks(text->result)};
    if (!text->result->matrix_entry_count)
        return true;
    fprintf(text->stream, "\nCommunication between ranks, by bytes\n");
    if (text->result->rank < 0 && map.ranks > 1 && map.ranks <= MAP_RANKS) {
        scale_map(&map, text->result);
        fill_map(&map, text->result);
        print_map(text, &map);
        fputc('\n', text->stream);
    }
    return print_pairs(text);
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

static void add_region_efficiency(struct columns *columns, const struct profile_result *result,
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

static bool has_region_path(const struct profile_region *regions, size_t count)
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
    const bool with_path = has_region_path(text->result->regions, shown);
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
        add_region_efficiency(&columns, text->result, region, with_path);
    }
    columns_add_line(&columns,
                     "PE parallel efficiency, LB load balance, CommE communication efficiency");
    if (with_path)
        columns_add_line(&columns, "SerE serialisation efficiency, TE transfer efficiency");
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
        struct columns title; /* a table, because it replaces control characters in names */
        if (!region->function_count)
            continue;
        columns_start(&title, "l");
        columns_add_line(&title, "Functions in region %s", region->name);
        fputc('\n', text->stream);
        good = columns_print(&title, text->stream, text->width) &&
               print_functions(text, region->functions, region->function_count);
    }
    return good;
}

/* ---- Processes ------------------------------------------------------------------------------- */

static void add_process_row(struct columns *columns, const char *why,
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

static double mpi_share(const struct profile_process *process)
{
    return process->application > 0 ? process->mpi / process->application : 0;
}

/* Adds the processes with the extreme shares of time in MPI, application times and peaks of memory.
 * This is for results with too many processes to show all. */
static void add_process_extremes(struct columns *columns, const struct profile_result *result)
{
    const struct profile_process *all = result->processes;
    const struct profile_process *least = all, *most = all, *smallest = all, *largest = all;
    const struct profile_process *shortest = all, *longest = all;
    for (size_t i = 1; i < result->process_count; i++) {
        const struct profile_process *it = &all[i];
        least = mpi_share(it) < mpi_share(least) ? it : least;
        most = mpi_share(it) > mpi_share(most) ? it : most;
        smallest = it->memory < smallest->memory ? it : smallest;
        largest = it->memory > largest->memory ? it : largest;
        shortest = it->application < shortest->application ? it : shortest;
        longest = it->application > longest->application ? it : longest;
    }
    add_process_row(columns, "most in MPI", most);
    add_process_row(columns, "least in MPI", least);
    add_process_row(columns, "longest", longest);
    add_process_row(columns, "shortest", shortest);
    add_process_row(columns, "most memory", largest);
    add_process_row(columns, "least memory", smallest);
}

static void add_process_means(struct columns *columns, const struct profile_result *result)
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
        add_process_row(&columns, "", &text->result->processes[i]);
    if (!all)
        add_process_extremes(&columns, text->result);
    if (text->result->process_count > 1)
        add_process_means(&columns, text->result);
    return columns_print(&columns, text->stream, text->width);
}
