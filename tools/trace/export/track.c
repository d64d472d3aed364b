/* SPDX-License-Identifier: MIT */
/*
 * See track.h. The numbers of fields are those of the files protos/perfetto/trace/ of Perfetto.
 * Packets are collected in blocks, which are compressed if zlib is available.
 */
#include "tools/trace/export/track.h"

#include "tools/trace/file/name.h"
#include "util/util.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
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
enum { DEFAULTS_EVENT = 11 };
enum {
    DESCRIPTOR_UUID = 1,
    DESCRIPTOR_NAME = 2,
    DESCRIPTOR_PROCESS = 3,
    DESCRIPTOR_THREAD = 4,
    DESCRIPTOR_PARENT_UUID = 5,
    DESCRIPTOR_COUNTER = 8,
    DESCRIPTOR_ORDER_RANK = 12,
    DESCRIPTOR_DESCRIPTION = 14,
    DESCRIPTOR_MERGE_BEHAVIOR = 15,
    DESCRIPTOR_PROCESS_ORDERING = 19,
    DESCRIPTOR_THREAD_ORDERING = 20
};
enum { MERGE_NONE = 2 };
enum { PROCESS_PID = 1, PROCESS_SORT_INDEX = 3, PROCESS_NAME = 6, PROCESS_LABELS = 8 };
enum { THREAD_PID = 1, THREAD_TID = 2, THREAD_NAME = 5 };
enum { COUNTER_UNIT = 3, COUNTER_UNIT_NAME = 6, UNIT_SIZE_BYTES = 3 };
enum {
    EVENT_CATEGORY_IIDS = 3,
    EVENT_DEBUG_ANNOTATIONS = 4,
    EVENT_TYPE = 9,
    EVENT_NAME_IID = 10,
    EVENT_TRACK = 11,
    EVENT_DOUBLE_COUNTER_VALUE = 44,
    EVENT_FLOW_IDS = 47,
    EVENT_TERMINATING_FLOW_IDS = 48,
    EVENT_CORRELATION_ID = 52
};
enum { ANNOTATION_NAME_IID = 1, ANNOTATION_INT = 4, ANNOTATION_STRING_IID = 17 };

/* The tables of interned strings in Perfetto's format. */
enum interned { INTERNED_CATEGORY = 1, INTERNED_NAME = 2, INTERNED_STRING = 29 };

static const char *const argument_names[ARGUMENTS] = {
    [ARGUMENT_PEER] = "peer",
    [ARGUMENT_TAG] = "tag",
    [ARGUMENT_BYTES] = "bytes",
    [ARGUMENT_COMM] = "communicator",
    [ARGUMENT_RECEIVED] = "received",
    [ARGUMENT_ROOT] = "root",
    [ARGUMENT_SITE] = "site",
    [ARGUMENT_WINDOW] = "window",
    [ARGUMENT_FILE] = "file",
    [ARGUMENT_UNFINISHED] = "unfinished",
    [ARGUMENT_INTERRUPTED] = "interrupted",
    [ARGUMENT_EVENTS] = "events",
    [ARGUMENT_FUNCTION] = "function",
    [ARGUMENT_CREATED] = "created",
    [ARGUMENT_FREED] = "freed",
};

/* A block is written when it has reached this size. Perfetto accepts blocks of up to 512 KiB. */
enum { BLOCK_SIZE = 256 << 10 };

struct trace_track {
    struct trace_track_packets *packets;
    uint32_t id; /* identifies the sequence of packets */
    /* Time of the previous packet in nanoseconds; times in packets are relative to it. */
    int64_t last;
    struct qmpi_table interned; /* the strings that were written, by table and number */
    struct trace_bytes event;   /* the event that is being made */
    /* The strings that this event needs and that are not in the file yet. */
    struct trace_bytes strings;
};

/* ---- Protocol buffers ------------------------------------------------------------------------ */

enum wire_type { WIRE_VARINT = 0, WIRE_FIXED64 = 1, WIRE_LENGTH = 2 };

