/* SPDX-License-Identifier: MIT */
/* See part.h. The bytes are for the same program on machines of one kind: they are memory as it is.
 */
#include "trace/otf2/part.h"

#include "trace/reader.h"

#include <stdlib.h>
#include <string.h>

bool archive_part_prepare(struct archive_part *part)
{
    const struct trace_process *process = part->process;
    part->events = calloc(archive_thread_count(part), sizeof *part->events);
    part->comm_events = calloc(process ? process->comm_count + 1 : 1, 1);
    part->window_events = calloc(process ? process->window_count + 1 : 1, 1);
    return part->events && part->comm_events && part->window_events;
}

void archive_part_clear(struct archive_part *part)
{
    free(part->events);
    free(part->comm_events);
    free(part->window_events);
    *part = (struct archive_part){0};
}

/* ---- Intercommunicators ---------------------------------------------------------------------- */

/* Processes whose ranks are not known come last. */
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

int archive_remote_shift(const struct trace_comm *comm)
{
    return comm->remote && is_local_first(comm) ? comm->size : 0;
}

int archive_local_shift(const struct trace_comm *comm)
{
    return comm->remote && !is_local_first(comm) ? comm->remote_size : 0;
}

/* ---- Tables ---------------------------------------------------------------------------------- */

void archive_tables_clear(struct archive_tables *tables)
{
    for (int i = 0; i < ARCHIVE_TABLES; i++)
        free(tables->all[i]);
    *tables = (struct archive_tables){0};
}

/* ---- Bytes ----------------------------------------------------------------------------------- */

static void put(struct trace_bytes *bytes, const void *data, size_t size)
{
    if (bytes->failed || !size)
        return;
    if (bytes->size + size > bytes->room) {
        const size_t room = 2 * bytes->room + size;
        unsigned char *grown = realloc(bytes->data, room);
        if (!grown) {
            bytes->failed = true;
            return;
        }
        bytes->data = grown;
        bytes->room = room;
    }
    memcpy(bytes->data + bytes->size, data, size);
    bytes->size += size;
}

struct source {
    const unsigned char *next;
    size_t left;
};

static bool get(struct source *source, void *data, size_t size)
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

struct head {
    bool has_process;
    uint64_t location;
    int64_t base, end, started;
    uint64_t bound;
    size_t definitions; /* bytes */
};

bool archive_part_pack(const struct archive_part *part, struct trace_bytes *bytes)
{
    const struct trace_process *process = part->process;
    struct trace_bytes definitions = {0};
    bool good = !process || trace_process_pack(process, &definitions);
    struct head head;
    memset(&head, 0, sizeof head); /* with the padding */
    head.has_process = process;
    head.location = part->location;
    head.base = part->base;
    head.end = part->end;
    head.started = part->started;
    head.bound = part->bound;
    head.definitions = definitions.size;
    put(bytes, &head, sizeof head);
    put(bytes, definitions.data, definitions.size);
    put(bytes, part->events, archive_thread_count(part) * sizeof *part->events);
    put(bytes, part->comm_events, process ? process->comm_count : 0);
    put(bytes, part->window_events, process ? process->window_count : 0);
    good = good && !bytes->failed;
    trace_bytes_free(&definitions);
    return good;
}

bool archive_part_unpack(const void *bytes, size_t size, struct archive_part *part,
                         struct trace_process *process)
{
    struct source source = {bytes, size};
    struct head head;
    *part = (struct archive_part){0};
    if (!get(&source, &head, sizeof head) || head.definitions > source.left)
        return false;
    *part = (struct archive_part){.location = head.location,
                                  .base = head.base,
                                  .end = head.end,
                                  .started = head.started,
                                  .bound = head.bound};
    if (head.has_process) {
        if (!trace_process_unpack(source.next, head.definitions, process))
            return false;
        part->process = process;
    }
    source.next += head.definitions;
    source.left -= head.definitions;
    return archive_part_prepare(part) &&
           get(&source, part->events, archive_thread_count(part) * sizeof *part->events) &&
           get(&source, part->comm_events, part->process ? process->comm_count : 0) &&
           get(&source, part->window_events, part->process ? process->window_count : 0);
}

/* ---- Tables ---------------------------------------------------------------------------------- */

bool archive_tables_pack(const struct archive_tables *tables, struct trace_bytes *bytes)
{
    put(bytes, &tables->bound, sizeof tables->bound);
    put(bytes, &tables->length, sizeof tables->length);
    for (int i = 0; i < ARCHIVE_TABLES; i++) {
        put(bytes, &tables->count[i], sizeof tables->count[i]);
        put(bytes, tables->all[i], tables->count[i] * sizeof *tables->all[i]);
    }
    return !bytes->failed;
}

bool archive_tables_unpack(const void *bytes, size_t size, struct archive_tables *tables)
{
    struct source source = {bytes, size};
    *tables = (struct archive_tables){0};
    bool good = get(&source, &tables->bound, sizeof tables->bound) &&
                get(&source, &tables->length, sizeof tables->length);
    for (int i = 0; i < ARCHIVE_TABLES && good; i++) {
        size_t count;
        good = get(&source, &count, sizeof count) && count <= source.left / sizeof(uint32_t);
        if (!good)
            break;
        tables->all[i] = calloc(count + 1, sizeof(uint32_t));
        tables->count[i] = tables->all[i] ? count : 0;
        good = tables->all[i] && get(&source, tables->all[i], count * sizeof(uint32_t));
    }
    return good;
}
