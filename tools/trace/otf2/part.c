/* SPDX-License-Identifier: MIT */
/* See part.h. Packed parts and tables contain copies of memory, so they can only be exchanged
 * between equal programs on machines of the same kind. */
#include "tools/trace/otf2/part.h"

#include "tools/trace/file/definitions.h"

#include <stdlib.h>
#include <string.h>

bool trace_part_prepare(struct trace_part *part)
{
    const struct trace_process *process = part->process;
    part->events = calloc(trace_part_thread_count(part), sizeof *part->events);
    part->comm_events = calloc(process ? process->comm_count + 1 : 1, 1);
    part->window_events = calloc(process ? process->window_count + 1 : 1, 1);
    return part->events && part->comm_events && part->window_events;
}

void trace_part_clear(struct trace_part *part)
{
    free(part->events);
    free(part->comm_events);
    free(part->window_events);
    *part = (struct trace_part){0};
}

/* ---- Intercommunicators ---------------------------------------------------------------------- */

/* Returns the lowest rank of a group. Processes whose ranks are unknown come last. */
static unsigned lowest_rank(const int *group, int size)
{
    unsigned lowest = UINT32_MAX;
    for (int i = 0; group && i < size; i++) {
        if ((unsigned)group[i] < lowest)
            lowest = (unsigned)group[i];
    }
    return lowest;
}

static bool is_local_first(const struct trace_comm *comm)
{
    return lowest_rank(comm->group, comm->size) <= lowest_rank(comm->remote, comm->remote_size);
}

int trace_part_remote_shift(const struct trace_comm *comm)
{
    return comm->remote && is_local_first(comm) ? comm->size : 0;
}

int trace_part_local_shift(const struct trace_comm *comm)
{
    return comm->remote && !is_local_first(comm) ? comm->remote_size : 0;
}

/* ---- Tables ---------------------------------------------------------------------------------- */

void trace_part_clear_tables(struct trace_part_tables *tables)
{
    for (int i = 0; i < ARCHIVE_TABLES; i++)
        free(tables->all[i]);
    *tables = (struct trace_part_tables){0};
}

/* ---- Bytes ----------------------------------------------------------------------------------- */

struct memory {
    const unsigned char *next;
    size_t left;
};

static bool take_memory(struct memory *source, void *data, size_t size)
{
    if (size > source->left)
        return false;
    if (size)
        memcpy(data, source->next, size);
    source->next += size;
    source->left -= size;
    return true;
}

/* ---- A part ---------------------------------------------------------------------------------- */

struct part_head {
    bool has_process;
    uint64_t location;
    int64_t base, end, started;
    uint64_t bound;
    size_t definitions; /* size of the definitions in bytes */
};

bool trace_part_pack(const struct trace_part *part, struct trace_bytes *bytes)
{
    const struct trace_process *process = part->process;
    struct trace_bytes definitions = {0};
    bool good = !process || trace_definitions_pack(process, &definitions);
    struct part_head head;
    memset(&head, 0, sizeof head); /* memset also clears the padding */
    head.has_process = process;
    head.location = part->location;
    head.base = part->base;
    head.end = part->end;
    head.started = part->started;
    head.bound = part->bound;
    head.definitions = definitions.size;
    trace_bytes_put(bytes, &head, sizeof head);
    trace_bytes_put(bytes, definitions.data, definitions.size);
    trace_bytes_put(bytes, part->events, trace_part_thread_count(part) * sizeof *part->events);
    trace_bytes_put(bytes, part->comm_events, process ? process->comm_count : 0);
    trace_bytes_put(bytes, part->window_events, process ? process->window_count : 0);
    good = good && !bytes->failed;
    trace_bytes_free(&definitions);
    return good;
}

bool trace_part_unpack(const void *bytes, size_t size, struct trace_part *part,
                       struct trace_process *process)
{
    struct memory source = {bytes, size};
    struct part_head head;
    *part = (struct trace_part){0};
    if (!take_memory(&source, &head, sizeof head) || head.definitions > source.left)
        return false;
    *part = (struct trace_part){.location = head.location,
                                .base = head.base,
                                .end = head.end,
                                .started = head.started,
                                .bound = head.bound};
    if (head.has_process) {
        if (!trace_definitions_unpack(source.next, head.definitions, process))
            return false;
        part->process = process;
    }
    source.next += head.definitions;
    source.left -= head.definitions;
    return trace_part_prepare(part) &&
           take_memory(&source, part->events,
                       trace_part_thread_count(part) * sizeof *part->events) &&
           take_memory(&source, part->comm_events, part->process ? process->comm_count : 0) &&
           take_memory(&source, part->window_events, part->process ? process->window_count : 0);
}

/* ---- Tables ---------------------------------------------------------------------------------- */

bool trace_part_pack_tables(const struct trace_part_tables *tables, struct trace_bytes *bytes)
{
    trace_bytes_put(bytes, &tables->bound, sizeof tables->bound);
    trace_bytes_put(bytes, &tables->length, sizeof tables->length);
    for (int i = 0; i < ARCHIVE_TABLES; i++) {
        trace_bytes_put(bytes, &tables->count[i], sizeof tables->count[i]);
        trace_bytes_put(bytes, tables->all[i], tables->count[i] * sizeof *tables->all[i]);
    }
    return !bytes->failed;
}

bool trace_part_unpack_tables(const void *bytes, size_t size, struct trace_part_tables *tables)
{
    struct memory source = {bytes, size};
    *tables = (struct trace_part_tables){0};
    bool good = take_memory(&source, &tables->bound, sizeof tables->bound) &&
                take_memory(&source, &tables->length, sizeof tables->length);
    for (int i = 0; i < ARCHIVE_TABLES && good; i++) {
        size_t count;
        good =
            take_memory(&source, &count, sizeof count) && count <= source.left / sizeof(uint32_t);
        if (!good)
            break;
        tables->all[i] = calloc(count + 1, sizeof(uint32_t));
        tables->count[i] = tables->all[i] ? count : 0;
        good = tables->all[i] && take_memory(&source, tables->all[i], count * sizeof(uint32_t));
    }
    return good;
}