static void put_field_key(struct trace_bytes *message, uint32_t field, enum wire_type type)
{
    trace_bytes_put_varint(message, (uint64_t)field << 3 | type);
}

static void put_number_field(struct trace_bytes *message, uint32_t field, uint64_t value)
{
    put_field_key(message, field, WIRE_VARINT);
    trace_bytes_put_varint(message, value);
}

static void put_fixed_field(struct trace_bytes *message, uint32_t field, uint64_t value)
{
    put_field_key(message, field, WIRE_FIXED64);
    trace_bytes_put_word(message, value);
}

static void put_real_field(struct trace_bytes *message, uint32_t field, double value)
{
    put_field_key(message, field, WIRE_FIXED64);
    trace_bytes_put_real(message, value);
}

static void put_data_field(struct trace_bytes *message, uint32_t field, const void *data,
                           size_t size)
{
    put_field_key(message, field, WIRE_LENGTH);
    trace_bytes_put_varint(message, size);
    trace_bytes_put(message, data, size);
}

/* Writes a text. Readers refuse strings that are not UTF-8, so other bytes are replaced by
 * U+FFFD. */
static void put_text_field(struct trace_bytes *message, uint32_t field, const char *text)
{
    char room[1024];
    const char *valid = qmpi_text_make_valid(text, room, sizeof room);
    put_data_field(message, field, valid, strlen(valid));
}

static void put_message_field(struct trace_bytes *message, uint32_t field,
                              const struct trace_bytes *part)
{
    put_data_field(message, field, part->data, part->size);
    message->failed |= part->failed;
}

/* ---- Blocks ---------------------------------------------------------------------------------- */

#ifdef TRACE_HAVE_ZLIB
static void write_block(struct trace_track_packets *packets)
{
    struct trace_bytes packet = {0}, trace = {0};
    uLongf size = compressBound(packets->block.size);
    unsigned char *bytes = malloc(size);
    if (bytes && compress(bytes, &size, packets->block.data, packets->block.size) == Z_OK) {
        put_data_field(&packet, PACKET_COMPRESSED, bytes, size);
        put_message_field(&trace, TRACE_PACKET, &packet);
        fwrite(trace.data, 1, trace.size, packets->stream);
        packets->failed |= trace.failed;
    } else {
        packets->failed = true;
    }
    trace_bytes_free(&packet);
    trace_bytes_free(&trace);
    free(bytes);
}
#else
static void write_block(struct trace_track_packets *packets)
{
    fwrite(packets->block.data, 1, packets->block.size, packets->stream);
}
#endif

static void add_packet(struct trace_track_packets *packets)
{
    put_message_field(&packets->block, TRACE_PACKET, &packets->packet);
    packets->failed |= packets->block.failed;
    packets->packet.size = 0;
    if (packets->block.size < BLOCK_SIZE)
        return;
    write_block(packets);
    packets->block.size = 0;
}

void trace_track_begin_file(struct trace_track_packets *packets)
{
    struct trace_bytes descriptor = {0}, trace = {0};
    put_number_field(&descriptor, DESCRIPTOR_UUID, 0);
    put_text_field(&descriptor, DESCRIPTOR_DESCRIPTION, TRACE_EXPORT_MARK);
    put_number_field(&descriptor, DESCRIPTOR_PROCESS_ORDERING, ORDERING_EXPLICIT);
    put_number_field(&descriptor, DESCRIPTOR_THREAD_ORDERING, ORDERING_EXPLICIT);
    put_message_field(&packets->packet, PACKET_TRACK_DESCRIPTOR, &descriptor);
    put_message_field(&trace, TRACE_PACKET, &packets->packet);
    fwrite(trace.data, 1, trace.size, packets->stream);
    packets->failed |= trace.failed;
    packets->packet.size = 0;
    trace_bytes_free(&descriptor);
    trace_bytes_free(&trace);
}

