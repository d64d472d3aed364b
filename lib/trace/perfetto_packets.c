/* SPDX-License-Identifier: MIT */
/* The packets of perfetto_parts.h: they are gathered in blocks, which are compressed. */
#include "trace/perfetto_parts.h"

#include <stdlib.h>
#ifdef TRACE_HAVE_ZLIB
#include <zlib.h>
#endif

enum {
    TRACE_PACKET = 1,
    PACKET_CLOCK_SNAPSHOT = 6,
    PACKET_TIMESTAMP = 8,
    PACKET_SEQUENCE_ID = 10,
    PACKET_TRACK_EVENT = 11,
    PACKET_INTERNED_DATA = 12,
    PACKET_SEQUENCE_FLAGS = 13,
    PACKET_COMPRESSED = 50,
    PACKET_TIMESTAMP_CLOCK_ID = 58,
    PACKET_DEFAULTS = 59,
    PACKET_TRACK_DESCRIPTOR = 60,
    PACKET_FIRST_ON_SEQUENCE = 87
};
enum { STATE_CLEARED = 1, NEEDS_STATE = 2 };
enum {
    DESCRIPTOR_UUID = 1,
    DESCRIPTOR_DESCRIPTION = 14,
    DESCRIPTOR_PROCESS_ORDERING = 19,
    DESCRIPTOR_THREAD_ORDERING = 20
};
enum { ORDERING_EXPLICIT = 1 };
enum {
    SNAPSHOT_CLOCKS = 1,
    SNAPSHOT_PRIMARY_CLOCK = 2,
    CLOCK_ID = 1,
    CLOCK_TIMESTAMP = 2,
    CLOCK_IS_INCREMENTAL = 3
};
enum { CLOCK_REALTIME_ID = 1, CLOCK_BOOTTIME_ID = 6, CLOCK_OF_SEQUENCE = 64 };
enum { INTERNED_ANNOTATION_NAMES = 3, ENTRY_IID = 1, ENTRY_TEXT = 2 };
enum { DEFAULTS_EVENT = 11, EVENT_TRACK = 11 };

/* No block may have 512 KiB. */
enum { BLOCK_SIZE = 256 << 10 };

/* ---- Blocks ---------------------------------------------------------------------------------- */

#ifdef TRACE_HAVE_ZLIB
static void write_block(struct perfetto_output *output)
{
    struct protobuf packet = {0}, trace = {0};
    uLongf size = compressBound(output->block.size);
    unsigned char *bytes = malloc(size);
    if (bytes && compress(bytes, &size, output->block.data, output->block.size) == Z_OK) {
        protobuf_data(&packet, PACKET_COMPRESSED, bytes, size);
        protobuf_message(&trace, TRACE_PACKET, &packet);
        fwrite(trace.data, 1, trace.size, output->stream);
        output->failed |= trace.failed;
    } else {
        output->failed = true;
    }
    protobuf_free(&packet);
    protobuf_free(&trace);
    free(bytes);
}
#else
static void write_block(struct perfetto_output *output)
{
    fwrite(output->block.data, 1, output->block.size, output->stream);
}
#endif

static void add_packet(struct perfetto_output *output)
{
    protobuf_message(&output->block, TRACE_PACKET, &output->packet);
    output->failed |= output->block.failed;
    output->packet.size = 0;
    if (output->block.size < BLOCK_SIZE)
        return;
    write_block(output);
    output->block.size = 0;
}

void trace_perfetto_begin(struct perfetto_output *output)
{
    struct protobuf descriptor = {0}, trace = {0};
    protobuf_varint(&descriptor, DESCRIPTOR_UUID, 0);
    protobuf_string(&descriptor, DESCRIPTOR_DESCRIPTION, TRACE_EXPORT_MARK);
    protobuf_varint(&descriptor, DESCRIPTOR_PROCESS_ORDERING, ORDERING_EXPLICIT);
    protobuf_varint(&descriptor, DESCRIPTOR_THREAD_ORDERING, ORDERING_EXPLICIT);
    protobuf_message(&output->packet, PACKET_TRACK_DESCRIPTOR, &descriptor);
    protobuf_message(&trace, TRACE_PACKET, &output->packet);
    fwrite(trace.data, 1, trace.size, output->stream);
    output->failed |= trace.failed;
    output->packet.size = 0;
    protobuf_free(&descriptor);
    protobuf_free(&trace);
}

void trace_perfetto_end(struct perfetto_output *output)
{
    if (output->block.size)
        write_block(output);
    protobuf_free(&output->block);
    protobuf_free(&output->packet);
    protobuf_free(&output->entry);
}

void trace_perfetto_describe(struct perfetto_output *output, const struct protobuf *descriptor)
{
    protobuf_message(&output->packet, PACKET_TRACK_DESCRIPTOR, descriptor);
    add_packet(output);
}

/* ---- Sequences ------------------------------------------------------------------------------- */

