/* SPDX-License-Identifier: MIT */
/*
 * See text_parts.h: the histograms and the communication matrix. Scales are powers of two: message
 * sizes and the bytes between two ranks differ by orders of magnitude.
 */
#include "profile/text_parts.h"

#include "profile/columns.h"
#include "profile/units.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { MAP_RANKS = 32, MAP_LEVELS = 9, BAR = 36 };

/* ---- Histograms ------------------------------------------------------------------------------ */

/* One line for each bin from the first to the last one that holds something, and one for several
 * empty ones in a row. */
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
            columns_note(&columns, "     ...");
            while (!bins[bin + 1])
                bin++;
            continue;
        }
        /* Rounded up: what is there is to be seen. */
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

static int exponent(uint64_t bytes)
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
        const int value = exponent(result->matrix[i].bytes);
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
            cell->bytes ? level_marks[(exponent(cell->bytes) - map->least) / map->step] : 'o';
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
        int last = map->ranks - 1; /* no blanks at the end of a line */
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

static int compare_matrix_entries(const void *a, const void *b)
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
    qsort(order, text->result->matrix_entry_count, sizeof *order, compare_matrix_entries);
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

/* A file of some processes names ranks beyond its own; a map shows all that are named. */
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