void trace_track_end_file(struct trace_track_packets *packets)
{
    if (packets->block.size)
        write_block(packets);
    trace_bytes_free(&packets->block);
    trace_bytes_free(&packets->packet);
    trace_bytes_free(&packets->entry);
}

static void write_description(struct trace_track_packets *packets,
                              const struct trace_bytes *descriptor)
{
    put_message_field(&packets->packet, PACKET_TRACK_DESCRIPTOR, descriptor);
    add_packet(packets);
}

/* ---- Numbers --------------------------------------------------------------------------------- */

static uint32_t world_size(const struct trace_process *process)
{
    const int least = process->rank >= 0 ? process->rank : -1;
    return process->ranks > least ? (uint32_t)process->ranks : (uint32_t)least + 1;
}

static uint32_t process_position(const struct trace_view *view, uint32_t process)
{
    const struct trace_process *all = view->trace->processes;
    uint32_t position = 0;
    if (all[process].rank >= 0)
        return (uint32_t)all[process].rank;
    for (size_t i = 0; i < view->trace->process_count; i++) {
        const uint32_t size = world_size(&all[i]);
        position = size > position ? size : position;
    }
    for (uint32_t i = 0; i < process; i++)
        position += all[i].rank < 0;
    return position;
}

int64_t trace_track_process_number(const struct trace_view *view, uint32_t process)
{
    return (int64_t)process_position(view, process) + 1; /* 0 is the idle process of a system */
}

int64_t trace_track_thread_number(const struct trace_view *view, uint32_t process,
                                  uint32_t location)
{
    enum {
        MOST = 1 << 20
    }; /* usually more than the number of processes, but small enough for thread numbers of 32 bits
        */
    const int64_t size = world_size(&view->trace->processes[process]);
    return trace_track_process_number(view, process) +
           (int64_t)location * (size < MOST ? MOST : 2 * size);
}

enum { TRACK_PROCESS = TRACK_COUNTER + 1 }; /* processes also have tracks */

static uint64_t track_id(const struct trace_track_packets *packets, uint32_t process, uint32_t kind,
                         uint32_t index)
{
    const struct trace_process *it = &packets->export->view->trace->processes[process];
    const uint64_t who = it->rank >= 0 ? (uint64_t)it->rank : qmpi_table_mix((uint64_t)it->pid) | 1;
    const uint64_t what = (uint64_t)kind << 32 | index;
    const uint64_t uuid =
        qmpi_table_mix_two(it->run[0] ^ it->run[1], qmpi_table_mix_two(who, what));
    return uuid ? uuid : 1; /* 0 is the root track */
}

static uint64_t process_id(const struct trace_track_packets *packets, uint32_t process)
{
    return track_id(packets, process, TRACK_PROCESS, 0);
}

uint32_t trace_track_sequence(struct trace_track_packets *packets, uint32_t process,
                              enum trace_track_kind kind, uint32_t index)
{
    const struct trace_process *it = &packets->export->view->trace->processes[process];
    const uint32_t first_other = UINT32_C(1) << 31;
    uint64_t number = index;
    if (kind != TRACK_THREAD)
        number += it->location_count;
    if (kind == TRACK_COUNTER)
        number += it->region_count;
    /* With n ranks, each rank uses every n-th number. Thus, numbers are small, and rarely reach
     * `first_other`. */
    number = number * world_size(it) + (uint32_t)it->rank + 1;
    return it->rank >= 0 && number < first_other ? (uint32_t)number
                                                 : first_other + packets->others++;
}

/* ---- Descriptions ---------------------------------------------------------------------------- */

