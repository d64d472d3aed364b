/* SPDX-License-Identifier: MIT */
/* See json_source.h: the parts of a result, as the document has them. */
#define _GNU_SOURCE
#include "profile/json_source.h"
#include "profile/result.h"
#include "util/util.h"

#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static void read_spread(const struct source *parent, const char *key, struct profile_spread *spread)
{
    const struct source source = source_object(parent, key);
    spread->sum = source_real(&source, "sum");
    spread->mean = source_real(&source, "mean");
    spread->min = source_real(&source, "min");
    spread->max = source_real(&source, "max");
    spread->stddev = source_real(&source, "stddev");
    spread->min_rank = source_optional_int(&source, "min_rank", -1);
    spread->max_rank = source_optional_int(&source, "max_rank", -1);
}

static void read_calls(const struct source *source, struct profile_calls *calls)
{
    const struct source bytes = source_object(source, "bytes");
    calls->calls = source_whole(source, "calls");
    read_spread(source, "time", &calls->time);
    for (int i = 0; i < PROFILE_FIGURE_COUNT; i++) {
        const struct profile_figure *figure = &profile_figures[i];
        if (figure->since || source_member(source, figure->name))
            profile_figure_set(calls, i, source_real(source, figure->name));
    }
    if (source_member(source, "wait"))
        read_spread(source, "wait", &calls->wait);
    calls->sent = source_whole(&bytes, "sent");
    calls->received = source_whole(&bytes, "received");
}

/* A column of a table that is written by columns: a member of each of its elements. */
struct column {
    const char *name;
    bool is_optional;
    enum { RANK, PEER, COUNT, TIME } type; /* RANK: from 0; PEER: from -1 */
    size_t offset;
};

static bool read_value(void *element, const struct column *column, const json_t *value)
{
    char *member = (char *)element + column->offset;
    const json_int_t whole = json_integer_value(value);
    const double time = json_number_value(value);
    const int rank = (int)whole;
    if (column->type == TIME)
        memcpy(member, &time, sizeof time);
    else if (column->type == COUNT)
        memcpy(member, &whole, sizeof whole);
    else
        memcpy(member, &rank, sizeof rank);
    if (column->type == TIME)
        return json_is_number(value);
    return json_is_integer(value) && whole >= (column->type == PEER ? -1 : 0) &&
           (column->type == COUNT || whole <= INT_MAX);
}

/* Reads columns of one length, as json_elements.c writes them, into an array of elements of `size`
 * bytes. `columns` begins with the ranks and ends with an empty one. */
static void *read_columns(const struct source *parent, const char *key,
                          const struct column *columns, size_t size, size_t *count)
{
    const struct source source = source_object(parent, key);
    *count = json_array_size(source_member(&source, columns->name));
    char *all = qmpi_allocate(*count + 1, size);
    for (const struct column *column = columns; column->name; column++) {
        const json_t *array = source_member(&source, column->name);
        if (!array && column->is_optional)
            continue;
        bool good = json_is_array(array) && json_array_size(array) == *count;
        for (size_t i = 0; good && i < *count; i++)
            good = read_value(all + i * size, column, json_array_get(array, i));
        if (!good)
            source_fail_member(&source, column->name,
                               column->type == TIME ? "a number for each rank"
                                                    : "a whole number for each rank");
    }
    return all;
}

static void read_by_rank(const struct source *parent, struct profile_by_rank *by_rank)
{
#define COLUMN(NAME, OPTIONAL, TYPE)                                                               \
    {                                                                                              \
#NAME, OPTIONAL, TYPE, offsetof(struct profile_rank_calls, NAME)                           \
    }
    static const struct column columns[] = {
        COLUMN(rank, false, RANK), COLUMN(calls, false, COUNT), COLUMN(time, false, TIME),
        COLUMN(wait, true, TIME),  COLUMN(sent, true, COUNT),   COLUMN(received, true, COUNT),
        {NULL, false, RANK, 0}};
#undef COLUMN
    by_rank->all = read_columns(parent, "by_rank", columns, sizeof *by_rank->all, &by_rank->count);
}

