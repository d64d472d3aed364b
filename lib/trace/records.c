/* SPDX-License-Identifier: MIT */
/* See records.h: reads definitions. Each allocation is charged to the budget, so that a small file
 * cannot take much memory. */
#define _GNU_SOURCE
#include "trace/records.h"

#include "trace/kinds.h"

#include <limits.h>
#include <stdlib.h>

/* Indices are given one after the other: by how much one may be larger than there are records. */
#define INDEX_MAX(seen) (2 * (seen) + 4096)

static bool charge(struct trace_definitions *definitions, uint64_t size)
{
    if (size > definitions->budget) {
        definitions->is_exhausted = true;
        return false;
    }
    definitions->budget -= size;
    return true;
}

/*
 * Makes an element `index` in the table `*array`, and returns it; NULL: not possible. Elements
 * between are 0.
 */
static void *element(struct trace_definitions *definitions, void *array, size_t *count,
                     size_t *room, size_t size, uint64_t index)
{
    void *elements;
    memcpy(&elements, array, sizeof elements);
    if (index > INDEX_MAX(definitions->seen))
        return NULL;
    if (index >= *room) {
        size_t wanted = *room ? 2 * *room : 4;
        if (wanted <= index)
            wanted = (size_t)index + 1;
        if (!charge(definitions, (wanted - *room) * size))
            return NULL;
        elements = realloc(elements, wanted * size);
        if (!elements) {
            definitions->is_exhausted = true;
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
    element(definitions, &definitions->process->name##s, &definitions->process->name##_count,      \
            &definitions->name##_room, sizeof *definitions->process->name##s, index)

/* ---- Parts ----------------------------------------------------------------------------------- */

/* Replaces a string. */
static void take_text(struct trace_definitions *definitions, struct trace_input *input, char **text)
{
    struct trace_input length = *input;
    if (!charge(definitions, trace_take_varint(&length) <= trace_input_left(&length)
                                 ? trace_input_left(&length) - trace_input_left(input) + 32
                                 : 0)) {
        input->failed = true;
        return;
    }
    char *taken = trace_take_string(input);
    if (!taken)
        definitions->is_exhausted = true;
    free(*text);
    *text = taken;
}

static int *take_group(struct trace_definitions *definitions, struct trace_input *input, int *size)
{
    const uint64_t count = trace_take_limited(input, trace_input_left(input));
    if (!count || input->failed)
        return NULL;
    int *ranks = charge(definitions, count * sizeof *ranks) ? malloc(count * sizeof *ranks) : NULL;
    int64_t expected = 0;
    if (!ranks) {
        definitions->is_exhausted = true;
        return NULL;
    }
    for (uint64_t i = 0; i < count; i++) {
        const int64_t rank = (int64_t)((uint64_t)expected + (uint64_t)trace_take_signed(input));
        ranks[i] = rank >= 0 && rank < INT_MAX ? (int)rank : TRACE_UNDEFINED;
        expected = (int64_t)ranks[i] + 1;
    }
    *size = (int)count;
    return ranks;
}

/* ---- Records --------------------------------------------------------------------------------- */

static bool take_process(struct trace_definitions *definitions, struct trace_input *input)
{
    struct trace_process *process = definitions->process;
    process->run[0] = trace_take_word(input);
    process->run[1] = trace_take_word(input);
    process->rank = trace_take_int(input);
    process->ranks = trace_take_int(input);
    process->tool_id = trace_take_int(input);
    take_text(definitions, input, &process->host);
    take_text(definitions, input, &process->program);
    take_text(definitions, input, &process->mpi);
    take_text(definitions, input, &process->clock);
    process->pid = trace_take_signed(input);
    process->started = trace_take_signed(input);
    process->start_ticks = trace_take_varint(input);
    process->tick = trace_take_real(input);
    take_text(definitions, input, &process->file);
    process->is_ring = trace_take_varint(input) != 0;
    return !input->failed;
}

static bool take_kinds(struct trace_definitions *definitions, struct trace_input *input)
{
    const uint64_t count = trace_take_limited(input, TRACE_KINDS_MAX);
    for (uint64_t kind = 0; kind < count; kind++)
        definitions->fields[kind] = (uint32_t)trace_take_limited(input, UINT32_MAX);
    return !input->failed;
}

static bool take_function(struct trace_definitions *definitions, struct trace_input *input)
{
    struct trace_function *function = ELEMENT(function, trace_take_varint(input));
    if (!function)
        return false;
    take_text(definitions, input, &function->name);
    take_text(definitions, input, &function->group);
    function->number = (uint32_t)trace_take_limited(input, UINT32_MAX);
    return !input->failed;
}

static bool take_library(struct trace_definitions *definitions, struct trace_input *input)
{
    struct trace_process *process = definitions->process;
    char **library = element(definitions, &process->libraries, &process->library_count,
                             &definitions->library_room, sizeof *library, trace_take_varint(input));
    if (!library)
        return false;
    take_text(definitions, input, library);
    return !input->failed;
}

static bool take_site(struct trace_definitions *definitions, struct trace_input *input)
{
    struct trace_site *site = ELEMENT(site, trace_take_varint(input));
    const uint64_t count = trace_take_limited(input, trace_input_left(input) / 2);
    if (!site || input->failed)
        return false;
    free(site->frames);
    *site = (struct trace_site){0};
    if (!count)
        return true;
    if (!charge(definitions, count * sizeof *site->frames))
        return false;
    site->frames = calloc(count, sizeof *site->frames);
    if (!site->frames)
        return false;
    for (; site->count < count; site->count++) {
        site->frames[site->count].library = (uint32_t)trace_take_limited(input, UINT32_MAX);
        site->frames[site->count].offset = trace_take_varint(input);
    }
    return !input->failed;
}

static bool take_comm(struct trace_definitions *definitions, struct trace_input *input)
{
    struct trace_comm *comm = ELEMENT(comm, trace_take_varint(input));
    if (!comm)
        return false;
    free(comm->group);
    free(comm->remote);
    comm->group = comm->remote = NULL;
    comm->remote_size = 0;
    comm->id = trace_take_word(input);
    comm->parent = trace_take_word(input);
    take_text(definitions, input, &comm->name);
    comm->rank = trace_take_int(input);
    comm->size = (int)trace_take_limited(input, INT_MAX);
    int members = comm->size;
    comm->group = take_group(definitions, input, &members);
    if (comm->group && members != comm->size) {
        free(comm->group);
        comm->group = NULL;
        return false;
    }
    if (trace_take_varint(input))
        comm->remote = take_group(definitions, input, &comm->remote_size);
    return !input->failed;
}

static bool take_window(struct trace_definitions *definitions, struct trace_input *input)
{
    struct trace_window *window = ELEMENT(window, trace_take_varint(input));
    if (!window)
        return false;
    take_text(definitions, input, &window->name);
    window->comm = (uint32_t)trace_take_limited(input, UINT32_MAX);
    return !input->failed;
}

static bool take_file(struct trace_definitions *definitions, struct trace_input *input)
{
    struct trace_file *file = ELEMENT(file, trace_take_varint(input));
    if (!file)
        return false;
    take_text(definitions, input, &file->name);
    file->comm = (uint32_t)trace_take_limited(input, UINT32_MAX);
    return !input->failed;
}

static bool take_region(struct trace_definitions *definitions, struct trace_input *input)
{
    struct trace_region *region = ELEMENT(region, trace_take_varint(input));
    if (!region)
        return false;
    take_text(definitions, input, &region->name);
    return !input->failed;
}

static bool take_counter(struct trace_definitions *definitions, struct trace_input *input)
{
    struct trace_counter *counter = ELEMENT(counter, trace_take_varint(input));
    if (!counter)
        return false;
    take_text(definitions, input, &counter->name);
    take_text(definitions, input, &counter->description);
    take_text(definitions, input, &counter->unit);
    counter->accumulates = trace_take_varint(input) != 0;
    return !input->failed;
}

bool trace_definitions_add_location(struct trace_definitions *definitions, uint32_t index)
{
    definitions->seen++;
    return ELEMENT(location, index) != NULL;
}

bool trace_definitions_add_function(struct trace_definitions *definitions, const char *name)
{
    definitions->seen++;
    struct trace_function *function = ELEMENT(function, definitions->process->function_count);
    if (function)
        function->name = strdup(name);
    return function && function->name;
}

static bool take_location(struct trace_definitions *definitions, struct trace_input *input)
{
    struct trace_location *location = ELEMENT(location, trace_take_varint(input));
    if (!location)
        return false;
    take_text(definitions, input, &location->name);
    location->thread_id = trace_take_signed(input);
    location->events = trace_take_varint(input);
    return !input->failed;
}

static bool take_world(struct trace_definitions *definitions, struct trace_input *input)
{
    struct trace_process *process = definitions->process;
    process->run[0] = trace_take_word(input);
    process->run[1] = trace_take_word(input);
    process->rank = trace_take_int(input);
    process->ranks = trace_take_int(input);
    take_text(definitions, input, &process->mpi);
    return !input->failed;
}

static bool take_clock(struct trace_definitions *definitions, struct trace_input *input)
{
    struct trace_process *process = definitions->process;
    process->tick = trace_take_real(input);
    const uint64_t count = trace_take_limited(input, trace_input_left(input) / 3);
    free(process->points);
    process->points = NULL;
    process->point_count = 0;
    if (!count || input->failed)
        return !input->failed;
    if (!charge(definitions, count * sizeof *process->points))
        return false;
    process->points = calloc(count, sizeof *process->points);
    if (!process->points)
        return false;
    for (uint64_t i = 0; i < count; i++) {
        struct trace_clock_point *point = &process->points[process->point_count++];
        point->ticks = trace_take_varint(input);
        point->world = trace_take_signed(input);
        point->bound = trace_take_varint(input);
    }
    return !input->failed;
}

static bool take_end(struct trace_definitions *definitions, struct trace_input *input)
{
    struct trace_process *process = definitions->process;
    process->end = (enum trace_end)trace_take_limited(input, TRACE_END_SIGNAL);
    const bool has_detail = trace_take_varint(input) != 0;
    take_text(definitions, input, &process->end_detail);
    if (!has_detail) {
        free(process->end_detail);
        process->end_detail = NULL;
    }
    process->end_ticks = trace_take_varint(input);
    process->dropped = trace_take_varint(input);
    process->memory = trace_take_varint(input);
    process->is_ring = trace_take_varint(input) != 0;
    process->unfinished = trace_take_varint(input);
    process->omits = trace_input_left(input) ? (unsigned)trace_take_varint(input) : 0;
    return !input->failed;
}

/* If nothing tells the end of the process, it is not earlier. */
static bool take_alive(struct trace_definitions *definitions, struct trace_input *input)
{
    struct trace_process *process = definitions->process;
    const uint64_t ticks = trace_take_varint(input);
    if (process->end == TRACE_END_NONE && ticks > process->end_ticks)
        process->end_ticks = ticks;
    return !input->failed;
}

static bool (*const takers[])(struct trace_definitions *, struct trace_input *) = {
    [TRACE_RECORD_PROCESS] = take_process,   [TRACE_RECORD_KINDS] = take_kinds,
    [TRACE_RECORD_FUNCTION] = take_function, [TRACE_RECORD_LIBRARY] = take_library,
    [TRACE_RECORD_SITE] = take_site,         [TRACE_RECORD_COMM] = take_comm,
    [TRACE_RECORD_WINDOW] = take_window,     [TRACE_RECORD_FILE] = take_file,
    [TRACE_RECORD_REGION] = take_region,     [TRACE_RECORD_COUNTER] = take_counter,
    [TRACE_RECORD_LOCATION] = take_location, [TRACE_RECORD_WORLD] = take_world,
    [TRACE_RECORD_CLOCK] = take_clock,       [TRACE_RECORD_END] = take_end,
    [TRACE_RECORD_ALIVE] = take_alive,
};

bool trace_definitions_read(struct trace_definitions *definitions, const void *records, size_t size)
{
    struct trace_input input = trace_input_of(records, size);
    while (trace_input_left(&input) && !definitions->is_exhausted) {
        const uint64_t type = trace_take_varint(&input);
        struct trace_input record = trace_take_part(&input, trace_take_varint(&input));
        if (input.failed)
            return false;
        definitions->seen++;
        if (type < sizeof takers / sizeof *takers && takers[type] &&
            !takers[type](definitions, &record))
            return false;
    }
    return !definitions->is_exhausted;
}
