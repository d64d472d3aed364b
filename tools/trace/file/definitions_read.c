/* SPDX-License-Identifier: MIT */
/* See definitions.h. Each allocation whose size the file determines is charged to the budget, so
 * that a small file cannot take much memory. */
#define _GNU_SOURCE
#include "tools/trace/file/definitions.h"

#include "tools/trace/file/block.h"
#include "tools/trace/file/bytes.h"
#include "tools/trace/file/clock_line.h"
#include "tools/trace/file/event.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

/* The maximum valid index after `seen` definitions. Indices are assigned one after the other, so a
 * much larger one shows that the file is damaged. */
#define INDEX_MAX(seen) (2 * (seen) + 4096)

static bool charge_budget(struct trace_definitions_reader *reader, uint64_t size)
{
    if (size > reader->budget) {
        reader->is_exhausted = true;
        return false;
    }
    reader->budget -= size;
    return true;
}

/*
 * Returns element `index` of the table `*array`, which is extended if necessary; new elements are
 * 0. Returns NULL if the index is invalid, or if memory or the budget is exhausted.
 */
static void *make_element(struct trace_definitions_reader *reader, void *array, size_t *count,
                          size_t *room, size_t size, uint64_t index)
{
    void *elements;
    memcpy(&elements, array, sizeof elements);
    if (index > INDEX_MAX(reader->seen))
        return NULL;
    if (index >= *room) {
        size_t wanted = *room ? 2 * *room : 4;
        if (wanted <= index)
            wanted = (size_t)index + 1;
        if (!charge_budget(reader, (wanted - *room) * size))
            return NULL;
        elements = realloc(elements, wanted * size);
        if (!elements) {
            reader->is_exhausted = true;
            return NULL;
        }
        memset((char *)elements + *room * size, 0, (wanted - *room) * size);
        memcpy(array, &elements, sizeof elements);
        *room = wanted;
    }
    if (index >= *count)
        *count = (size_t)index + 1;
    return (char *)elements + index * size;
}

