/* SPDX-License-Identifier: MIT */
/* See json_elements.h. */
#define _GNU_SOURCE
#include "profile/json_elements.h"

#include "profile/utf8.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- Values: NULL where memory is out, which jansson's containers refuse --------------------- */

/* jansson takes UTF-8 alone. */
static json_t *repaired(const char *text)
{
    json_t *value = NULL;
    char *copy = malloc(3 * strlen(text) + 1), *end = copy;
    if (!copy)
        return NULL;
    while (*text) {
        const size_t length = utf8_length(text);
        end = mempcpy(end, length ? text : UTF8_REPLACEMENT, length ? length : 3);
        text += length ? length : 1;
    }
    *end = '\0';
    value = json_string(copy);
    free(copy);
    return value;
}

json_t *element_string(const char *text)
{
    json_t *value = json_string(text ? text : "");
    return value ? value : repaired(text ? text : "");
}

/* JSON has no infinity; no figure of a result should be one. */
json_t *element_real(double value)
{
    return json_real(isfinite(value) ? value : 0);
}

json_t *element_whole(uint64_t value)
{
    return json_integer(value > INT64_MAX ? INT64_MAX : (json_int_t)value);
}

/* What is unfinished is dropped. */
json_t *element_finish(json_t *object, bool good)
{
    if (good)
        return object;
    json_decref(object);
    return NULL;
}

json_t *element_spread(const struct profile_spread *spread)
{
    json_t *object =
        json_pack("{s:o, s:o, s:o, s:o, s:o}", "sum", element_real(spread->sum), "mean",
                  element_real(spread->mean), "min", element_real(spread->min), "max",
                  element_real(spread->max), "stddev", element_real(spread->stddev));
    bool good = object != NULL;
    if (spread->min_rank >= 0)
        good = good && json_object_set_new(object, "min_rank", json_integer(spread->min_rank)) == 0;
    if (spread->max_rank >= 0)
        good = good && json_object_set_new(object, "max_rank", json_integer(spread->max_rank)) == 0;
    return element_finish(object, good);
}

/* Adds the members that everything with calls has. */
static bool add_calls(json_t *object, const struct profile_calls *calls)
{
    json_t *members = json_pack("{s:o, s:o}", "calls", element_whole(calls->calls), "time",
                                element_spread(&calls->time));
    bool good = members != NULL;
    for (int i = 0; i < PROFILE_FIGURE_COUNT; i++) {
        const double value = profile_figure_get(calls, i);
        if (!profile_figures[i].since && !value) /* files may lack it */
            continue;
        json_t *figure = profile_figures[i].unit == PROFILE_COUNT ? element_whole((uint64_t)value)
                                                                  : element_real(value);
        good = good && json_object_set_new(members, profile_figures[i].name, figure) == 0;
    }
    json_t *bytes = json_pack("{s:o, s:o}", "sent", element_whole(calls->sent), "received",
                              element_whole(calls->received));
    good = good && json_object_set_new(members, "bytes", bytes) == 0;
    good = good && json_object_update(object, members) == 0;
    if (calls->wait.sum > 0)
        good = good && json_object_set_new(object, "wait", element_spread(&calls->wait)) == 0;
    json_decref(members);
    return good;
}

static json_t *bins(const uint64_t *counts, int count)
{
    json_t *array = json_array();
    bool good = array != NULL;
    for (int bin = 0; bin < count && good; bin++) {
        if (counts[bin])
            good = json_array_append_new(array,
                                         json_pack("[i, o]", bin, element_whole(counts[bin]))) == 0;
    }
    return element_finish(array, good);
}

/* ---- Elements -------------------------------------------------------------------------------- */

json_t *element_function(const struct profile_result *result, const void *element)
{
    const struct profile_function *it = element;
    json_t *object = json_pack("{s:o, s:o}", "name", element_string(it->name), "group",
                               element_string(it->group));
    bool good = object && add_calls(object, &it->calls);
    good = good && json_object_set_new(object, "no_bytes", element_whole(it->no_bytes)) == 0;
    good = good && json_object_set_new(object, "sizes", bins(it->sizes, PROFILE_SIZE_BINS)) == 0;
    good = good && json_object_set_new(object, "times", bins(it->times, PROFILE_TIME_BINS)) == 0;
    if (it->ranks)
        good = good && json_object_set_new(object, "ranks", json_integer(it->ranks)) == 0;
    good = good && element_add_by_rank(object, result, &it->calls, &it->by_rank);
    return element_finish(object, good);
}

static json_t *frame(const struct profile_frame *it)
{
    json_t *object = json_pack("{s:o, s:o}", "module", element_string(it->module), "offset",
                               element_whole(it->offset));
    bool good = object != NULL;
    if (it->function)
        good = good && json_object_set_new(object, "function", element_string(it->function)) == 0;
    if (it->file)
        good = good && json_object_set_new(object, "file", element_string(it->file)) == 0;
    if (it->line > 0)
        good = good && json_object_set_new(object, "line", json_integer(it->line)) == 0;
    if (it->inlined)
        good = good && json_object_set_new(object, "inlined", json_true()) == 0;
    return element_finish(object, good);
}

