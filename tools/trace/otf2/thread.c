/* SPDX-License-Identifier: MIT */
/* See thread.h. */
#include "tools/trace/otf2/thread.h"

#include "util/util.h"

#include <stdlib.h>
#include <string.h>

/* ---- Regions --------------------------------------------------------------------------------- */

static void enter_region(struct trace_thread *thread, uint32_t region)
{
    TRACE_THREAD_CALL(thread,
                      OTF2_EvtWriter_Enter(thread->event_writer, NULL, thread->time, region));
}

static void leave_region(struct trace_thread *thread, uint32_t region)
{
    TRACE_THREAD_CALL(thread,
                      OTF2_EvtWriter_Leave(thread->event_writer, NULL, thread->time, region));
}

static void open_region(struct trace_thread *thread, uint32_t region)
{
    if (!QMPI_MEMORY_RESERVE(thread->regions, thread->region_room, thread->region_count + 1)) {
        TRACE_THREAD_CALL(thread, OTF2_ERROR_MEM_ALLOC_FAILED);
        return;
    }
    thread->regions[thread->region_count++] = region;
    enter_region(thread, region);
}

static void close_region(struct trace_thread *thread, uint32_t region)
{
    size_t place = thread->region_count;
    while (place > 0 && thread->regions[place - 1] != region)
        place--;
    if (!place--)
        return;
    for (size_t i = thread->region_count; i-- > place;)
        leave_region(thread, thread->regions[i]);
    thread->region_count--;
    memmove(&thread->regions[place], &thread->regions[place + 1],
            (thread->region_count - place) * sizeof *thread->regions);
    for (size_t i = place; i < thread->region_count; i++)
        enter_region(thread, thread->regions[i]);
}

static void apply_changes(struct trace_thread *thread)
{
    for (size_t i = 0; i < thread->change_count; i++) {
        if (thread->changes[i].begins)
            open_region(thread, thread->changes[i].region);
        else
            close_region(thread, thread->changes[i].region);
    }
    thread->change_count = 0;
}

void trace_thread_change_region(struct trace_thread *thread, uint32_t region, bool begins)
{
    if (!QMPI_MEMORY_RESERVE(thread->changes, thread->change_room, thread->change_count + 1)) {
        TRACE_THREAD_CALL(thread, OTF2_ERROR_MEM_ALLOC_FAILED);
        return;
    }
    thread->changes[thread->change_count++] = (struct trace_thread_change){region, begins};
    if (!thread->depth)
        apply_changes(thread);
}

/* ---- Calls ----------------------------------------------------------------------------------- */

struct trace_thread_call *trace_thread_current(const struct trace_thread *thread)
{
    return thread->depth ? &thread->calls[thread->depth - 1] : NULL;
}

void trace_thread_enter(struct trace_thread *thread, OTF2_AttributeList *attributes,
                        uint32_t function)
{
    if (!QMPI_MEMORY_RESERVE(thread->calls, thread->room, thread->depth + 1)) {
        TRACE_THREAD_CALL(thread, OTF2_ERROR_MEM_ALLOC_FAILED);
        return;
    }
    thread->calls[thread->depth++] = (struct trace_thread_call){.function = function};
    TRACE_THREAD_CALL(
        thread, OTF2_EvtWriter_Enter(thread->event_writer, attributes, thread->time, function));
}

void trace_thread_leave(struct trace_thread *thread)
{
    if (!thread->depth)
        return;
    leave_region(thread, thread->calls[--thread->depth].function);
    if (!thread->depth)
        apply_changes(thread);
}

void trace_thread_end(struct trace_thread *thread)
{
    while (thread->depth)
        trace_thread_leave(thread);
    while (thread->region_count)
        leave_region(thread, thread->regions[--thread->region_count]);
}

void trace_thread_clear(struct trace_thread *thread)
{
    free(thread->calls);
    free(thread->regions);
    free(thread->changes);
}
