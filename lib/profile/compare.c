/* SPDX-License-Identifier: MIT */
/* See compare.h. */
#define _GNU_SOURCE
#include "profile/compare.h"

#include "profile/columns.h"
#include "profile/text_parts.h"
#include "profile/units.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum quantity { TIME, CALLS, BYTES, QUANTITIES };

/* A function on both sides. */
struct pair {
    const char *name;
    bool in[2];
    double values[QUANTITIES][2];
};

static void fill_side(struct pair *pair, int side, const struct profile_calls *calls)
{
    pair->in[side] = true;
    pair->values[TIME][side] += calls->time.sum;
    pair->values[CALLS][side] += (double)calls->calls;
    pair->values[BYTES][side] += (double)calls->sent + (double)calls->received;
}

/* The functions of both, and behind them, at `*count`, the sum. NULL: memory is out. */
static struct pair *make_pairs(const struct profile_result *a, const struct profile_result *b,
                               size_t *count)
{
    const struct profile_result *const sides[] = {a, b};
    struct pair *pairs = calloc(a->function_count + b->function_count + 1, sizeof *pairs);
    struct pair all = {.name = "total"};
    *count = 0;
    for (int side = 0; pairs && side < 2; side++) {
        for (size_t i = 0; i < sides[side]->function_count; i++) {
            const struct profile_function *function = &sides[side]->functions[i];
            size_t at = 0;
            while (at < *count && strcmp(pairs[at].name, function->name) != 0)
                at++;
            *count += at == *count;
            pairs[at].name = function->name;
            fill_side(&pairs[at], side, &function->calls);
            fill_side(&all, side, &function->calls);
        }
    }
    if (pairs)
        pairs[*count] = all;
    return pairs;
}

static double difference(const struct pair *pair, enum quantity quantity)
{
    return pair->values[quantity][1] - pair->values[quantity][0];
}

static int compare_pairs(const void *a, const void *b, void *order)
{
    static const enum quantity quantities[] = {
        [PROFILE_BY_TIME] = TIME, [PROFILE_BY_CALLS] = CALLS, [PROFILE_BY_BYTES] = BYTES};
    const struct pair *mine = a, *its = b;
    const enum profile_sort by = *(enum profile_sort *)order;
    if (by != PROFILE_BY_NAME) {
        const double my_size = fabs(difference(mine, quantities[by]));
        const double its_size = fabs(difference(its, quantities[by]));
        if (my_size != its_size)
            return my_size < its_size ? 1 : -1;
    }
    return strcmp(mine->name, its->name);
}

/* ---- Printing -------------------------------------------------------------------------------- */

static void add_value(struct columns *columns, enum quantity quantity, double value, bool sign)
{
    const char *plus = sign && value > 0 ? "+" : "";
    if (quantity == CALLS)
        columns_add(columns, "%s%.0f", plus, value);
    else
        columns_add(columns, "%s%s", plus,
                    quantity == TIME ? units_time(value) : units_bytes(value));
}

static void add_ratio(struct columns *columns, double before, double after)
{
    if (before > 0)
        columns_add(columns, "%.*f", after / before < 99.95 ? 2 : 0, after / before);
    else
        columns_add(columns, "-");
}

static void add_row(struct columns *columns, const char *name, enum quantity quantity,
                    const double values[2])
{
    columns_add(columns, "%s", name);
    add_value(columns, quantity, values[0], false);
    add_value(columns, quantity, values[1], false);
    add_value(columns, quantity, values[1] - values[0], true);
    add_ratio(columns, values[0], values[1]);
}

static bool print_quantity(FILE *stream, enum quantity quantity, const struct pair *pairs,
                           size_t count, const struct profile_layout *layout)
{
    static const char *const titles[] = {"time", "calls", "bytes"};
    const char *const headings[] = {titles[quantity], "A", "B", "B - A", "B / A", "", NULL};
    const struct text text = {stream, NULL, layout->top, layout->width};
    struct columns columns;
    fputc('\n', stream);
    columns_start(&columns, "lrrrrl");
    columns_add_all(&columns, headings);
    for (size_t i = 0; i < text_shown(&text, count); i++) {
        add_row(&columns, pairs[i].name, quantity, pairs[i].values[quantity]);
        columns_add(&columns, "%s", !pairs[i].in[0] ? "new" : !pairs[i].in[1] ? "gone" : "");
    }
    add_row(&columns, pairs[count].name, quantity, pairs[count].values[quantity]);
    columns_add(&columns, "%s", "");
    const bool good = columns_print(&columns, stream, layout->width);
    text_rest(&text, count, "functions");
    return good;
}

static void note_side(struct columns *columns, const char *letter, struct profile_named side)
{
    columns_note(columns, "%s  %s: %s, %d rank%s, %s", letter, side.name, side.result->program,
                 side.result->ranks, side.result->ranks == 1 ? "" : "s", side.result->begin);
}

static bool print_head(FILE *stream, struct profile_named a, struct profile_named b,
                       const struct profile_layout *layout)
{
    static const char *const headings[] = {"", "A", "B", "B - A", "B / A", NULL};
    const double application[] = {a.result->application.sum, b.result->application.sum};
    const double mean[] = {a.result->application.mean, b.result->application.mean};
    const double time[] = {a.result->time.sum, b.result->time.sum};
    struct columns sides, columns;
    columns_start(&sides, "l");
    note_side(&sides, "A", a);
    note_side(&sides, "B", b);
    const bool good = columns_print(&sides, stream, layout->width);
    fputc('\n', stream);
    columns_start(&columns, "lrrrr");
    columns_add_all(&columns, headings);
    add_row(&columns, "application time, all ranks", TIME, application);
    add_row(&columns, "application time, mean rank", TIME, mean);
    add_row(&columns, "time in MPI, all ranks", TIME, time);
    return columns_print(&columns, stream, layout->width) && good;
}

bool profile_print_comparison(FILE *stream, struct profile_named a, struct profile_named b,
                              enum profile_sort order, const struct profile_layout *layout)
{
    size_t count;
    struct pair *pairs = make_pairs(a.result, b.result, &count);
    if (!pairs)
        return false;
    qsort_r(pairs, count, sizeof *pairs, compare_pairs, &order);
    bool good = print_head(stream, a, b, layout);
    for (int quantity = 0; quantity < QUANTITIES; quantity++)
        good = good && print_quantity(stream, (enum quantity)quantity, pairs, count, layout);
    free(pairs);
    return good;
}
