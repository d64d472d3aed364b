/* SPDX-License-Identifier: MIT */
/* See process.h: calls, regions, and what is application time. */
#define _GNU_SOURCE
#include "trace/profile/process.h"

#include <stdlib.h>
#include <string.h>

/* ---- Application time ------------------------------------------------------------------------ */

uint64_t process_sums_time(const struct process_sums *sums, uint64_t now)
{
    return sums->on_time + (sums->on_since ? now - sums->on_since : 0);
}

static void stop(struct process_sums *sums, uint64_t now)
{
    if (!sums->on_since)
        return;
    sums->on_time += now - sums->on_since;
    time_windows_add(&sums->on, sums->on_since, now);
    sums->on_since = 0;
}

static void begin_application(struct process_sums *sums, uint64_t now)
{
    if (sums->has_begun)
        return;
    sums->has_begun = true;
    sums->on_since = sums->is_on ? now : 0;
    time_windows_begin(&sums->on, now, sums->process->tick * 1e-9);
    time_windows_begin(&sums->mpi, now, sums->process->tick * 1e-9);
}

/* What tools do at the end of MPI_Init is not the program's time: it begins when that is over. */
static void begin_anew(struct process_sums *sums, uint64_t now)
{
    if (sums->is_on && sums->on_since && !sums->on_time && !sums->has_called &&
        now > sums->on_since)
        sums->on_since = sums->on.start = sums->mpi.start = now;
}

static void end_application(struct process_sums *sums, uint64_t now)
{
    stop(sums, now);
    sums->has_begun = false;
}

static void switch_on(struct process_sums *sums, bool on, uint64_t now)
{
    if (on == sums->is_on)
        return;
    stop(sums, now);
    sums->is_on = on;
    if (on && sums->has_begun)
        sums->on_since = now;
}

/* ---- Regions --------------------------------------------------------------------------------- */

bool process_sums_holds(const struct process_sums *sums, uint32_t node, uint32_t region)
{
    const struct trace_key *key = &sums->nodes.keys[node];
    const uint32_t *regions = key->data;
    for (size_t i = 0; i < key->size / sizeof *regions; i++) {
        if (regions[i] == region)
            return true;
    }
    return false;
}

int process_sums_threads(const struct process_sums *sums, uint32_t region)
{
    int threads = 0;
    for (uint32_t i = 0; i < sums->location_count; i++) {
        bool has_called = false;
        for (size_t k = 0; k < sums->callers.count && !has_called; k++) {
            const uint32_t *caller = sums->callers.keys[k].data;
            has_called = caller[0] == i &&
                         (region == UINT32_MAX || process_sums_holds(sums, caller[1], region));
        }
        threads += has_called;
    }
    return threads ? threads : 1;
}

/* The set of those that are open now. */
static void find_node(struct process_sums *sums)
{
    const size_t count = sums->process->region_count;
    uint32_t *open = calloc(count + 1, sizeof *open), found = 0;
    sums->failed |= !open;
    if (!open)
        return;
    for (uint32_t i = 0; i < count; i++) {
        if (sums->regions[i].open)
            open[found++] = i;
    }
    sums->node = trace_map_add(&sums->nodes, open, found * sizeof *open, NULL);
    free(open);
}

static void change_region(struct process_sums *sums, const struct trace_event *event, uint64_t now)
{
    struct region_sums *region = &sums->regions[event->object];
    const uint64_t time = process_sums_time(sums, now);
    if (event->kind == TRACE_REGION_BEGIN) {
        region->entries++;
        if (!region->open++)
            region->since = time;
    } else if (region->open && !--region->open) {
        region->time += time - region->since;
    }
    find_node(sums);
}

/* What MPI_Pcontrol changes holds from its end on: it is itself outside of what it opens. */
static void postpone(struct process_sums *sums, struct location_calls *location,
                     const struct trace_event *event)
{
    if (event->object >= sums->process->region_count)
        return;
    struct trace_event *changes = trace_grow(location->changes, location->change_count,
                                             &location->change_room, sizeof *changes);
    sums->failed |= !changes;
    if (!changes)
        return;
    location->changes = changes;
    changes[location->change_count++] = *event;
}

/* ---- Calls ----------------------------------------------------------------------------------- */

/* MPI_Finalize and its like end what is profiled, and count without time. */
static void end_profile(struct process_sums *sums, struct location_calls *location,
                        struct open_call *call, uint64_t now)
{
    const struct role *role = &sums->roles[call->function];
    const bool is_last = role->ends_session && sums->sessions && !--sums->sessions;
    if (!role->ends_mpi && !role->aborts && !(is_last && !sums->has_world))
        return;
    process_sums_note(sums, location, call, now, 0);
    call->is_noted = true;
    if (role->ends_mpi)
        sums->is_over = true;
    if (role->ends_mpi || is_last)
        end_application(sums, now);
}

static void enter(struct process_sums *sums, struct location_calls *location,
                  const struct trace_event *event)
{
    struct open_call *calls =
        trace_grow(location->all, location->depth, &location->room, sizeof *calls);
    sums->failed |= !calls;
    if (!calls)
        return;
    location->all = calls;
    sums->has_called |= sums->has_begun;
    struct open_call *call = &calls[location->depth];
    *call = (struct open_call){.function = event->function,
                               .site = event->site,
                               .comm = event->comm,
                               .file = TRACE_NONE,
                               .begin = event->ticks,
                               .is_apart = location->depth > 0,
                               .post = TRACE_NONE,
                               .peer = -1};
    location->depth++;
    end_profile(sums, location, call, event->ticks);
}

