/* SPDX-License-Identifier: MIT */
/* See reader.h: the definitions of a process as bytes, and back. They are what a file would contain
 * without events, and not compressed, so that the other side needs no library. */
#include "trace/block.h"
#include "trace/bytes.h"
#include "trace/checksum.h"
#include "trace/compression.h"
#include "trace/encode.h"
#include "trace/reader.h"
#include "trace/records.h"

#include <stdlib.h>

static void put_tables(struct trace_bytes *out, const struct trace_process *process)
{
    for (uint32_t i = 0; i < process->function_count; i++)
        trace_put_function(out, i, &process->functions[i]);
    for (uint32_t i = 0; i < process->library_count; i++)
        trace_put_library(out, i, process->libraries[i]);
    for (uint32_t i = 0; i < process->site_count; i++)
        trace_put_site(out, i, &process->sites[i]);
    for (uint32_t i = 0; i < process->comm_count; i++)
        trace_put_comm(out, i, &process->comms[i]);
    for (uint32_t i = 0; i < process->window_count; i++)
        trace_put_window(out, i, &process->windows[i]);
    for (uint32_t i = 0; i < process->file_count; i++)
        trace_put_file(out, i, &process->files[i]);
    for (uint32_t i = 0; i < process->region_count; i++)
        trace_put_region(out, i, &process->regions[i]);
    for (uint32_t i = 0; i < process->counter_count; i++)
        trace_put_counter(out, i, &process->counters[i]);
    for (uint32_t i = 0; i < process->location_count; i++)
        trace_put_location(out, i, &process->locations[i]);
    trace_put_clock(out, process->tick, process->points, process->point_count);
    trace_put_end(out, process);
}

bool trace_process_pack(const struct trace_process *process, struct trace_bytes *bytes)
{
    struct trace_bytes records = {0};
    trace_put_first_records(bytes, process, false);
    put_tables(&records, process);
    trace_put_records(bytes, &records, false);
    trace_bytes_free(&records);
    return !bytes->failed;
}

static bool read_blocks(struct trace_definitions *definitions, struct trace_input *input)
{
    const struct trace_input magic = trace_take_part(input, TRACE_MAGIC_SIZE);
    if (magic.failed || memcmp(magic.at, TRACE_MAGIC, TRACE_MAGIC_SIZE) != 0)
        return false;
    while (trace_input_left(input)) {
        const struct trace_input bytes = trace_take_part(input, TRACE_BLOCK_SIZE);
        struct trace_block block;
        if (bytes.failed || !trace_block_read(&block, bytes.at))
            return false;
        trace_take_part(input, block.head);
        const struct trace_input body = trace_take_part(input, block.stored);
        if (input->failed || block.type != TRACE_BLOCK_DEFINITIONS ||
            block.compression != TRACE_STORED ||
            trace_checksum(0, body.at, trace_input_left(&body)) != block.stored_checksum ||
            !trace_definitions_read(definitions, body.at, trace_input_left(&body)))
            return false;
    }
    return true;
}

bool trace_process_unpack(const void *bytes, size_t size, struct trace_process *process)
{
    struct trace_input input = trace_input_of(bytes, size);
    struct trace_definitions *definitions = calloc(1, sizeof *definitions);
    *process = (struct trace_process){.rank = TRACE_UNDEFINED};
    if (!definitions)
        return false;
    definitions->process = process;
    definitions->budget = UINT64_MAX;
    const bool is_read = read_blocks(definitions, &input) && trace_definitions_finish(definitions);
    free(definitions);
    if (!is_read)
        trace_process_clear(process);
    return is_read;
}