#define ELEMENT(name, index)                                                                       \
    make_element(reader, &reader->process->name##s, &reader->process->name##_count,                \
                 &reader->name##_room, sizeof *reader->process->name##s, index)

/* ---- Parts ----------------------------------------------------------------------------------- */

/* Replaces a string by the next one in the input. */
static void take_text(struct trace_definitions_reader *reader, struct trace_bytes_input *input,
                      char **text)
{
    struct trace_bytes_input length = *input;
    if (!charge_budget(reader, trace_bytes_take_varint(&length) <= trace_bytes_left(&length)
                                   ? trace_bytes_left(&length) - trace_bytes_left(input) + 32
                                   : 0)) {
        input->failed = true;
        return;
    }
    char *taken = trace_bytes_take_string(input);
    if (!taken)
        reader->is_exhausted = true;
    free(*text);
    *text = taken;
}

static int *take_group(struct trace_definitions_reader *reader, struct trace_bytes_input *input,
                       int *size)
{
    const uint64_t count = trace_bytes_take_limited(input, trace_bytes_left(input));
    if (!count || input->failed)
        return NULL;
    int *ranks =
        charge_budget(reader, count * sizeof *ranks) ? malloc(count * sizeof *ranks) : NULL;
    int64_t expected = 0;
    if (!ranks) {
        reader->is_exhausted = true;
        return NULL;
    }
    for (uint64_t i = 0; i < count; i++) {
        const int64_t rank =
            (int64_t)((uint64_t)expected + (uint64_t)trace_bytes_take_signed(input));
        ranks[i] = rank >= 0 && rank < INT_MAX ? (int)rank : TRACE_UNDEFINED;
        expected = (int64_t)ranks[i] + 1;
    }
    *size = (int)count;
    return ranks;
}

/* ---- Definitions ----------------------------------------------------------------------------- */

static bool take_process(struct trace_definitions_reader *reader, struct trace_bytes_input *input)
{
    struct trace_process *process = reader->process;
    process->run[0] = trace_bytes_take_word(input);
    process->run[1] = trace_bytes_take_word(input);
    process->rank = trace_bytes_take_int(input);
    process->ranks = trace_bytes_take_int(input);
    process->tool_id = trace_bytes_take_int(input);
    take_text(reader, input, &process->host);
    take_text(reader, input, &process->program);
    take_text(reader, input, &process->mpi);
    take_text(reader, input, &process->clock);
    process->pid = trace_bytes_take_signed(input);
    process->started = trace_bytes_take_signed(input);
    process->start_ticks = trace_bytes_take_varint(input);
    process->tick = trace_bytes_take_real(input);
    take_text(reader, input, &process->file);
    process->is_ring = trace_bytes_take_varint(input) != 0;
    process->omits = trace_bytes_left(input) ? (unsigned)trace_bytes_take_varint(input) : 0;
    process->clock_number = trace_bytes_left(input) ? trace_bytes_take_word(input) : 0;
    reader->has_process = !input->failed;
    return reader->has_process;
}

static bool take_kinds(struct trace_definitions_reader *reader, struct trace_bytes_input *input)
{
    const uint64_t count = trace_bytes_take_limited(input, TRACE_KINDS_MAX);
    for (uint64_t kind = 0; kind < count; kind++)
        reader->fields[kind] = (uint32_t)trace_bytes_take_limited(input, UINT32_MAX);
    return !input->failed;
}

static bool take_function(struct trace_definitions_reader *reader, struct trace_bytes_input *input)
{
    struct trace_function *function = ELEMENT(function, trace_bytes_take_varint(input));
    if (!function)
        return false;
    take_text(reader, input, &function->name);
    take_text(reader, input, &function->group);
    function->number = (uint32_t)trace_bytes_take_limited(input, UINT32_MAX);
    return !input->failed;
}

static bool take_library(struct trace_definitions_reader *reader, struct trace_bytes_input *input)
{
    struct trace_process *process = reader->process;
    char **library =
        make_element(reader, &process->libraries, &process->library_count, &reader->library_room,
                     sizeof *library, trace_bytes_take_varint(input));
    if (!library)
        return false;
    take_text(reader, input, library);
    return !input->failed;
}

static bool take_site(struct trace_definitions_reader *reader, struct trace_bytes_input *input)
{
    struct trace_site *site = ELEMENT(site, trace_bytes_take_varint(input));
    const uint64_t count = trace_bytes_take_limited(input, trace_bytes_left(input) / 2);
    if (!site || input->failed)
        return false;
    free(site->frames);
    *site = (struct trace_site){0};
    if (!count)
        return true;
    if (!charge_budget(reader, count * sizeof *site->frames))
        return false;
    site->frames = calloc(count, sizeof *site->frames);
    if (!site->frames)
        return false;
    for (; site->count < count; site->count++) {
        site->frames[site->count].library = (uint32_t)trace_bytes_take_limited(input, UINT32_MAX);
        site->frames[site->count].offset = trace_bytes_take_varint(input);
    }
    return !input->failed;
}

static bool take_comm(struct trace_definitions_reader *reader, struct trace_bytes_input *input)
{
    struct trace_comm *comm = ELEMENT(comm, trace_bytes_take_varint(input));
    if (!comm)
        return false;
    free(comm->group);
    free(comm->remote);
    comm->group = comm->remote = NULL;
    comm->remote_size = 0;
    comm->id = trace_bytes_take_word(input);
    comm->parent = trace_bytes_take_word(input);
    take_text(reader, input, &comm->name);
    comm->rank = trace_bytes_take_int(input);
    comm->size = (int)trace_bytes_take_limited(input, INT_MAX);
    int members = comm->size;
    comm->group = take_group(reader, input, &members);
    if (comm->group && members != comm->size) {
        free(comm->group);
        comm->group = NULL;
        return false;
    }
    if (trace_bytes_take_varint(input))
        comm->remote = take_group(reader, input, &comm->remote_size);
    return !input->failed;
}

static bool take_window(struct trace_definitions_reader *reader, struct trace_bytes_input *input)
{
    struct trace_window *window = ELEMENT(window, trace_bytes_take_varint(input));
    if (!window)
        return false;
    take_text(reader, input, &window->name);
    window->comm = (uint32_t)trace_bytes_take_limited(input, UINT32_MAX);
    return !input->failed;
}

static bool take_file(struct trace_definitions_reader *reader, struct trace_bytes_input *input)
{
    struct trace_file *file = ELEMENT(file, trace_bytes_take_varint(input));
    if (!file)
        return false;
    take_text(reader, input, &file->name);
    file->comm = (uint32_t)trace_bytes_take_limited(input, UINT32_MAX);
    return !input->failed;
}

static bool take_region(struct trace_definitions_reader *reader, struct trace_bytes_input *input)
{
    struct trace_region *region = ELEMENT(region, trace_bytes_take_varint(input));
    if (!region)
        return false;
    take_text(reader, input, &region->name);
    return !input->failed;
}

static bool take_counter(struct trace_definitions_reader *reader, struct trace_bytes_input *input)
{
    struct trace_counter *counter = ELEMENT(counter, trace_bytes_take_varint(input));
    if (!counter)
        return false;
    take_text(reader, input, &counter->name);
    take_text(reader, input, &counter->description);
    take_text(reader, input, &counter->unit);
    counter->accumulates = trace_bytes_take_varint(input) != 0;
    return !input->failed;
}

bool trace_definitions_add_location(struct trace_definitions_reader *reader, uint32_t index)
{
    reader->seen++;
    return ELEMENT(location, index) != NULL;
}

bool trace_definitions_add_function(struct trace_definitions_reader *reader, const char *name)
{
    reader->seen++;
    struct trace_function *function = ELEMENT(function, reader->process->function_count);
    if (function)
        function->name = strdup(name);
    return function && function->name;
}

static bool take_location(struct trace_definitions_reader *reader, struct trace_bytes_input *input)
{
    struct trace_location *location = ELEMENT(location, trace_bytes_take_varint(input));
    if (!location)
        return false;
    take_text(reader, input, &location->name);
    location->thread_id = trace_bytes_take_signed(input);
    location->events = trace_bytes_take_varint(input);
    return !input->failed;
}

static bool take_world(struct trace_definitions_reader *reader, struct trace_bytes_input *input)
{
    struct trace_process *process = reader->process;
    process->run[0] = trace_bytes_take_word(input);
    process->run[1] = trace_bytes_take_word(input);
    process->rank = trace_bytes_take_int(input);
    process->ranks = trace_bytes_take_int(input);
    take_text(reader, input, &process->mpi);
    return !input->failed;
}

static bool take_clock(struct trace_definitions_reader *reader, struct trace_bytes_input *input)
{
    struct trace_process *process = reader->process;
    process->tick = trace_bytes_take_real(input);
    const uint64_t count = trace_bytes_take_limited(input, trace_bytes_left(input) / 3);
    free(process->points);
    process->points = NULL;
    process->point_count = 0;
    if (!count || input->failed)
        return !input->failed;
    if (!charge_budget(reader, count * sizeof *process->points))
        return false;
    process->points = calloc(count, sizeof *process->points);
    if (!process->points)
        return false;
    for (uint64_t i = 0; i < count; i++) {
        struct trace_clock_point *point = &process->points[process->point_count++];
        point->ticks = trace_bytes_take_varint(input);
        point->world = trace_bytes_take_signed(input);
        point->bound = trace_bytes_take_varint(input);
    }
    return !input->failed;
}

static bool take_end(struct trace_definitions_reader *reader, struct trace_bytes_input *input)
{
    struct trace_process *process = reader->process;
    process->end = (enum trace_process_end)trace_bytes_take_limited(input, TRACE_END_SIGNAL);
    const bool has_detail = trace_bytes_take_varint(input) != 0;
    take_text(reader, input, &process->end_detail);
    if (!has_detail) {
        free(process->end_detail);
        process->end_detail = NULL;
    }
    process->end_ticks = trace_bytes_take_varint(input);
    process->dropped = trace_bytes_take_varint(input);
    process->memory = trace_bytes_take_varint(input);
    process->is_ring = trace_bytes_take_varint(input) != 0;
    process->unfinished = trace_bytes_take_varint(input);
    process->omits = trace_bytes_left(input) ? (unsigned)trace_bytes_take_varint(input) : 0;
    return !input->failed;
}

/* Reads a time at which the process was running. If the end of the process is unknown, `end_ticks`
 * becomes at least this time. */
static bool take_alive(struct trace_definitions_reader *reader, struct trace_bytes_input *input)
{
    struct trace_process *process = reader->process;
    const uint64_t ticks = trace_bytes_take_varint(input);
    if (process->end == TRACE_END_NONE && ticks > process->end_ticks)
        process->end_ticks = ticks;
    return !input->failed;
}

static bool (*const takers[])(struct trace_definitions_reader *, struct trace_bytes_input *) = {
    [TRACE_DEFINITION_PROCESS] = take_process,   [TRACE_DEFINITION_KINDS] = take_kinds,
    [TRACE_DEFINITION_FUNCTION] = take_function, [TRACE_DEFINITION_LIBRARY] = take_library,
    [TRACE_DEFINITION_SITE] = take_site,         [TRACE_DEFINITION_COMM] = take_comm,
    [TRACE_DEFINITION_WINDOW] = take_window,     [TRACE_DEFINITION_FILE] = take_file,
    [TRACE_DEFINITION_REGION] = take_region,     [TRACE_DEFINITION_COUNTER] = take_counter,
    [TRACE_DEFINITION_LOCATION] = take_location, [TRACE_DEFINITION_WORLD] = take_world,
    [TRACE_DEFINITION_CLOCK] = take_clock,       [TRACE_DEFINITION_END] = take_end,
    [TRACE_DEFINITION_ALIVE] = take_alive,
};

bool trace_definitions_read(struct trace_definitions_reader *reader, const void *bytes, size_t size)
{
    struct trace_bytes_input input = trace_bytes_to_read(bytes, size);
    while (trace_bytes_left(&input) && !reader->is_exhausted) {
        const uint64_t type = trace_bytes_take_varint(&input);
        struct trace_bytes_input definition =
            trace_bytes_take_part(&input, trace_bytes_take_varint(&input));
        if (input.failed)
            return false;
        reader->seen++;
        if (type < sizeof takers / sizeof *takers && takers[type] &&
            !takers[type](reader, &definition))
            return false;
    }
    return !reader->is_exhausted;
}

/* ---- Tables as readers get them -------------------------------------------------------------- */

static bool make_text(char **text)
{
    if (!*text)
        *text = strdup("");
    return *text != NULL;
}

static bool make_texts(struct trace_process *process)
{
    bool whole = make_text(&process->file) && make_text(&process->host) &&
                 make_text(&process->program) && make_text(&process->mpi) &&
                 make_text(&process->clock);
    for (size_t i = 0; i < process->function_count; i++)
        whole = whole && make_text(&process->functions[i].name) &&
                make_text(&process->functions[i].group);
    for (size_t i = 0; i < process->library_count; i++)
        whole = whole && make_text(&process->libraries[i]);
    for (size_t i = 0; i < process->comm_count; i++)
        whole = whole && make_text(&process->comms[i].name);
    for (size_t i = 0; i < process->window_count; i++)
        whole = whole && make_text(&process->windows[i].name);
    for (size_t i = 0; i < process->file_count; i++)
        whole = whole && make_text(&process->files[i].name);
    for (size_t i = 0; i < process->region_count; i++)
        whole = whole && make_text(&process->regions[i].name);
    for (size_t i = 0; i < process->counter_count; i++)
        whole = whole && make_text(&process->counters[i].name) &&
                make_text(&process->counters[i].description) &&
                make_text(&process->counters[i].unit);
    for (size_t i = 0; i < process->location_count; i++)
        whole = whole && make_text(&process->locations[i].name);
    return whole;
}

/* Returns whether a number can be the length of a tick. All clocks have ticks far within these
 * limits, but a damaged file may contain any number. */
static bool can_be_tick(double nanoseconds)
{
    return nanoseconds > 1e-6 && nanoseconds < 1e9;
}

bool trace_definitions_finish(struct trace_definitions_reader *reader)
{
    struct trace_process *process = reader->process;
    process->tick = can_be_tick(process->tick) ? process->tick : 1;
    for (size_t i = 0; i < process->site_count; i++) {
        struct trace_site *site = &process->sites[i];
        size_t count = 0;
        for (size_t j = 0; j < site->count; j++)
            if (site->frames[j].library < process->library_count)
                site->frames[count++] = site->frames[j];
        site->count = count;
    }
    for (size_t i = 0; i < process->window_count; i++)
        if (process->windows[i].comm >= process->comm_count)
            process->windows[i].comm = TRACE_NONE;
    for (size_t i = 0; i < process->file_count; i++)
        if (process->files[i].comm >= process->comm_count)
            process->files[i].comm = TRACE_NONE;
    return make_texts(process);
}

/* ---- Definitions from another process -------------------------------------------------------- */

static bool unpack_blocks(struct trace_definitions_reader *reader, struct trace_bytes_input *input)
{
    const struct trace_bytes_input magic = trace_bytes_take_part(input, TRACE_MAGIC_SIZE);
    if (magic.failed || memcmp(magic.at, TRACE_MAGIC, TRACE_MAGIC_SIZE) != 0)
        return false;
    while (trace_bytes_left(input)) {
        const struct trace_bytes_input bytes = trace_bytes_take_part(input, TRACE_BLOCK_SIZE);
        struct trace_block block;
        if (bytes.failed || !trace_block_read(&block, bytes.at))
            return false;
        trace_bytes_take_part(input, block.head);
        const struct trace_bytes_input body = trace_bytes_take_part(input, block.stored);
        if (input->failed || block.type != TRACE_BLOCK_DEFINITIONS ||
            block.compression != TRACE_STORED ||
            trace_block_checksum(0, body.at, trace_bytes_left(&body)) != block.stored_checksum ||
            !trace_definitions_read(reader, body.at, trace_bytes_left(&body)))
            return false;
    }
    return true;
}

bool trace_definitions_unpack(const void *bytes, size_t size, struct trace_process *process)
{
    struct trace_bytes_input input = trace_bytes_to_read(bytes, size);
    struct trace_definitions_reader *reader = calloc(1, sizeof *reader);
    *process = (struct trace_process){.rank = TRACE_UNDEFINED};
    if (!reader)
        return false;
    reader->process = process;
    reader->budget = UINT64_MAX;
    const bool is_read = unpack_blocks(reader, &input) && trace_definitions_finish(reader);
    free(reader);
    if (!is_read)
        trace_definitions_clear(process);
    return is_read;
}

void trace_definitions_clear(struct trace_process *process)
{
    char *texts[] = {process->file, process->host,  process->program,
                     process->mpi,  process->clock, process->end_detail};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        free(texts[i]);
    for (size_t i = 0; i < process->function_count; i++) {
        free(process->functions[i].name);
        free(process->functions[i].group);
    }
    for (size_t i = 0; i < process->site_count; i++)
        free(process->sites[i].frames);
    for (size_t i = 0; i < process->library_count; i++)
        free(process->libraries[i]);
    for (size_t i = 0; i < process->comm_count; i++) {
        free(process->comms[i].name);
        free(process->comms[i].group);
        free(process->comms[i].remote);
    }
    for (size_t i = 0; i < process->window_count; i++)
        free(process->windows[i].name);
    for (size_t i = 0; i < process->file_count; i++)
        free(process->files[i].name);
    for (size_t i = 0; i < process->region_count; i++)
        free(process->regions[i].name);
    for (size_t i = 0; i < process->counter_count; i++) {
        free(process->counters[i].name);
        free(process->counters[i].description);
        free(process->counters[i].unit);
    }
    for (size_t i = 0; i < process->location_count; i++)
        free(process->locations[i].name);
    free(process->points);
    free(process->functions);
    free(process->sites);
    free(process->libraries);
    free(process->comms);
    free(process->windows);
    free(process->files);
    free(process->regions);
    free(process->counters);
    free(process->locations);
    *process = (struct trace_process){0};
}