static void leave(struct process_sums *sums, struct location_calls *location,
                  const struct trace_event *event)
{
    struct open_call *call = &location->all[--location->depth];
    const struct role *role = &sums->roles[call->function];
    if (event->kind == TRACE_LEAVE && !call->is_noted)
        process_sums_note(sums, location, call, event->ticks, event->ticks - call->begin);
    if (role->begins_mpi) {
        sums->has_world = true;
        begin_application(sums, event->ticks);
    } else if (role->begins_session) {
        sums->sessions++;
        begin_application(sums, event->ticks);
    }
    for (size_t i = 0; i < location->change_count; i++)
        change_region(sums, &location->changes[i], event->ticks);
    location->change_count = 0;
}

static void read_event(struct process_sums *sums, const struct trace_event *event)
{
    struct location_calls *location = &sums->locations[event->location];
    struct open_call *call = location->depth ? &location->all[location->depth - 1] : NULL;
    switch (event->kind) {
    case TRACE_ENTER:
        if (event->function < sums->process->function_count)
            enter(sums, location, event);
        break;
    case TRACE_LEAVE:
    case TRACE_INTERRUPTED:
        if (call)
            leave(sums, location, event);
        break;
    case TRACE_REGION_BEGIN:
    case TRACE_REGION_END:
        postpone(sums, location, event);
        break;
    case TRACE_FLUSH:
        begin_anew(sums, event->ticks + event->bytes);
        break;
    case TRACE_OFF:
    case TRACE_ON:
        switch_on(sums, event->kind == TRACE_ON, event->ticks);
        break;
    default:
        if (call)
            process_sums_add(sums, call, event);
        break;
    }
}

/* Calls that did not return last until the process ended. */
static void end_calls(struct process_sums *sums, uint64_t end)
{
    for (size_t i = 0; i < sums->location_count && !sums->is_over; i++) {
        struct location_calls *location = &sums->locations[i];
        for (size_t k = 0; k < location->depth; k++) {
            struct open_call *call = &location->all[k];
            if (!call->is_noted)
                process_sums_note(sums, location, call, end,
                                  end > call->begin ? end - call->begin : 0);
        }
    }
    stop(sums, end);
    for (size_t i = 0; i < sums->process->region_count; i++) {
        if (sums->regions[i].open)
            sums->regions[i].time += sums->on_time - sums->regions[i].since;
    }
}

static bool prepare(struct process_sums *sums)
{
    const struct trace_process *process = sums->process;
    sums->location_count = process->location_count ? process->location_count : 1;
    sums->roles = calloc(process->function_count + 1, sizeof *sums->roles);
    sums->comms = calloc(process->comm_count + 1, sizeof *sums->comms);
    sums->files = calloc(process->file_count + 1, sizeof *sums->files);
    sums->opens = calloc(process->file_count + 1, sizeof *sums->opens);
    sums->regions = calloc(process->region_count + 1, sizeof *sums->regions);
    sums->locations = calloc(sums->location_count, sizeof *sums->locations);
    if (!sums->roles || !sums->comms || !sums->files || !sums->opens || !sums->regions ||
        !sums->locations)
        return false;
    for (size_t i = 0; i < process->function_count; i++)
        sums->roles[i] = role_find(&process->functions[i]);
    for (size_t i = 0; i < sums->location_count; i++)
        sums->locations[i].polled = TRACE_NONE;
    find_node(sums);
    return !sums->failed;
}

bool process_sums_read(struct process_sums *sums, const struct trace *trace, uint32_t process)
{
    *sums = (struct process_sums){.trace = trace,
                                  .process = &trace->processes[process],
                                  .free_post = TRACE_NONE,
                                  .is_on = true};
    if (!prepare(sums))
        return false;
    struct trace_cursor *cursor = trace_cursor_make(trace, process, TRACE_NONE, NULL);
    struct trace_event event;
    while (cursor && !sums->failed && !sums->is_over && trace_cursor_next(cursor, &event, NULL)) {
        if (event.location < sums->location_count)
            read_event(sums, &event);
    }
    sums->failed |= !cursor;
    if (cursor)
        trace_cursor_free(cursor);
    end_calls(sums, sums->process->end_ticks);
    return !sums->failed && !sums->function_keys.failed && !sums->site_keys.failed &&
           !sums->pair_keys.failed && !sums->nodes.failed && !sums->callers.failed;
}

void process_sums_clear(struct process_sums *sums)
{
    for (size_t i = 0; sums->sites && i < sums->site_keys.count; i++)
        free(sums->sites[i].waits);
    for (size_t i = 0; sums->locations && i < sums->location_count; i++) {
        free(sums->locations[i].all);
        free(sums->locations[i].changes);
    }
    trace_map_clear(&sums->function_keys);
    trace_map_clear(&sums->site_keys);
    trace_map_clear(&sums->pair_keys);
    trace_map_clear(&sums->nodes);
    trace_map_clear(&sums->callers);
    trace_pending_clear(&sums->pending);
    void *arrays[] = {sums->roles, sums->functions, sums->sites,   sums->pairs, sums->comms,
                      sums->files, sums->opens,     sums->regions, sums->posts, sums->locations};
    for (size_t i = 0; i < sizeof arrays / sizeof *arrays; i++)
        free(arrays[i]);
}
