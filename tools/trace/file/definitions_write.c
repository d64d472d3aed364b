/* SPDX-License-Identifier: MIT */
/* See definitions.h. */
#include "tools/trace/file/definitions.h"

#include "tools/trace/file/block.h"
#include "tools/trace/file/clock_line.h"
#include "tools/trace/file/event.h"

#include <stdlib.h>
#include <string.h>

/* A block of definitions ends after the definition with which it reaches this size in bytes. */
#define BLOCK_SIZE (UINT32_C(1) << 20)

/* ---- Definitions ----------------------------------------------------------------------------- */

/* Begins a definition. Returns the position at which its members begin. */
static size_t begin_typed(struct trace_bytes *out, enum trace_definition type)
{
    trace_bytes_put_varint(out, type);
    return out->size;
}

/* Inserts the size of a definition before its members. */
static void finish_definition(struct trace_bytes *out, size_t members)
{
    unsigned char size[TRACE_VARINT_MAX];
    if (out->failed)
        return;
    const size_t length = (size_t)(trace_bytes_write_varint(size, out->size - members) - size);
    if (!trace_bytes_reserve(out, length))
        return;
    memmove(out->data + members + length, out->data + members, out->size - members);
    memcpy(out->data + members, size, length);
    out->size += length;
}

static size_t begin_definition(struct trace_bytes *out, enum trace_definition type, uint32_t index)
{
    const size_t members = begin_typed(out, type);
    trace_bytes_put_varint(out, index);
    return members;
}

void trace_definitions_put_function(struct trace_bytes *out, uint32_t index,
                                    const struct trace_function *function)
{
    const size_t members = begin_definition(out, TRACE_DEFINITION_FUNCTION, index);
    trace_bytes_put_string(out, function->name);
    trace_bytes_put_string(out, function->group);
    trace_bytes_put_varint(out, function->number);
    finish_definition(out, members);
}

void trace_definitions_put_library(struct trace_bytes *out, uint32_t index, const char *path)
{
    const size_t members = begin_definition(out, TRACE_DEFINITION_LIBRARY, index);
    trace_bytes_put_string(out, path);
    finish_definition(out, members);
}

void trace_definitions_put_site(struct trace_bytes *out, uint32_t index,
                                const struct trace_site *site)
{
    const size_t members = begin_definition(out, TRACE_DEFINITION_SITE, index);
    trace_bytes_put_varint(out, site->count);
    for (size_t i = 0; i < site->count; i++) {
        trace_bytes_put_varint(out, site->frames[i].library);
        trace_bytes_put_varint(out, site->frames[i].offset);
    }
    finish_definition(out, members);
}

/* Writes ranks. Each one is stored as its difference from the previous rank + 1, which is 0 for
 * consecutive ranks. */
static void put_group(struct trace_bytes *out, const int *ranks, int size)
{
    int64_t expected = 0;
    trace_bytes_put_varint(out, ranks && size > 0 ? (uint64_t)size : 0);
    for (int i = 0; ranks && i < size; i++) {
        trace_bytes_put_signed(out, ranks[i] - expected);
        expected = (int64_t)ranks[i] + 1;
    }
}

void trace_definitions_put_comm(struct trace_bytes *out, uint32_t index,
                                const struct trace_comm *comm)
{
    const size_t members = begin_definition(out, TRACE_DEFINITION_COMM, index);
    trace_bytes_put_word(out, comm->id);
    trace_bytes_put_word(out, comm->parent);
    trace_bytes_put_string(out, comm->name);
    trace_bytes_put_signed(out, comm->rank);
    trace_bytes_put_varint(out, comm->size > 0 ? (uint64_t)comm->size : 0);
    put_group(out, comm->group, comm->size);
    trace_bytes_put_varint(out, comm->remote != NULL);
    if (comm->remote)
        put_group(out, comm->remote, comm->remote_size);
    finish_definition(out, members);
}

void trace_definitions_put_window(struct trace_bytes *out, uint32_t index,
                                  const struct trace_window *window)
{
    const size_t members = begin_definition(out, TRACE_DEFINITION_WINDOW, index);
    trace_bytes_put_string(out, window->name);
    trace_bytes_put_varint(out, window->comm);
    finish_definition(out, members);
}