static void read_waits(const struct source *parent, struct profile_waits *waits)
{
#define COLUMN(NAME, TYPE)                                                                         \
    {                                                                                              \
#NAME, false, TYPE, offsetof(struct profile_wait, NAME)                                    \
    }
    static const struct column columns[] = {COLUMN(rank, RANK),
                                            COLUMN(peer, PEER),
                                            COLUMN(calls, COUNT),
                                            COLUMN(time, TIME),
                                            {NULL, false, RANK, 0}};
#undef COLUMN
    waits->all = read_columns(parent, "waits", columns, sizeof *waits->all, &waits->count);
}

/* Pairs of a bin and its calls. */
static void read_bins(const struct source *source, const char *key, uint64_t *bins, int count)
{
    const json_t *array = source_member(source, key);
    const struct place place = {&source->place, key, 0};
    if (!json_is_array(array))
        source_fail_member(source, key, "an array");
    for (size_t i = 0; i < json_array_size(array); i++) {
        const json_t *pair = json_array_get(array, i);
        const json_t *bin = json_array_get(pair, 0), *calls = json_array_get(pair, 1);
        if (json_is_integer(bin) && json_integer_value(bin) >= 0 &&
            json_integer_value(bin) < count && json_is_integer(calls) &&
            json_integer_value(calls) >= 0) {
            bins[json_integer_value(bin)] += (uint64_t)json_integer_value(calls);
            continue;
        }
        const struct place element = {&place, NULL, i};
        char *expected = qmpi_format("[bin from 0 to %d, calls]", count - 1);
        source_fail(source->reader, &element, expected, pair);
        free(expected);
    }
}

/* ---- The parts of a result ------------------------------------------------------------------- */

static void read_function(const struct source *source, void *element)
{
    struct profile_function *it = element;
    it->name = source_string(source, "name");
    it->group = source_string(source, "group");
    read_calls(source, &it->calls);
    it->no_bytes = source_whole(source, "no_bytes");
    read_bins(source, "sizes", it->sizes, PROFILE_SIZE_BINS);
    read_bins(source, "times", it->times, PROFILE_TIME_BINS);
    it->ranks = source_optional_int(source, "ranks", 0);
    if (source_member(source, "by_rank"))
        read_by_rank(source, &it->by_rank);
}

static void read_frame(const struct source *source, void *element)
{
    struct profile_frame *it = element;
    it->module = source_string(source, "module");
    it->offset = source_whole(source, "offset");
    it->function = source_optional_string(source, "function");
    it->file = source_optional_string(source, "file");
    it->line = source_member(source, "line") ? source_int(source, "line", 1) : 0;
    it->inlined = json_is_true(source_member(source, "inlined"));
}

static void read_callsite(const struct source *source, void *element)
{
    struct profile_callsite *it = element;
    size_t count;
    it->name = source_string(source, "name");
    it->frames = source_array(source, "frames", sizeof *it->frames, &count, read_frame);
    it->frame_count = (int)count;
    it->ranks = source_int(source, "ranks", 0);
    it->messages = source_member(source, "messages") ? source_whole(source, "messages") : 0;
    read_calls(source, &it->calls);
    if (source_member(source, "by_rank"))
        read_by_rank(source, &it->by_rank);
    if (source_member(source, "waits"))
        read_waits(source, &it->waits);
}

static void read_flight(const struct source *source, void *element)
{
    struct profile_flight *it = element;
    size_t count;
    it->name = source_string(source, "name");
    it->rank = source_int(source, "rank", 0);
    it->since = source_string(source, "since");
    it->time = source_real(source, "time");
    const json_t *waits = source_member(source, "waiting");
    if (!json_is_boolean(waits))
        source_fail_member(source, "waiting", "true or false");
    it->waits = json_is_true(waits);
    it->frames = source_array(source, "frames", sizeof *it->frames, &count, read_frame);
    it->frame_count = (int)count;
}

