/* SPDX-License-Identifier: MIT */
/*
 * See json.h: writing. The document is made and written one element at a time, one line each, so
 * that a large result needs little additional memory, and the file is readable for people.
 */
#define _GNU_SOURCE
#include "profile/json.h"

#include "profile/atomic_file.h"
#include "profile/efficiency.h"
#include "profile/utf8.h"

#include <jansson.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { FORMAT = JSON_COMPACT | JSON_ENCODE_ANY | JSON_REAL_PRECISION(15) };

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

static json_t *string(const char *text)
{
    json_t *value = json_string(text ? text : "");
    return value ? value : repaired(text ? text : "");
}

/* JSON has no infinity; no figure of a result should be one. */
static json_t *real(double value)
{
    return json_real(isfinite(value) ? value : 0);
}

static json_t *whole(uint64_t value)
{
    return json_integer(value > INT64_MAX ? INT64_MAX : (json_int_t)value);
}

static json_t *spread(const struct profile_spread *spread)
{
    return json_pack("{s:o, s:o, s:o, s:o, s:o}", "sum", real(spread->sum), "mean",
                     real(spread->mean), "min", real(spread->min), "max", real(spread->max),
                     "stddev", real(spread->stddev));
}

/* Adds the members that everything with calls has. */
static bool add_calls(json_t *object, const struct profile_calls *calls)
{
    json_t *members =
        json_pack("{s:o, s:o}", "calls", whole(calls->calls), "time", spread(&calls->time));
    bool good = members != NULL;
    for (int i = 0; i < PROFILE_FIGURE_COUNT; i++) {
        const double value = profile_figure_get(calls, i);
        if (!profile_figures[i].since && !value) /* files may lack it */
            continue;
        json_t *figure =
            profile_figures[i].unit == PROFILE_COUNT ? whole((uint64_t)value) : real(value);
        good = good && json_object_set_new(members, profile_figures[i].name, figure) == 0;
    }
    json_t *bytes =
        json_pack("{s:o, s:o}", "sent", whole(calls->sent), "received", whole(calls->received));
    good = good && json_object_set_new(members, "bytes", bytes) == 0;
    good = good && json_object_update(object, members) == 0;
    if (calls->wait.sum > 0)
        good = good && json_object_set_new(object, "wait", spread(&calls->wait)) == 0;
    json_decref(members);
    return good;
}

/* What is unfinished is dropped. */
static json_t *finished(json_t *object, bool good)
{
    if (good)
        return object;
    json_decref(object);
    return NULL;
}

static json_t *bins(const uint64_t *counts, int count)
{
    json_t *array = json_array();
    bool good = array != NULL;
    for (int bin = 0; bin < count && good; bin++) {
        if (counts[bin])
            good = json_array_append_new(array, json_pack("[i, o]", bin, whole(counts[bin]))) == 0;
    }
    return finished(array, good);
}

static json_t *function(const void *element)
{
    const struct profile_function *it = element;
    json_t *object = json_pack("{s:o, s:o}", "name", string(it->name), "group", string(it->group));
    bool good = object && add_calls(object, &it->calls);
    good = good && json_object_set_new(object, "no_bytes", whole(it->no_bytes)) == 0;
    good = good && json_object_set_new(object, "sizes", bins(it->sizes, PROFILE_SIZE_BINS)) == 0;
    good = good && json_object_set_new(object, "times", bins(it->times, PROFILE_TIME_BINS)) == 0;
    return finished(object, good);
}

static json_t *frame(const struct profile_frame *it)
{
    json_t *object =
        json_pack("{s:o, s:o}", "module", string(it->module), "offset", whole(it->offset));
    bool good = object != NULL;
    if (it->function)
        good = good && json_object_set_new(object, "function", string(it->function)) == 0;
    if (it->file)
        good = good && json_object_set_new(object, "file", string(it->file)) == 0;
    if (it->line > 0)
        good = good && json_object_set_new(object, "line", json_integer(it->line)) == 0;
    return finished(object, good);
}