void trace_definitions_put_file(struct trace_bytes *out, uint32_t index,
                                const struct trace_file *file)
{
    const size_t members = begin_definition(out, TRACE_DEFINITION_FILE, index);
    trace_bytes_put_string(out, file->name);
    trace_bytes_put_varint(out, file->comm);
    finish_definition(out, members);
}

void trace_definitions_put_region(struct trace_bytes *out, uint32_t index,
                                  const struct trace_region *region)
{
    const size_t members = begin_definition(out, TRACE_DEFINITION_REGION, index);
    trace_bytes_put_string(out, region->name);
    finish_definition(out, members);
}

void trace_definitions_put_counter(struct trace_bytes *out, uint32_t index,
                                   const struct trace_counter *counter)
{
    const size_t members = begin_definition(out, TRACE_DEFINITION_COUNTER, index);
    trace_bytes_put_string(out, counter->name);
    trace_bytes_put_string(out, counter->description);
    trace_bytes_put_string(out, counter->unit);
    trace_bytes_put_varint(out, counter->accumulates);
    finish_definition(out, members);
}

void trace_definitions_put_location(struct trace_bytes *out, uint32_t index,
                                    const struct trace_location *location)
{
    const size_t members = begin_definition(out, TRACE_DEFINITION_LOCATION, index);
    trace_bytes_put_string(out, location->name);
    trace_bytes_put_signed(out, location->thread_id);
    trace_bytes_put_varint(out, location->events);
    finish_definition(out, members);
}

void trace_definitions_put_world(struct trace_bytes *out, const uint64_t run[2], int rank,
                                 int ranks, const char *mpi)
{
    const size_t members = begin_typed(out, TRACE_DEFINITION_WORLD);
    trace_bytes_put_word(out, run[0]);
    trace_bytes_put_word(out, run[1]);
    trace_bytes_put_signed(out, rank);
    trace_bytes_put_signed(out, ranks);
    trace_bytes_put_string(out, mpi);
    finish_definition(out, members);
}

void trace_definitions_put_clock(struct trace_bytes *out, double tick,
                                 const struct trace_clock_point *points, size_t count)
{
    const size_t members = begin_typed(out, TRACE_DEFINITION_CLOCK);
    trace_bytes_put_real(out, tick);
    trace_bytes_put_varint(out, count);
    for (size_t i = 0; i < count; i++) {
        trace_bytes_put_varint(out, points[i].ticks);
        trace_bytes_put_signed(out, points[i].world);
        trace_bytes_put_varint(out, points[i].bound);
    }
    finish_definition(out, members);
}

void trace_definitions_put_end(struct trace_bytes *out, const struct trace_process *process)
{
    const size_t members = begin_typed(out, TRACE_DEFINITION_END);
    trace_bytes_put_varint(out, process->end);
    trace_bytes_put_varint(out, process->end_detail != NULL);
    trace_bytes_put_string(out, process->end_detail);
    trace_bytes_put_varint(out, process->end_ticks);
    trace_bytes_put_varint(out, process->dropped);
    trace_bytes_put_varint(out, process->memory);
    trace_bytes_put_varint(out, process->is_ring);
    trace_bytes_put_varint(out, process->unfinished);
    trace_bytes_put_varint(out, process->omits);
    finish_definition(out, members);
}

void trace_definitions_put_alive(struct trace_bytes *out, uint64_t ticks)
{
    const size_t members = begin_typed(out, TRACE_DEFINITION_ALIVE);
    trace_bytes_put_varint(out, ticks);
    finish_definition(out, members);
}

static void put_process(struct trace_bytes *out, const struct trace_process *process)
{
    const size_t members = begin_typed(out, TRACE_DEFINITION_PROCESS);
    trace_bytes_put_word(out, process->run[0]);
    trace_bytes_put_word(out, process->run[1]);
    trace_bytes_put_signed(out, process->rank);
    trace_bytes_put_signed(out, process->ranks);
    trace_bytes_put_signed(out, process->tool_id);
    trace_bytes_put_string(out, process->host);
    trace_bytes_put_string(out, process->program);
    trace_bytes_put_string(out, process->mpi);
    trace_bytes_put_string(out, process->clock);
    trace_bytes_put_signed(out, process->pid);
    trace_bytes_put_signed(out, process->started);
    trace_bytes_put_varint(out, process->start_ticks);
    trace_bytes_put_real(out, process->tick);
    trace_bytes_put_string(out, process->file);
    trace_bytes_put_varint(out, process->is_ring);
    trace_bytes_put_varint(out, process->omits);
    trace_bytes_put_word(out, process->clock_number);
    finish_definition(out, members);
}