void trace_track_describe_process(struct trace_track_packets *packets, uint32_t process)
{
    const struct trace_view *view = packets->export->view;
    const struct trace_process *it = &view->trace->processes[process];
    char name[TRACE_NAME_SIZE], room[TRACE_NAME_SIZE], text[2 * TRACE_NAME_SIZE];
    struct trace_bytes part = {0}, descriptor = {0};
    snprintf(text, sizeof text, "%s (%s)", trace_name_process(it, name),
             it->host ? it->host : "unknown host");
    put_number_field(&part, PROCESS_PID, (uint64_t)trace_track_process_number(view, process));
    put_number_field(&part, PROCESS_SORT_INDEX, process_position(view, process));
    put_text_field(&part, PROCESS_NAME, text);
    if (it->program)
        put_text_field(&part, PROCESS_LABELS, it->program);
    snprintf(text, sizeof text, "process id %" PRId64, it->pid);
    put_text_field(&part, PROCESS_LABELS, text);
    snprintf(text, sizeof text, "ended by: %s", trace_name_end(it, room));
    put_text_field(&part, PROCESS_LABELS, text);
    put_number_field(&descriptor, DESCRIPTOR_UUID, process_id(packets, process));
    put_message_field(&descriptor, DESCRIPTOR_PROCESS, &part);
    put_number_field(&descriptor, DESCRIPTOR_ORDER_RANK, process_position(view, process));
    write_description(packets, &descriptor);
    trace_bytes_free(&part);
    trace_bytes_free(&descriptor);
}

static void describe_thread(struct trace_track_packets *packets, struct trace_bytes *descriptor,
                            uint32_t process, uint32_t location)
{
    const struct trace_view *view = packets->export->view;
    char room[TRACE_NAME_SIZE];
    struct trace_bytes part = {0};
    put_number_field(&part, THREAD_PID, (uint64_t)trace_track_process_number(view, process));
    put_number_field(&part, THREAD_TID,
                     (uint64_t)trace_track_thread_number(view, process, location));
    put_text_field(&part, THREAD_NAME,
                   trace_name_location(&view->trace->processes[process], location, room));
    put_message_field(descriptor, DESCRIPTOR_THREAD, &part);
    put_number_field(descriptor, DESCRIPTOR_ORDER_RANK, location);
    trace_bytes_free(&part);
}

/* Describes the track of a region. MERGE_NONE prevents viewers from showing regions with the same
 * name as one track. */
static void describe_region(struct trace_track_packets *packets, struct trace_bytes *descriptor,
                            uint32_t process, uint32_t region)
{
    const struct trace_process *it = &packets->export->view->trace->processes[process];
    const struct trace_event event = {.kind = TRACE_REGION_BEGIN, .object = region};
    char room[TRACE_NAME_SIZE];
    put_text_field(descriptor, DESCRIPTOR_NAME, trace_name_object(it, &event, room));
    put_number_field(descriptor, DESCRIPTOR_MERGE_BEHAVIOR, MERGE_NONE);
}

static void describe_counter(struct trace_track_packets *packets, struct trace_bytes *descriptor,
                             uint32_t process, uint32_t counter)
{
    const struct trace_process *it = &packets->export->view->trace->processes[process];
    const struct trace_event event = {.kind = TRACE_COUNTER, .object = counter};
    const char *unit = counter < it->counter_count ? it->counters[counter].unit : NULL;
    char room[TRACE_NAME_SIZE];
    struct trace_bytes part = {0};
    put_text_field(descriptor, DESCRIPTOR_NAME, trace_name_object(it, &event, room));
    if (unit && !strcmp(unit, "bytes"))
        put_number_field(&part, COUNTER_UNIT, UNIT_SIZE_BYTES);
    else if (unit && *unit)
        put_text_field(&part, COUNTER_UNIT_NAME, unit);
    put_message_field(descriptor, DESCRIPTOR_COUNTER, &part);
    trace_bytes_free(&part);
}