static void add_clock(struct protobuf *snapshot, uint32_t id, int64_t time, bool is_incremental)
{
    struct protobuf clock = {0};
    protobuf_varint(&clock, CLOCK_ID, id);
    protobuf_varint(&clock, CLOCK_TIMESTAMP, time > 0 ? (uint64_t)time : 0);
    if (is_incremental)
        protobuf_varint(&clock, CLOCK_IS_INCREMENTAL, 1);
    protobuf_message(snapshot, SNAPSHOT_CLOCKS, &clock);
    protobuf_free(&clock);
}

static void add_sequence(struct perfetto_output *output, const struct perfetto_sequence *sequence,
                         uint64_t flags)
{
    protobuf_varint(&output->packet, PACKET_SEQUENCE_ID, sequence->id);
    protobuf_varint(&output->packet, PACKET_SEQUENCE_FLAGS, flags);
}

static void add_defaults(struct perfetto_output *output, uint64_t track)
{
    struct protobuf defaults = {0}, event = {0};
    protobuf_varint(&event, EVENT_TRACK, track);
    protobuf_message(&defaults, DEFAULTS_EVENT, &event);
    protobuf_varint(&defaults, PACKET_TIMESTAMP_CLOCK_ID, CLOCK_OF_SEQUENCE);
    protobuf_message(&output->packet, PACKET_DEFAULTS, &defaults);
    protobuf_free(&defaults);
    protobuf_free(&event);
}

static void add_entry(struct protobuf *strings, uint32_t table, uint64_t iid, const char *text)
{
    struct protobuf entry = {0};
    protobuf_varint(&entry, ENTRY_IID, iid);
    protobuf_string(&entry, ENTRY_TEXT, text);
    protobuf_message(strings, table, &entry);
    protobuf_free(&entry);
}

/* The same moment for all sequences: readers demand that clocks never go back. */
static void add_snapshot(struct perfetto_output *output)
{
    struct protobuf snapshot = {0};
    add_clock(&snapshot, CLOCK_OF_SEQUENCE, output->base, true);
    add_clock(&snapshot, CLOCK_BOOTTIME_ID, output->base, false);
    add_clock(&snapshot, CLOCK_REALTIME_ID, output->export->view->trace->started, false);
    protobuf_varint(&snapshot, SNAPSHOT_PRIMARY_CLOCK, CLOCK_BOOTTIME_ID);
    protobuf_message(&output->packet, PACKET_CLOCK_SNAPSHOT, &snapshot);
    protobuf_free(&snapshot);
}

void trace_perfetto_start(struct perfetto_sequence *sequence, uint64_t track)
{
    struct perfetto_output *output = sequence->output;
    trace_table_start(&sequence->interned, 1);
    add_sequence(output, sequence, STATE_CLEARED | NEEDS_STATE);
    protobuf_varint(&output->packet, PACKET_FIRST_ON_SEQUENCE, 1);
    add_defaults(output, track);
    for (uint32_t i = 1; i < ARGUMENT_CORRELATION; i++)
        add_entry(&sequence->strings, INTERNED_ANNOTATION_NAMES, i, trace_argument_names[i]);
    protobuf_message(&output->packet, PACKET_INTERNED_DATA, &sequence->strings);
    sequence->strings.size = 0;
    add_packet(output);
    add_sequence(output, sequence, NEEDS_STATE);
    add_snapshot(output);
    add_packet(output);
}

void trace_perfetto_stop(struct perfetto_sequence *sequence)
{
    trace_table_free(&sequence->interned);
    protobuf_free(&sequence->event);
    protobuf_free(&sequence->strings);
}

bool trace_perfetto_has(const struct perfetto_sequence *sequence, enum interned table, uint64_t iid)
{
    return trace_table_get(&sequence->interned, iid << 8 | table);
}

void trace_perfetto_intern(struct perfetto_sequence *sequence, enum interned table, uint64_t iid,
                           const char *text)
{
    unsigned char *is_known = trace_table_put(&sequence->interned, iid << 8 | table);
    if (!is_known || *is_known)
        return;
    *is_known = 1;
    add_entry(&sequence->strings, table, iid, text);
}

void trace_perfetto_write(struct perfetto_sequence *sequence, int64_t time)
{
    struct perfetto_output *output = sequence->output;
    const int64_t passed = time > sequence->last ? time - sequence->last : 0;
    sequence->last += passed;
    protobuf_varint(&output->packet, PACKET_TIMESTAMP, (uint64_t)passed);
    add_sequence(output, sequence, NEEDS_STATE);
    if (sequence->strings.size)
        protobuf_message(&output->packet, PACKET_INTERNED_DATA, &sequence->strings);
    sequence->strings.size = 0;
    protobuf_message(&output->packet, PACKET_TRACK_EVENT, &sequence->event);
    output->failed |= sequence->interned.failed | sequence->event.failed;
    add_packet(output);
}
