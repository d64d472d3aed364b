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
    DESCRIPTOR_ORDER_RANK = 12
};
enum { PROCESS_PID = 1, PROCESS_SORT_INDEX = 3, PROCESS_NAME = 6, PROCESS_LABELS = 8 };
enum { THREAD_PID = 1, THREAD_TID = 2, THREAD_NAME = 5 };
enum { COUNTER_UNIT = 3, COUNTER_UNIT_NAME = 6, UNIT_SIZE_BYTES = 3 };

uint64_t perfetto_track(const struct perfetto_output *output, uint32_t process,
                        enum perfetto_track kind, uint32_t index)
{
    const struct trace_process *it = &output->export->view->trace->processes[process];
    const uint64_t who = it->rank >= 0 ? (uint64_t)it->rank : trace_mix((uint64_t)it->pid) | 1;
    const uint64_t what = (uint64_t)kind << 32 | index;
    const uint64_t uuid = trace_mix_two(it->run[0] ^ it->run[1], trace_mix_two(who, what));
    return uuid ? uuid : 1; /* 0 is the root */
}

void perfetto_describe_process(struct perfetto_output *output, uint32_t process)
{
    const struct trace_view *view = output->export->view;
    const struct trace_process *it = &view->trace->processes[process];
    char name[TRACE_NAME_SIZE], room[TRACE_NAME_SIZE], text[2 * TRACE_NAME_SIZE];
    struct protobuf part = {0}, descriptor = {0};
    snprintf(text, sizeof text, "%s (%s)", trace_process_name(it, name),
             it->host ? it->host : "unknown host");
    protobuf_varint(&part, PROCESS_PID,
                    (uint64_t)trace_process_number(output->numbers, view, process));
    protobuf_varint(&part, PROCESS_SORT_INDEX, trace_position(view, process));
    protobuf_string(&part, PROCESS_NAME, text);
    if (it->program)
        protobuf_string(&part, PROCESS_LABELS, it->program);
    snprintf(text, sizeof text, "process id %" PRId64, it->pid);
    protobuf_string(&part, PROCESS_LABELS, text);
    snprintf(text, sizeof text, "ended by: %s", trace_end_name(it, room));
    protobuf_string(&part, PROCESS_LABELS, text);
    protobuf_varint(&descriptor, DESCRIPTOR_UUID,
                    perfetto_track(output, process, TRACK_PROCESS, 0));
    protobuf_message(&descriptor, DESCRIPTOR_PROCESS, &part);
    protobuf_varint(&descriptor, DESCRIPTOR_ORDER_RANK, trace_position(view, process));
    perfetto_describe(output, &descriptor);
    protobuf_free(&part);
    protobuf_free(&descriptor);
}

void perfetto_describe_thread(struct perfetto_output *output, uint32_t process, uint32_t location)
{
    const struct trace_view *view = output->export->view;
    char room[TRACE_NAME_SIZE];
    struct protobuf part = {0}, descriptor = {0};
    protobuf_varint(&part, THREAD_PID,
                    (uint64_t)trace_process_number(output->numbers, view, process));
    protobuf_varint(&part, THREAD_TID,
                    (uint64_t)trace_thread_number(output->numbers, view, process, location));
    protobuf_string(&part, THREAD_NAME,
                    trace_location_name(&view->trace->processes[process], location, room));
    protobuf_varint(&descriptor, DESCRIPTOR_UUID,
                    perfetto_track(output, process, TRACK_THREAD, location));
    protobuf_varint(&descriptor, DESCRIPTOR_PARENT_UUID,
                    perfetto_track(output, process, TRACK_PROCESS, 0));
    protobuf_message(&descriptor, DESCRIPTOR_THREAD, &part);
    perfetto_describe(output, &descriptor);
    protobuf_free(&part);
    protobuf_free(&descriptor);
}

/* A track of a process. `counter`: NULL: it has slices. */
static void describe_child(struct perfetto_output *output, uint32_t process, uint64_t track,
                           const char *name, const struct protobuf *counter)
{
    struct protobuf descriptor = {0};
    protobuf_varint(&descriptor, DESCRIPTOR_UUID, track);
    protobuf_varint(&descriptor, DESCRIPTOR_PARENT_UUID,
                    perfetto_track(output, process, TRACK_PROCESS, 0));
    protobuf_string(&descriptor, DESCRIPTOR_NAME, name);
    if (counter)
        protobuf_message(&descriptor, DESCRIPTOR_COUNTER, counter);
    perfetto_describe(output, &descriptor);
    protobuf_free(&descriptor);
}

void perfetto_describe_region(struct perfetto_output *output, uint32_t process, uint32_t region)
{
    const struct trace_process *it = &output->export->view->trace->processes[process];
    const struct trace_event event = {.kind = TRACE_REGION_BEGIN, .object = region};
    char room[TRACE_NAME_SIZE];
    describe_child(output, process, perfetto_track(output, process, TRACK_REGION, region),
                   trace_object_name(it, &event, room), NULL);
}

void perfetto_describe_counter(struct perfetto_output *output, uint32_t process, uint32_t counter)
{
    const struct trace_process *it = &output->export->view->trace->processes[process];
    const struct trace_event event = {.kind = TRACE_COUNTER, .object = counter};
    const char *unit = counter < it->counter_count ? it->counters[counter].unit : NULL;
    char room[TRACE_NAME_SIZE];
    struct protobuf part = {0};
    if (unit && !strcmp(unit, "bytes"))
        protobuf_varint(&part, COUNTER_UNIT, UNIT_SIZE_BYTES);
    else if (unit && *unit)
        protobuf_string(&part, COUNTER_UNIT_NAME, unit);
    describe_child(output, process, perfetto_track(output, process, TRACK_COUNTER, counter),
                   trace_object_name(it, &event, room), &part);
    protobuf_free(&part);
}