static uint64_t describe_track(struct trace_track_packets *packets, uint32_t process,
                               enum trace_track_kind kind, uint32_t index)
{
    static void (*const describe[])(struct trace_track_packets *, struct trace_bytes *, uint32_t,
                                    uint32_t) = {
        [TRACK_THREAD] = describe_thread,
        [TRACK_REGION] = describe_region,
        [TRACK_COUNTER] = describe_counter,
    };
    const uint64_t track = track_id(packets, process, kind, index);
    struct trace_bytes descriptor = {0};
    put_number_field(&descriptor, DESCRIPTOR_UUID, track);
    put_number_field(&descriptor, DESCRIPTOR_PARENT_UUID, process_id(packets, process));
    describe[kind](packets, &descriptor, process, index);
    write_description(packets, &descriptor);
    trace_bytes_free(&descriptor);
    return track;
}

/* ---- Sequences ------------------------------------------------------------------------------- */

static void add_clock(struct trace_bytes *snapshot, uint32_t id, int64_t time, bool is_incremental)
{
    struct trace_bytes clock = {0};
    put_number_field(&clock, CLOCK_ID, id);
    put_number_field(&clock, CLOCK_TIMESTAMP, time > 0 ? (uint64_t)time : 0);
    if (is_incremental)
        put_number_field(&clock, CLOCK_IS_INCREMENTAL, 1);
    put_message_field(snapshot, SNAPSHOT_CLOCKS, &clock);
    trace_bytes_free(&clock);
}

static void add_sequence(struct trace_track_packets *packets, const struct trace_track *track,
                         uint64_t flags)
{
    put_number_field(&packets->packet, PACKET_SEQUENCE_ID, track->id);
    put_number_field(&packets->packet, PACKET_SEQUENCE_FLAGS, flags);
}

static void add_defaults(struct trace_track_packets *packets, uint64_t track)
{
    struct trace_bytes defaults = {0}, event = {0};
    put_number_field(&event, EVENT_TRACK, track);
    put_message_field(&defaults, DEFAULTS_EVENT, &event);
    put_number_field(&defaults, PACKET_TIMESTAMP_CLOCK_ID, CLOCK_OF_SEQUENCE);
    put_message_field(&packets->packet, PACKET_DEFAULTS, &defaults);
    trace_bytes_free(&defaults);
    trace_bytes_free(&event);
}

static void put_interned_entry(struct trace_bytes *strings, uint32_t table, uint64_t iid,
                               const char *text)
{
    struct trace_bytes entry = {0};
    put_number_field(&entry, ENTRY_IID, iid);
    put_text_field(&entry, ENTRY_TEXT, text);
    put_message_field(strings, table, &entry);
    trace_bytes_free(&entry);
}

/* Adds a snapshot of the clocks. All sequences use the same time, because readers require that
 * clocks never go back. */
static void add_snapshot(struct trace_track_packets *packets)
{
    struct trace_bytes snapshot = {0};
    add_clock(&snapshot, CLOCK_OF_SEQUENCE, packets->base, true);
    add_clock(&snapshot, CLOCK_BOOTTIME_ID, packets->base, false);
    add_clock(&snapshot, CLOCK_REALTIME_ID, packets->export->view->trace->started, false);
    put_number_field(&snapshot, SNAPSHOT_PRIMARY_CLOCK, CLOCK_BOOTTIME_ID);
    put_message_field(&packets->packet, PACKET_CLOCK_SNAPSHOT, &snapshot);
    trace_bytes_free(&snapshot);
}

static void begin_sequence(struct trace_track *track, uint64_t uuid)
{
    struct trace_track_packets *packets = track->packets;
    qmpi_table_start(&track->interned, 1);
    add_sequence(packets, track, STATE_CLEARED | NEEDS_STATE);
    put_number_field(&packets->packet, PACKET_FIRST_ON_SEQUENCE, 1);
    add_defaults(packets, uuid);
    for (uint32_t i = 1; i < ARGUMENT_CORRELATION; i++)
        put_interned_entry(&track->strings, INTERNED_ANNOTATION_NAMES, i, argument_names[i]);
    put_message_field(&packets->packet, PACKET_INTERNED_DATA, &track->strings);
    track->strings.size = 0;
    add_packet(packets);
    add_sequence(packets, track, NEEDS_STATE);
    add_snapshot(packets);
    add_packet(packets);
}