static json_t *frames(const struct profile_frame *its, int count)
{
    json_t *array = json_array();
    bool good = array != NULL;
    for (int i = 0; i < count && good; i++)
        good = json_array_append_new(array, frame(&its[i])) == 0;
    return finished(array, good);
}

static json_t *callsite(const void *element)
{
    const struct profile_callsite *it = element;
    json_t *object = json_pack("{s:o, s:o, s:i}", "name", string(it->name), "frames",
                               frames(it->frames, it->frame_count), "ranks", it->ranks);
    return finished(object, object && add_calls(object, &it->calls));
}

static json_t *flight(const void *element)
{
    const struct profile_flight *it = element;
    return json_pack("{s:o, s:i, s:o, s:o, s:b, s:o}", "name", string(it->name), "rank", it->rank,
                     "since", string(it->since), "time", real(it->time), "waiting", it->waits,
                     "frames", frames(it->frames, it->frame_count));
}

static json_t *cell(const void *element)
{
    const struct profile_matrix_entry *it = element;
    return json_pack("{s:i, s:i, s:o, s:o}", "from", it->from, "to", it->to, "messages",
                     whole(it->messages), "bytes", whole(it->bytes));
}

/* The hash has 64 bits, more than a number in JSON can be trusted with. */
static json_t *communicator(const void *element)
{
    const struct profile_communicator *it = element;
    char members[24];
    snprintf(members, sizeof members, "0x%llx", (unsigned long long)it->members);
    json_t *object =
        json_pack("{s:o, s:i, s:i, s:s, s:o}", "name", string(it->name), "size", it->size, "first",
                  it->first, "members", members, "instances", whole(it->instances));
    return finished(object, object && add_calls(object, &it->calls));
}

static json_t *file(const void *element)
{
    const struct profile_file *it = element;
    json_t *object =
        json_pack("{s:o, s:o, s:o, s:o}", "name", string(it->name), "opens", whole(it->opens),
                  "read", whole(it->read), "written", whole(it->written));
    return finished(object, object && add_calls(object, &it->calls));
}

static json_t *efficiency(const struct profile_efficiency *efficiency)
{
    struct profile_efficiency_figure figures[PROFILE_EFFICIENCY_FIGURES];
    json_t *object = json_object();
    bool good = object != NULL;
    profile_efficiency_list(efficiency, figures);
    for (int i = 0; i < PROFILE_EFFICIENCY_FIGURES && good; i++)
        good = json_object_set_new(object, figures[i].name, real(figures[i].value)) == 0;
    return finished(object, good);
}

/* Adds what files of older versions lack. */
static bool add_useful(json_t *object, const struct profile_result *result,
                       const struct profile_region *it)
{
    struct profile_efficiency found;
    json_t *nodes = json_array();
    bool good = nodes != NULL;
    for (size_t i = 0; i < it->node_count && good; i++)
        good =
            json_array_append_new(nodes, json_pack("{s:o, s:o}", "host", string(it->nodes[i].host),
                                                   "useful", real(it->nodes[i].useful))) == 0;
    good = json_object_set_new(object, "useful", spread(&it->useful)) == 0 && good;
    good = json_object_set_new(object, "nodes", nodes) == 0 && good;
    if (profile_efficiency_find(result, it, &found))
        good = json_object_set_new(object, "efficiency", efficiency(&found)) == 0 && good;
    return good;
}

static json_t *region(const struct profile_result *result, const struct profile_region *it)
{
    json_t *functions = json_array();
    bool good = functions != NULL;
    for (size_t i = 0; i < it->function_count && good; i++)
        good = json_array_append_new(functions, function(&it->functions[i])) == 0;
    json_t *object =
        json_pack("{s:o, s:o, s:o, s:o}", "name", string(it->name), "entries", whole(it->entries),
                  "time", spread(&it->time), "mpi", spread(&it->mpi));
    good = good && object && (!it->node_count || add_useful(object, result, it));
    good = json_object_set_new(object, "functions", functions) == 0 && good;
    return finished(object, good);
}