static void put_kinds(struct trace_bytes *out)
{
    const size_t members = begin_typed(out, TRACE_DEFINITION_KINDS);
    trace_bytes_put_varint(out, TRACE_KINDS);
    for (int kind = 0; kind < TRACE_KINDS; kind++)
        trace_bytes_put_varint(out, trace_event_fields[kind]);
    finish_definition(out, members);
}

/* ---- Blocks ---------------------------------------------------------------------------------- */

/* Returns the size of the definition at `at`, including its type and the size of its members. */
static size_t definition_size(const unsigned char *at, const unsigned char *end)
{
    struct trace_bytes_input input = {at, end, false};
    trace_bytes_take_varint(&input);
    trace_bytes_take_part(&input, trace_bytes_take_varint(&input));
    return (size_t)(input.at - at);
}

static void put_blocks(struct trace_bytes *out, struct trace_bytes *definitions, bool compress)
{
    const struct trace_bytes head = {0};
    for (size_t at = 0; !definitions->failed && at < definitions->size;) {
        struct trace_bytes body = {.data = definitions->data + at};
        do
            body.size +=
                definition_size(body.data + body.size, definitions->data + definitions->size);
        while (body.size < BLOCK_SIZE && at + body.size < definitions->size);
        trace_block_put(out, TRACE_BLOCK_DEFINITIONS, compress, &head, &body);
        at += body.size;
    }
    if (definitions->failed)
        out->failed = true;
    definitions->size = 0;
    definitions->failed = false;
}

void trace_definitions_put_block(struct trace_bytes *out, struct trace_bytes *definitions)
{
    put_blocks(out, definitions, definitions->size > 256);
}

void trace_definitions_put_header(struct trace_bytes *out, const struct trace_process *process)
{
    struct trace_bytes definitions = {0};
    trace_bytes_put(out, TRACE_MAGIC, TRACE_MAGIC_SIZE);
    put_process(&definitions, process);
    put_kinds(&definitions);
    put_blocks(out, &definitions, false);
    trace_bytes_free(&definitions);
}

/* ---- Definitions for another process --------------------------------------------------------- */

static void put_tables(struct trace_bytes *out, const struct trace_process *process)
{
    for (uint32_t i = 0; i < process->function_count; i++)
        trace_definitions_put_function(out, i, &process->functions[i]);
    for (uint32_t i = 0; i < process->library_count; i++)
        trace_definitions_put_library(out, i, process->libraries[i]);
    for (uint32_t i = 0; i < process->site_count; i++)
        trace_definitions_put_site(out, i, &process->sites[i]);
    for (uint32_t i = 0; i < process->comm_count; i++)
        trace_definitions_put_comm(out, i, &process->comms[i]);
    for (uint32_t i = 0; i < process->window_count; i++)
        trace_definitions_put_window(out, i, &process->windows[i]);
    for (uint32_t i = 0; i < process->file_count; i++)
        trace_definitions_put_file(out, i, &process->files[i]);
    for (uint32_t i = 0; i < process->region_count; i++)
        trace_definitions_put_region(out, i, &process->regions[i]);
    for (uint32_t i = 0; i < process->counter_count; i++)
        trace_definitions_put_counter(out, i, &process->counters[i]);
    for (uint32_t i = 0; i < process->location_count; i++)
        trace_definitions_put_location(out, i, &process->locations[i]);
    trace_definitions_put_clock(out, process->tick, process->points, process->point_count);
    trace_definitions_put_end(out, process);
}

bool trace_definitions_pack(const struct trace_process *process, struct trace_bytes *bytes)
{
    struct trace_bytes definitions = {0};
    trace_definitions_put_header(bytes, process);
    put_tables(&definitions, process);
    put_blocks(bytes, &definitions, false);
    trace_bytes_free(&definitions);
    return !bytes->failed;
}