static void intern_string(struct trace_track *track, enum interned table, uint64_t iid,
                          const char *text)
{
    unsigned char *is_known = qmpi_table_put(&track->interned, iid << 8 | table);
    if (!is_known || *is_known)
        return;
    *is_known = 1;
    put_interned_entry(&track->strings, table, iid, text);
}

/* ---- Tracks ---------------------------------------------------------------------------------- */

struct trace_track *trace_track_open(struct trace_track_packets *packets, uint32_t process,
                                     enum trace_track_kind kind, uint32_t index)
{
    struct trace_track *track = calloc(1, sizeof *track);
    if (!track)
        return NULL;
    track->packets = packets;
    track->id = trace_track_sequence(packets, process, kind, index);
    begin_sequence(track, describe_track(packets, process, kind, index));
    return track;
}

void trace_track_close(struct trace_track *track)
{
    qmpi_table_free(&track->interned);
    trace_bytes_free(&track->event);
    trace_bytes_free(&track->strings);
    free(track);
}

void trace_track_begin_event(struct trace_track *track, enum trace_track_event type)
{
    track->event.size = 0;
    put_number_field(&track->event, EVENT_TYPE, type);
}

void trace_track_add_name(struct trace_track *track, uint64_t id, const char *text)
{
    intern_string(track, INTERNED_NAME, id, text);
    put_number_field(&track->event, EVENT_NAME_IID, id);
}

void trace_track_add_category(struct trace_track *track, uint64_t id, const char *text)
{
    intern_string(track, INTERNED_CATEGORY, id, text);
    put_number_field(&track->event, EVENT_CATEGORY_IIDS, id);
}

static void add_annotation(struct trace_track *track, enum trace_track_argument argument,
                           uint32_t field, uint64_t value)
{
    struct trace_bytes *entry = &track->packets->entry;
    entry->size = 0;
    put_number_field(entry, ANNOTATION_NAME_IID, argument);
    put_number_field(entry, field, value);
    put_message_field(&track->event, EVENT_DEBUG_ANNOTATIONS, entry);
}

void trace_track_add_number(struct trace_track *track, enum trace_track_argument argument,
                            int64_t value)
{
    add_annotation(track, argument, ANNOTATION_INT, (uint64_t)value);
}

void trace_track_add_text(struct trace_track *track, enum trace_track_argument argument,
                          uint64_t id, const char *text)
{
    intern_string(track, INTERNED_STRING, id, text);
    add_annotation(track, argument, ANNOTATION_STRING_IID, id);
}

bool trace_track_has_text(const struct trace_track *track, uint64_t id)
{
    return qmpi_table_get(&track->interned, id << 8 | INTERNED_STRING);
}

void trace_track_add_correlation(struct trace_track *track, uint64_t id)
{
    put_number_field(&track->event, EVENT_CORRELATION_ID, id);
}

void trace_track_add_flow(struct trace_track *track, uint64_t id, bool is_end)
{
    put_fixed_field(&track->event, is_end ? EVENT_TERMINATING_FLOW_IDS : EVENT_FLOW_IDS, id);
}

void trace_track_add_value(struct trace_track *track, double value)
{
    put_real_field(&track->event, EVENT_DOUBLE_COUNTER_VALUE, value);
}

void trace_track_write_event(struct trace_track *track, int64_t time)
{
    struct trace_track_packets *packets = track->packets;
    const int64_t passed = time > track->last ? time - track->last : 0;
    track->last += passed;
    put_number_field(&packets->packet, PACKET_TIMESTAMP, (uint64_t)passed);
    add_sequence(packets, track, NEEDS_STATE);
    if (track->strings.size)
        put_message_field(&packets->packet, PACKET_INTERNED_DATA, &track->strings);
    track->strings.size = 0;
    put_message_field(&packets->packet, PACKET_TRACK_EVENT, &track->event);
    packets->failed |= track->interned.failed || track->event.failed;
    add_packet(packets);
}