static void read_matrix_entry(const struct source *source, void *element)
{
    struct profile_matrix_entry *it = element;
    it->from = source_int(source, "from", 0);
    it->to = source_int(source, "to", 0);
    it->messages = source_whole(source, "messages");
    it->bytes = source_whole(source, "bytes");
}

static void read_communicator(const struct source *source, void *element)
{
    struct profile_communicator *it = element;
    it->name = source_string(source, "name");
    it->size = source_int(source, "size", 0);
    it->first = source_int(source, "first", -1);
    it->members = source_bits(source, "members");
    it->instances = source_whole(source, "instances");
    read_calls(source, &it->calls);
}

static void read_file(const struct source *source, void *element)
{
    struct profile_file *it = element;
    it->name = source_string(source, "name");
    it->opens = source_whole(source, "opens");
    it->read = source_whole(source, "read");
    it->written = source_whole(source, "written");
    read_calls(source, &it->calls);
}

static void read_node(const struct source *source, void *element)
{
    struct profile_node *it = element;
    it->host = source_string(source, "host");
    it->useful = source_real(source, "useful");
}

static void read_region(const struct source *source, void *element)
{
    struct profile_region *it = element;
    it->name = source_string(source, "name");
    it->entries = source_whole(source, "entries");
    read_spread(source, "time", &it->time);
    read_spread(source, "mpi", &it->mpi);
    if (source_member(source, "useful"))
        read_spread(source, "useful", &it->useful);
    it->path = source_member(source, "path") ? source_real(source, "path") : 0;
    if (source_member(source, "nodes"))
        it->nodes = source_array(source, "nodes", sizeof *it->nodes, &it->node_count, read_node);
    it->functions = source_array(source, "functions", sizeof *it->functions, &it->function_count,
                                 read_function);
}

static void read_process(const struct source *source, void *element)
{
    struct profile_process *it = element;
    it->rank = source_int(source, "rank", 0);
    it->host = source_string(source, "host");
    it->application = source_real(source, "application");
    it->mpi = source_real(source, "mpi");
    it->useful = source_member(source, "useful") ? source_real(source, "useful")
                                                 : fmax(0, it->application - it->mpi);
    it->path = source_member(source, "path") ? source_real(source, "path") : 0;
    it->memory = source_whole(source, "memory");
}

void source_result(const struct source *root, struct profile_result *result)
{
    result->program = source_string(root, "program");
    result->mpi = source_string(root, "mpi");
    result->begin = source_string(root, "begin");
    result->tool_id = source_int(root, "layer", 0);
    result->ranks = source_int(root, "ranks", 1);
    result->rank = source_member(root, "rank") ? source_int(root, "rank", 0) : -1;
    result->termination = source_optional_string(root, "ending");
    result->every_rank = json_is_true(source_member(root, "every_rank"));
    read_spread(root, "application", &result->application);
    read_spread(root, "time", &result->time);
    if (result->schema >= 2) {
        result->unfinished_receives = source_whole(root, "unfinished_receives");
        result->flights = source_array(root, "in_flight", sizeof *result->flights,
                                       &result->flight_count, read_flight);
    }
#define READ(NAME, ARRAY, COUNT, ELEMENT)                                                          \
    result->ARRAY = source_array(root, NAME, sizeof *result->ARRAY, &result->COUNT, read_##ELEMENT)
    READ("processes", processes, process_count, process);
    READ("functions", functions, function_count, function);
    READ("callsites", callsites, callsite_count, callsite);
    READ("matrix", matrix, matrix_entry_count, matrix_entry);
    READ("communicators", communicators, communicator_count, communicator);
    READ("files", files, file_count, file);
    READ("regions", regions, region_count, region);
#undef READ
    if (source_member(root, "windows"))
        source_windows(root, &result->windows);
}
