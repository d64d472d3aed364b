/* SPDX-License-Identifier: MIT */
/* The descriptions of tracks of perfetto_parts.h. */
#include "trace/perfetto_parts.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

enum {
    DESCRIPTOR_UUID = 1,
    DESCRIPTOR_NAME = 2,
    DESCRIPTOR_PROCESS = 3,
    DESCRIPTOR_THREAD = 4,
    DESCRIPTOR_PARENT_UUID = 5,
    DESCRIPTOR_COUNTER = 8,
    DESCRIPTOR_ORDER_RANK = 12,
    DESCRIPTOR_MERGE_BEHAVIOR = 15
};
enum { MERGE_NONE = 2 };
enum { PROCESS_PID = 1, PROCESS_SORT_INDEX = 3, PROCESS_NAME = 6, PROCESS_LABELS = 8 };
enum { THREAD_PID = 1, THREAD_TID = 2, THREAD_NAME = 5 };
enum { COUNTER_UNIT = 3, COUNTER_UNIT_NAME = 6, UNIT_SIZE_BYTES = 3 };

enum { TRACK_PROCESS = TRACK_COUNTER + 1 };

/* ---- Identifiers ----------------------------------------------------------------------------- */

static uint64_t track_id(const struct perfetto_output *output, uint32_t process, uint32_t kind,
                         uint32_t index)
{
    const struct trace_process *it = &output->export->view->trace->processes[process];
    const uint64_t who = it->rank >= 0 ? (uint64_t)it->rank : trace_mix((uint64_t)it->pid) | 1;
    const uint64_t what = (uint64_t)kind << 32 | index;
    const uint64_t uuid = trace_mix_two(it->run[0] ^ it->run[1], trace_mix_two(who, what));
    return uuid ? uuid : 1; /* 0 is the root */
}

static uint64_t process_id(const struct perfetto_output *output, uint32_t process)
{
    return track_id(output, process, TRACK_PROCESS, 0);
}

uint32_t trace_perfetto_sequence(struct perfetto_output *output, uint32_t process,
                                 enum trace_track kind, uint32_t index)
{
    const struct trace_process *it = &output->export->view->trace->processes[process];
    const uint32_t first_other = UINT32_C(1) << 31;
    uint64_t number = index;
    if (kind != TRACK_THREAD)
        number += it->location_count;
    if (kind == TRACK_COUNTER)
        number += it->region_count;
    /* A rank has each n-th number, if there are n ranks: numbers are small, and never end. */
    number = number * trace_world_size(it) + (uint32_t)it->rank + 1;
    return it->rank >= 0 && number < first_other ? (uint32_t)number
                                                 : first_other + output->others++;
}

/* ---- Descriptions ---------------------------------------------------------------------------- */

void trace_perfetto_describe_process(struct perfetto_output *output, uint32_t process)
{
    const struct trace_view *view = output->export->view;
    const struct trace_process *it = &view->trace->processes[process];
    char name[TRACE_NAME_SIZE], room[TRACE_NAME_SIZE], text[2 * TRACE_NAME_SIZE];
    struct protobuf part = {0}, descriptor = {0};
    snprintf(text, sizeof text, "%s (%s)", trace_process_name(it, name),
             it->host ? it->host : "unknown host");
    protobuf_varint(&part, PROCESS_PID, (uint64_t)trace_process_number(view, process));
    protobuf_varint(&part, PROCESS_SORT_INDEX, trace_position(view, process));
    protobuf_string(&part, PROCESS_NAME, text);
    if (it->program)
        protobuf_string(&part, PROCESS_LABELS, it->program);
    snprintf(text, sizeof text, "process id %" PRId64, it->pid);
    protobuf_string(&part, PROCESS_LABELS, text);
    snprintf(text, sizeof text, "ended by: %s", trace_end_name(it, room));
    protobuf_string(&part, PROCESS_LABELS, text);
    protobuf_varint(&descriptor, DESCRIPTOR_UUID, process_id(output, process));
    protobuf_message(&descriptor, DESCRIPTOR_PROCESS, &part);
    protobuf_varint(&descriptor, DESCRIPTOR_ORDER_RANK, trace_position(view, process));
    trace_perfetto_describe(output, &descriptor);
    protobuf_free(&part);
    protobuf_free(&descriptor);
}

static void describe_thread(struct perfetto_output *output, struct protobuf *descriptor,
                            uint32_t process, uint32_t location)
{
    const struct trace_view *view = output->export->view;
    char room[TRACE_NAME_SIZE];
    struct protobuf part = {0};
    protobuf_varint(&part, THREAD_PID, (uint64_t)trace_process_number(view, process));
    protobuf_varint(&part, THREAD_TID, (uint64_t)trace_thread_number(view, process, location));
    protobuf_string(&part, THREAD_NAME,
                    trace_location_name(&view->trace->processes[process], location, room));
    protobuf_message(descriptor, DESCRIPTOR_THREAD, &part);
    protobuf_varint(descriptor, DESCRIPTOR_ORDER_RANK, location);
    protobuf_free(&part);
}

/* Regions of the same name are different tracks. */
static void describe_region(struct perfetto_output *output, struct protobuf *descriptor,
                            uint32_t process, uint32_t region)
{
    const struct trace_process *it = &output->export->view->trace->processes[process];
    const struct trace_event event = {.kind = TRACE_REGION_BEGIN, .object = region};
    char room[TRACE_NAME_SIZE];
    protobuf_string(descriptor, DESCRIPTOR_NAME, trace_object_name(it, &event, room));
    protobuf_varint(descriptor, DESCRIPTOR_MERGE_BEHAVIOR, MERGE_NONE);
}

static void describe_counter(struct perfetto_output *output, struct protobuf *descriptor,
                             uint32_t process, uint32_t counter)
{
    const struct trace_process *it = &output->export->view->trace->processes[process];
    const struct trace_event event = {.kind = TRACE_COUNTER, .object = counter};
    const char *unit = counter < it->counter_count ? it->counters[counter].unit : NULL;
    char room[TRACE_NAME_SIZE];
    struct protobuf part = {0};
    protobuf_string(descriptor, DESCRIPTOR_NAME, trace_object_name(it, &event, room));
    if (unit && !strcmp(unit, "bytes"))
        protobuf_varint(&part, COUNTER_UNIT, UNIT_SIZE_BYTES);
    else if (unit && *unit)
        protobuf_string(&part, COUNTER_UNIT_NAME, unit);
    protobuf_message(descriptor, DESCRIPTOR_COUNTER, &part);
    protobuf_free(&part);
}

uint64_t trace_perfetto_describe_track(struct perfetto_output *output, uint32_t process,
                                       enum trace_track kind, uint32_t index)
{
    static void (*const describe[])(struct perfetto_output *, struct protobuf *, uint32_t,
                                    uint32_t) = {
        [TRACK_THREAD] = describe_thread,
        [TRACK_REGION] = describe_region,
        [TRACK_COUNTER] = describe_counter,
    };
    const uint64_t track = track_id(output, process, kind, index);
    struct protobuf descriptor = {0};
    protobuf_varint(&descriptor, DESCRIPTOR_UUID, track);
    protobuf_varint(&descriptor, DESCRIPTOR_PARENT_UUID, process_id(output, process));
    describe[kind](output, &descriptor, process, index);
    trace_perfetto_describe(output, &descriptor);
    protobuf_free(&descriptor);
    return track;
}
