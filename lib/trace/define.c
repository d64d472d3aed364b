/* SPDX-License-Identifier: MIT */
/* See encode.h and records.h: writes definitions. */
#include "trace/block.h"
#include "trace/bytes.h"
#include "trace/definitions.h"
#include "trace/encode.h"
#include "trace/kinds.h"
#include "trace/records.h"

/* Blocks of definitions are not much larger. */
#define BLOCK_SIZE (UINT32_C(1) << 20)

/* ---- Records --------------------------------------------------------------------------------- */

/* Begins a record: returns where its members begin. */
static size_t begin(struct trace_bytes *out, enum trace_record type)
{
    trace_put_varint(out, type);
    return out->size;
}

/* Inserts the size of a record before its members. */
static void finish(struct trace_bytes *out, size_t members)
{
    unsigned char size[TRACE_VARINT_MAX];
    if (out->failed)
        return;
    const size_t length = (size_t)(trace_write_varint(size, out->size - members) - size);
    if (!trace_bytes_reserve(out, length))
        return;
    memmove(out->data + members + length, out->data + members, out->size - members);
    memcpy(out->data + members, size, length);
    out->size += length;
}

static size_t begin_definition(struct trace_bytes *out, enum trace_record type, uint32_t index)
{
    const size_t members = begin(out, type);
    trace_put_varint(out, index);
    return members;
}

void trace_put_function(struct trace_bytes *out, uint32_t index,
                        const struct trace_function *function)
{
    const size_t members = begin_definition(out, TRACE_RECORD_FUNCTION, index);
    trace_put_string(out, function->name);
    trace_put_string(out, function->group);
    trace_put_varint(out, function->number);
    finish(out, members);
}

void trace_put_library(struct trace_bytes *out, uint32_t index, const char *path)
{
    const size_t members = begin_definition(out, TRACE_RECORD_LIBRARY, index);
    trace_put_string(out, path);
    finish(out, members);
}

void trace_put_site(struct trace_bytes *out, uint32_t index, const struct trace_site *site)
{
    const size_t members = begin_definition(out, TRACE_RECORD_SITE, index);
    trace_put_varint(out, site->count);
    for (size_t i = 0; i < site->count; i++) {
        trace_put_varint(out, site->frames[i].library);
        trace_put_varint(out, site->frames[i].offset);
    }
    finish(out, members);
}

/* Each rank as the difference from the next of the one before. */
static void put_group(struct trace_bytes *out, const int *ranks, int size)
{
    int64_t expected = 0;
    trace_put_varint(out, ranks && size > 0 ? (uint64_t)size : 0);
    for (int i = 0; ranks && i < size; i++) {
        trace_put_signed(out, ranks[i] - expected);
        expected = (int64_t)ranks[i] + 1;
    }
}

void trace_put_comm(struct trace_bytes *out, uint32_t index, const struct trace_comm *comm)
{
    const size_t members = begin_definition(out, TRACE_RECORD_COMM, index);
    trace_put_word(out, comm->id);
    trace_put_word(out, comm->parent);
    trace_put_string(out, comm->name);
    trace_put_signed(out, comm->rank);
    trace_put_varint(out, comm->size > 0 ? (uint64_t)comm->size : 0);
    put_group(out, comm->group, comm->size);
    trace_put_varint(out, comm->remote != NULL);
    if (comm->remote)
        put_group(out, comm->remote, comm->remote_size);
    finish(out, members);
}

void trace_put_window(struct trace_bytes *out, uint32_t index, const struct trace_window *window)
{
    const size_t members = begin_definition(out, TRACE_RECORD_WINDOW, index);
    trace_put_string(out, window->name);
    trace_put_varint(out, window->comm);
    finish(out, members);
}

void trace_put_file(struct trace_bytes *out, uint32_t index, const struct trace_file *file)
{
    const size_t members = begin_definition(out, TRACE_RECORD_FILE, index);
    trace_put_string(out, file->name);
    trace_put_varint(out, file->comm);
    finish(out, members);
}

void trace_put_region(struct trace_bytes *out, uint32_t index, const struct trace_region *region)
{
    const size_t members = begin_definition(out, TRACE_RECORD_REGION, index);
    trace_put_string(out, region->name);
    finish(out, members);
}

void trace_put_counter(struct trace_bytes *out, uint32_t index, const struct trace_counter *counter)
{
    const size_t members = begin_definition(out, TRACE_RECORD_COUNTER, index);
    trace_put_string(out, counter->name);
    trace_put_string(out, counter->description);
    trace_put_string(out, counter->unit);
    trace_put_varint(out, counter->accumulates);
    finish(out, members);
}