json_t *element_frames(const struct profile_frame *its, int count)
{
    json_t *array = json_array();
    bool good = array != NULL;
    for (int i = 0; i < count && good; i++)
        good = json_array_append_new(array, frame(&its[i])) == 0;
    return element_finish(array, good);
}

json_t *element_callsite(const struct profile_result *result, const void *element)
{
    const struct profile_callsite *it = element;
    json_t *object = json_pack("{s:o, s:o, s:i}", "name", element_string(it->name), "frames",
                               element_frames(it->frames, it->frame_count), "ranks", it->ranks);
    bool good = object && add_calls(object, &it->calls);
    if (it->messages)
        good = good && json_object_set_new(object, "messages", element_whole(it->messages)) == 0;
    good = good && element_add_by_rank(object, result, &it->calls, &it->by_rank);
    return element_finish(object, good && element_add_waits(object, &it->waits));
}

json_t *element_flight(const struct profile_result *result, const void *element)
{
    const struct profile_flight *it = element;
    (void)result;
    return json_pack("{s:o, s:i, s:o, s:o, s:b, s:o}", "name", element_string(it->name), "rank",
                     it->rank, "since", element_string(it->since), "time", element_real(it->time),
                     "waiting", it->waits, "frames", element_frames(it->frames, it->frame_count));
}

json_t *element_cell(const struct profile_result *result, const void *element)
{
    const struct profile_matrix_entry *it = element;
    (void)result;
    return json_pack("{s:i, s:i, s:o, s:o}", "from", it->from, "to", it->to, "messages",
                     element_whole(it->messages), "bytes", element_whole(it->bytes));
}

/* The hash has 64 bits, more than a number in JSON can be trusted with. */
json_t *element_communicator(const struct profile_result *result, const void *element)
{
    const struct profile_communicator *it = element;
    (void)result;
    char members[24];
    snprintf(members, sizeof members, "0x%llx", (unsigned long long)it->members);
    json_t *object = json_pack("{s:o, s:i, s:i, s:s, s:o}", "name", element_string(it->name),
                               "size", it->size, "first", it->first, "members", members,
                               "instances", element_whole(it->instances));
    return element_finish(object, object && add_calls(object, &it->calls));
}

json_t *element_file(const struct profile_result *result, const void *element)
{
    const struct profile_file *it = element;
    (void)result;
    json_t *object = json_pack("{s:o, s:o, s:o, s:o}", "name", element_string(it->name), "opens",
                               element_whole(it->opens), "read", element_whole(it->read), "written",
                               element_whole(it->written));
    return element_finish(object, object && add_calls(object, &it->calls));
}

/* Without the digits that are lost when the times it is computed from are written. */
static json_t *element_ratio(double value)
{
    return element_real(round(value * 1e9) / 1e9);
}

json_t *element_efficiency(const struct profile_efficiency *efficiency)
{
    struct profile_efficiency_figure figures[PROFILE_EFFICIENCY_FIGURES];
    json_t *object = json_object();
    bool good = object != NULL;
    const int count = profile_efficiency_list(efficiency, figures);
    for (int i = 0; i < count && good; i++)
        good = json_object_set_new(object, figures[i].name, element_ratio(figures[i].value)) == 0;
    return element_finish(object, good);
}

/* Adds what files of older versions lack. */
static bool add_useful(json_t *object, const struct profile_result *result,
                       const struct profile_region *it)
{
    struct profile_efficiency found;
    json_t *nodes = json_array();
    bool good = nodes != NULL;
    for (size_t i = 0; i < it->node_count && good; i++)
        good = json_array_append_new(nodes, json_pack("{s:o, s:o}", "host",
                                                      element_string(it->nodes[i].host), "useful",
                                                      element_real(it->nodes[i].useful))) == 0;
    good = json_object_set_new(object, "useful", element_spread(&it->useful)) == 0 && good;
    good = json_object_set_new(object, "nodes", nodes) == 0 && good;
    if (profile_efficiency_find(result, it, &found))
        good = json_object_set_new(object, "efficiency", element_efficiency(&found)) == 0 && good;
    return good;
}

json_t *element_region(const struct profile_result *result, const void *element)
{
    const struct profile_region *it = element;
    json_t *functions = json_array();
    bool good = functions != NULL;
    for (size_t i = 0; i < it->function_count && good; i++)
        good = json_array_append_new(functions, element_function(result, &it->functions[i])) == 0;
    json_t *object = json_pack("{s:o, s:o, s:o, s:o}", "name", element_string(it->name), "entries",
                               element_whole(it->entries), "time", element_spread(&it->time), "mpi",
                               element_spread(&it->mpi));
    good = good && object && (!it->node_count || add_useful(object, result, it));
    if (it->path > 0)
        good = json_object_set_new(object, "path", element_real(it->path)) == 0 && good;
    good = json_object_set_new(object, "functions", functions) == 0 && good;
    return element_finish(object, good);
}

json_t *element_process(const struct profile_result *result, const void *element)
{
    const struct profile_process *it = element;
    (void)result;
    return json_pack("{s:i, s:o, s:o, s:o, s:o, s:o*, s:o}", "rank", it->rank, "host",
                     element_string(it->host), "application", element_real(it->application), "mpi",
                     element_real(it->mpi), "useful", element_real(it->useful), "path",
                     it->path > 0 ? element_real(it->path) : NULL, "memory",
                     element_whole(it->memory));
}
