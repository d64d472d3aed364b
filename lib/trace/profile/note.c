/* SPDX-License-Identifier: MIT */
/* See process.h: what is noted of a call when it ends. */
#define _GNU_SOURCE
#include "trace/profile/process.h"

#include <stdlib.h>

/* A call explains so much of its time by itself: see tools/profile/record/peer_waits.c. */
enum { FLOOR_NANOSECONDS = 10000 };

/* ---- Where it is noted ----------------------------------------------------------------------- */

static uint32_t find_function(struct process_sums *sums, uint32_t function)
{
    const uint32_t key[] = {function, sums->node};
    bool is_new = false;
    const uint32_t number = trace_map_add(&sums->function_keys, key, sizeof key, &is_new);
    if (!is_new)
        return number;
    struct function_sums *all =
        trace_grow(sums->functions, number, &sums->function_room, sizeof *all);
    sums->failed |= !all;
    if (!all)
        return TRACE_NO_NUMBER;
    sums->functions = all;
    all[number] = (struct function_sums){.function = function, .node = sums->node};
    return number;
}

static uint32_t find_site(struct process_sums *sums, uint32_t function, uint32_t site)
{
    const uint32_t key[] = {function, site};
    bool is_new = false;
    const uint32_t number = trace_map_add(&sums->site_keys, key, sizeof key, &is_new);
    if (!is_new)
        return number;
    struct site_sums *all = trace_grow(sums->sites, number, &sums->site_room, sizeof *all);
    sums->failed |= !all;
    if (!all)
        return TRACE_NO_NUMBER;
    sums->sites = all;
    all[number] = (struct site_sums){.function = function, .site = site};
    return number;
}

/* ---- Its end --------------------------------------------------------------------------------- */

static void add_wait(struct process_sums *sums, struct site_sums *site, int peer, uint64_t time)
{
    size_t i = 0;
    while (i < site->wait_count && site->waits[i].peer != peer)
        i++;
    if (i == site->wait_count) {
        struct site_wait *waits =
            trace_grow(site->waits, site->wait_count, &site->wait_room, sizeof *waits);
        sums->failed |= !waits;
        if (!waits)
            return;
        site->waits = waits;
        waits[site->wait_count++] = (struct site_wait){.peer = peer};
    }
    site->waits[i].calls++;
    site->waits[i].time += time;
}

/* For whom it waited: the time that its data do not explain. */
static void note_waits(struct process_sums *sums, struct site_sums *site,
                       const struct open_call *call, uint64_t time)
{
    const struct role *role = &sums->roles[call->function];
    const uint64_t bytes = role->completes ? call->completed.bytes : call->sent + call->received;
    const double ticks = 1 / sums->process->tick; /* of a nanosecond; the rounding is profile's */
    const uint64_t explained =
        (uint64_t)(FLOOR_NANOSECONDS * ticks) + (uint64_t)((double)bytes * ticks);
    if ((!role->completes && !(role->may_wait && call->has_peer)) || time <= explained)
        return;
    const uint64_t waited = time - explained;
    const size_t count = call->completed.count;
    if (!role->completes || !count)
        add_wait(sums, site, role->completes ? -1 : call->peer, waited);
    for (size_t i = 0; role->completes && i < count; i++)
        add_wait(sums, site, call->completed.peers[i], waited / count);
}

/* The time of a call that asks, and that from the last one to it, if it came at once. */
static uint64_t find_polling(const struct process_sums *sums, struct location_calls *location,
                             const struct open_call *call, uint32_t site, uint64_t now,
                             uint64_t time)
{
    const uint64_t pause = call->begin - location->polled_at;
    const double at_once = (double)time + FLOOR_NANOSECONDS / sums->process->tick / 10;
    const bool follows = location->polled == site && (double)pause < at_once;
    location->polled = site;
    location->polled_at = now;
    return follows ? time + pause : time;
}

static uint64_t count_messages(const struct role *role, const struct open_call *call)
{
    if (!role->has_transfers)
        return 0;
    if (call->messages)
        return call->messages;
    return role->starts || call->awaits || call->sent + call->received > 0;
}

/* What its operations move will be counted where the call is. */
static void fill_post(struct process_sums *sums, const struct open_call *call, uint32_t function,
                      uint32_t site)
{
    struct post *post = &sums->posts[call->post];
    post->function = function;
    post->site = site;
    post->comm = call->comm < sums->process->comm_count ? call->comm : TRACE_NONE;
    post->file = call->file < sums->process->file_count ? call->file : TRACE_NONE;
    post->bytes += call->sent + call->received;
}

void process_sums_note(struct process_sums *sums, struct location_calls *location,
                       struct open_call *call, uint64_t now, uint64_t time)
{
    const struct role *role = &sums->roles[call->function];
    const uint64_t bytes = call->sent + call->received;
    const bool is_apart = call->is_apart || !sums->has_begun;
    const uint32_t number = find_function(sums, call->function),
                   site_number = find_site(sums, call->function, call->site);
    if (number == TRACE_NO_NUMBER || site_number == TRACE_NO_NUMBER)
        return;
    struct function_sums *function = &sums->functions[number];
    struct site_sums *site = &sums->sites[site_number];
    sums_add(&function->sums, time, call->sent, call->received);
    sums_add(&site->sums, time, call->sent, call->received);
    const uint64_t nanoseconds = (uint64_t)((double)time * sums->process->tick);
    function->times[sums_bin(nanoseconds, PROFILE_TIME_BINS)]++;
    if (bytes)
        function->sizes[sums_bin(bytes, PROFILE_SIZE_BINS)]++;
    site->messages += count_messages(role, call);
    if (call->comm < sums->process->comm_count)
        sums_add(&sums->comms[call->comm], time, call->sent, call->received);
    if (call->file < sums->process->file_count)
        sums_add(&sums->files[call->file], time, call->sent, call->received);
    if (call->post != TRACE_NONE)
        fill_post(sums, call, number, site_number);
    if (role->polls) {
        const uint64_t polling = find_polling(sums, location, call, site_number, now, time);
        function->sums.polling += polling;
        site->sums.polling += polling;
    }
    if (is_apart)
        return;
    function->in_mpi += time;
    const uint32_t caller[] = {(uint32_t)(location - sums->locations), sums->node};
    trace_map_add(&sums->callers, caller, sizeof caller, NULL);
    time_windows_add(&sums->mpi, now - time, now);
    if (!role->polls)
        note_waits(sums, site, call, time);
}
