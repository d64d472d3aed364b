/* SPDX-License-Identifier: MIT */
/* See text_parts.h: the table of functions. */
#include "profile/columns.h"
#include "profile/text_parts.h"
#include "profile/units.h"

/* What can be added up: minima, maxima and deviations cannot. */
struct sum {
    struct profile_calls calls;
    double application; /* the part of the time that is in the application time */
};

static void add_up(struct sum *sum, const struct profile_function *function)
{
    const struct profile_calls *calls = &function->calls;
    sum->calls.calls += calls->calls;
    sum->calls.time.sum += calls->time.sum;
    sum->calls.time.mean += calls->time.mean;
    sum->calls.sent += calls->sent;
    sum->calls.received += calls->received;
    sum->application += text_has_share(function->name) ? calls->time.sum : 0;
}

static void add_bytes(struct columns *columns, const struct profile_calls *calls)
{
    columns_add(columns, "%s", units_bytes((double)calls->sent));
    columns_add(columns, "%s", units_bytes((double)calls->received));
}

static void add_function(struct columns *columns, const struct text *text,
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
    add_bytes(columns, calls);
}

static void add_sum(struct columns *columns, const struct text *text, const char *name,
                    const struct sum *sum)
{
    columns_add(columns, "%s", name);
    columns_add(columns, "%llu", (unsigned long long)sum->calls.calls);
    columns_add(columns, "%s", units_time(sum->calls.time.sum));
    text_add_share(columns, text, sum->application);
    columns_add(columns, "%s", units_time(sum->calls.time.mean));
    columns_add_all(columns, (const char *const[]){"", "", "", "", "", NULL});
    add_bytes(columns, &sum->calls);
}

bool text_functions(const struct text *text, const struct profile_function *functions, size_t count)
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
            add_function(&columns, text, &functions[i]);
        else
            add_up(&rest, &functions[i]);
        add_up(&all, &functions[i]);
    }
    if (count > shown) {
        char name[64];
        snprintf(name, sizeof name, "(%zu more)", count - shown);
        add_sum(&columns, text, name, &rest);
    }
    if (count > 1)
        add_sum(&columns, text, "total", &all);
    return columns_print(&columns, text->stream, text->width);
}

bool text_all_functions(const struct text *text)
{
    const struct profile_result *result = text->result;
    fprintf(text->stream, "\nFunctions: time of all ranks, and the least and most of a rank\n");
    if (!result->function_count)
        fprintf(text->stream, "(no calls)\n");
    if (result->function_count && !text_functions(text, result->functions, result->function_count))
        return false;
    if (result->unfinished_receives)
        fprintf(text->stream,
                "(the completion of %llu nonblocking or persistent receive%s was not seen:\n"
                "their data is not counted)\n",
                (unsigned long long)result->unfinished_receives,
                result->unfinished_receives == 1 ? "" : "s");
    return true;
}