void trace_put_location(struct trace_bytes *out, uint32_t index,
                        const struct trace_location *location)
{
    const size_t members = begin_definition(out, TRACE_RECORD_LOCATION, index);
    trace_put_string(out, location->name);
    trace_put_signed(out, location->thread_id);
    trace_put_varint(out, location->events);
    finish(out, members);
}

void trace_put_world(struct trace_bytes *out, const uint64_t run[2], int rank, int ranks,
                     const char *mpi)
{
    const size_t members = begin(out, TRACE_RECORD_WORLD);
    trace_put_word(out, run[0]);
    trace_put_word(out, run[1]);
    trace_put_signed(out, rank);
    trace_put_signed(out, ranks);
    trace_put_string(out, mpi);
    finish(out, members);
}

void trace_put_clock(struct trace_bytes *out, double tick, const struct trace_clock_point *points,
                     size_t count)
{
    const size_t members = begin(out, TRACE_RECORD_CLOCK);
    trace_put_real(out, tick);
    trace_put_varint(out, count);
    for (size_t i = 0; i < count; i++) {
        trace_put_varint(out, points[i].ticks);
        trace_put_signed(out, points[i].world);
        trace_put_varint(out, points[i].bound);
    }
    finish(out, members);
}

void trace_put_end(struct trace_bytes *out, const struct trace_process *process)
{
    const size_t members = begin(out, TRACE_RECORD_END);
    trace_put_varint(out, process->end);
    trace_put_varint(out, process->end_detail != NULL);
    trace_put_string(out, process->end_detail);
    trace_put_varint(out, process->end_ticks);
    trace_put_varint(out, process->dropped);
    trace_put_varint(out, process->memory);
    trace_put_varint(out, process->is_ring);
    trace_put_varint(out, process->unfinished);
    trace_put_varint(out, process->omits);
    finish(out, members);
}

void trace_put_alive(struct trace_bytes *out, uint64_t ticks)
{
    const size_t members = begin(out, TRACE_RECORD_ALIVE);
    trace_put_varint(out, ticks);
    finish(out, members);
}

static void put_process(struct trace_bytes *out, const struct trace_process *process)
{
    const size_t members = begin(out, TRACE_RECORD_PROCESS);
    trace_put_word(out, process->run[0]);
    trace_put_word(out, process->run[1]);
    trace_put_signed(out, process->rank);
    trace_put_signed(out, process->ranks);
    trace_put_signed(out, process->tool_id);
    trace_put_string(out, process->host);
    trace_put_string(out, process->program);
    trace_put_string(out, process->mpi);
    trace_put_string(out, process->clock);
    trace_put_signed(out, process->pid);
    trace_put_signed(out, process->started);
    trace_put_varint(out, process->start_ticks);
    trace_put_real(out, process->tick);
    trace_put_string(out, process->file);
    trace_put_varint(out, process->is_ring);
    finish(out, members);
}

static void put_kinds(struct trace_bytes *out)
{
    const size_t members = begin(out, TRACE_RECORD_KINDS);
    trace_put_varint(out, TRACE_KINDS);
    for (int kind = 0; kind < TRACE_KINDS; kind++)
        trace_put_varint(out, trace_kind_fields[kind]);
    finish(out, members);
}

/* ---- Blocks ---------------------------------------------------------------------------------- */

/* The size of a whole record. */
static size_t record_size(const unsigned char *at, const unsigned char *end)
{
    struct trace_input input = {at, end, false};
    trace_take_varint(&input);
    trace_take_part(&input, trace_take_varint(&input));
    return (size_t)(input.at - at);
}

void trace_put_records(struct trace_bytes *out, struct trace_bytes *records, bool compress)
{
    const struct trace_bytes head = {0};
    for (size_t at = 0; !records->failed && at < records->size;) {
        struct trace_bytes body = {.data = records->data + at};
        do
            body.size += record_size(body.data + body.size, records->data + records->size);
        while (body.size < BLOCK_SIZE && at + body.size < records->size);
        trace_put_block(out, TRACE_BLOCK_DEFINITIONS, compress, &head, &body);
        at += body.size;
    }
    if (records->failed)
        out->failed = true;
    records->size = 0;
    records->failed = false;
}

void trace_put_definitions(struct trace_bytes *out, struct trace_bytes *records)
{
    trace_put_records(out, records, records->size > 256);
}

void trace_put_first_records(struct trace_bytes *out, const struct trace_process *process,
                             bool compress)
{
    struct trace_bytes records = {0};
    trace_put_bytes(out, TRACE_MAGIC, TRACE_MAGIC_SIZE);
    put_process(&records, process);
    put_kinds(&records);
    trace_put_records(out, &records, compress);
    trace_bytes_free(&records);
}

void trace_put_header(struct trace_bytes *out, const struct trace_process *process)
{
    trace_put_first_records(out, process, false);
}