static json_t *process(const void *element)
{
    const struct profile_process *it = element;
    return json_pack("{s:i, s:o, s:o, s:o, s:o, s:o}", "rank", it->rank, "host", string(it->host),
                     "application", real(it->application), "mpi", real(it->mpi), "useful",
                     real(it->useful), "memory", whole(it->memory));
}

/* ---- The document ---------------------------------------------------------------------------- */

static bool put_value(FILE *stream, json_t *value)
{
    const bool good = value != NULL;
    if (good)
        json_dumpf(value, stream, FORMAT); /* the stream notes its errors */
    json_decref(value);
    return good;
}

static bool put_member(FILE *stream, const char *name, json_t *value)
{
    fprintf(stream, ",\n\"%s\":", name);
    return put_value(stream, value);
}

static bool put_array(FILE *stream, const char *name, const void *elements, size_t count,
                      size_t size, json_t *(*convert)(const void *element))
{
    bool good = true;
    fprintf(stream, ",\n\"%s\":[", name);
    for (size_t i = 0; i < count && good; i++) {
        fputs(i ? ",\n" : "\n", stream);
        good = put_value(stream, convert((const char *)elements + i * size));
    }
    fputs("]", stream);
    return good;
}

static bool put_regions(FILE *stream, const struct profile_result *result)
{
    bool good = true;
    fputs(",\n\"regions\":[", stream);
    for (size_t i = 0; i < result->region_count && good; i++) {
        fputs(i ? ",\n" : "\n", stream);
        good = put_value(stream, region(result, &result->regions[i]));
    }
    fputs("]", stream);
    return good;
}

static int schema_of(const struct profile_result *result)
{
    return result->schema ? result->schema : PROFILE_SCHEMA;
}

static bool put_head(FILE *stream, const struct profile_result *result)
{
    fprintf(stream, "{\"schema\":\"qmpi-profile/%d\"", schema_of(result));
    bool good = put_member(stream, "program", string(result->program)) &&
                put_member(stream, "mpi", string(result->mpi)) &&
                put_member(stream, "begin", string(result->begin)) &&
                put_member(stream, "layer", json_integer(result->tool_id)) &&
                put_member(stream, "ranks", json_integer(result->ranks));
    if (result->rank >= 0)
        good = good && put_member(stream, "rank", json_integer(result->rank));
    if (result->termination)
        good = good && put_member(stream, "ending", string(result->termination));
    good = good && put_member(stream, "application", spread(&result->application)) &&
           put_member(stream, "time", spread(&result->time));
    struct profile_efficiency found;
    if (profile_efficiency_find(result, NULL, &found))
        good = good && put_member(stream, "efficiency", efficiency(&found));
    if (schema_of(result) >= 2)
        good = good &&
               put_member(stream, "unfinished_receives", whole(result->unfinished_receives)) &&
               put_array(stream, "in_flight", result->flights, result->flight_count,
                         sizeof *result->flights, flight);
    return good;
}

bool profile_print_json(FILE *stream, const struct profile_result *result)
{
#define PUT(NAME, ARRAY, COUNT, CONVERT)                                                           \
    put_array(stream, NAME, result->ARRAY, result->COUNT, sizeof *result->ARRAY, CONVERT)
    const bool good = put_head(stream, result) &&
                      PUT("processes", processes, process_count, process) &&
                      PUT("functions", functions, function_count, function) &&
                      PUT("callsites", callsites, callsite_count, callsite) &&
                      PUT("matrix", matrix, matrix_entry_count, cell) &&
                      PUT("communicators", communicators, communicator_count, communicator) &&
                      PUT("files", files, file_count, file) && put_regions(stream, result);
#undef PUT
    fputs("}\n", stream);
    return good;
}

bool profile_write_json(const struct profile_result *result, const char *path, char **problem)
{
    struct profile_output output;
    if (!profile_output_open(&output, path, problem))
        return false;
    const bool good = profile_print_json(output.stream, result);
    return profile_output_close(&output, good, problem);
}
