/* SPDX-License-Identifier: MIT */
/*
 * The first reading of repair_parts.h: the events of all processes in an order in which each event
 * follows those on which it depends. The process with the earliest event that need not wait goes
 * on, so that little is pending.
 */
#include "trace/instances.h"
#include "trace/repair_parts.h"

#include <stdlib.h>

#define NOBODY UINT32_MAX

/* A collective in progress. Times are corrected ones. */
struct instance {
    int begun, ended;
    int64_t latest, root; /* when the last member, and the root, began */
    bool has_root;
    uint32_t waiting; /* the first process that waits for members */
    int64_t *ranks;   /* COLLECTIVE_PREFIX: when each member began; INT64_MIN: not yet */
};

struct player {
    struct trace_view_stream *stream;
    struct trace_instances instances;
    struct trace_event event;
    uint64_t message, number; /* number: of the event in the process */
    struct instance_part_of part;
    bool has_event, is_waiting, goes_on; /* goes_on: what it waits for is not there */
    uint32_t next;                       /* that waits for the same collective */
};

struct replay {
    struct trace_repair *repair;
    const struct trace_pairs *pairs;
    struct player *players;
    uint32_t *heap;
    size_t count;                   /* of the heap */
    struct trace_table sent;        /* messages: int64_t, the corrected time */
    struct trace_table wanted;      /* messages: uint32_t, the process that waits for it */
    struct trace_table collectives; /* struct instance */
    bool failed;
};

/* ---- Who goes on ----------------------------------------------------------------------------- */

static bool is_before(const struct replay *replay, uint32_t one, uint32_t other)
{
    return replay->players[one].event.time < replay->players[other].event.time;
}

static void push(struct replay *replay, uint32_t process)
{
    size_t at = replay->count++;
    for (; at && is_before(replay, process, replay->heap[(at - 1) / 2]); at = (at - 1) / 2)
        replay->heap[at] = replay->heap[(at - 1) / 2];
    replay->heap[at] = process;
}

static uint32_t pop(struct replay *replay)
{
    const uint32_t first = replay->heap[0], moved = replay->heap[--replay->count];
    size_t at = 0;
    for (size_t child; (child = 2 * at + 1) < replay->count; at = child) {
        if (child + 1 < replay->count &&
            is_before(replay, replay->heap[child + 1], replay->heap[child]))
            child++;
        if (!is_before(replay, replay->heap[child], moved))
            break;
        replay->heap[at] = replay->heap[child];
    }
    replay->heap[at] = moved;
    return first;
}

static void wake(struct replay *replay, uint32_t process)
{
    replay->players[process].is_waiting = false;
    push(replay, process);
}

static void advance(struct replay *replay, uint32_t process)
{
    struct player *player = &replay->players[process];
    player->number++;
    player->goes_on = false;
    player->has_event = trace_view_stream_next(player->stream, &player->event, &player->message);
    if (player->has_event)
        player->part = trace_instances_next(&player->instances, &player->event, player->message);
}

/* ---- Collectives ----------------------------------------------------------------------------- */

static struct instance *find_instance(struct replay *replay, const struct instance_part_of *part)
{
    struct instance *instance = trace_table_get(&replay->collectives, part->number);
    if (instance)
        return instance;
    instance = trace_table_put(&replay->collectives, part->number);
    if (!instance)
        return NULL;
    *instance = (struct instance){.latest = INT64_MIN, .waiting = NOBODY};
    if (part->kind != COLLECTIVE_PREFIX)
        return instance;
    instance->ranks = malloc((size_t)(part->size + 1) * sizeof *instance->ranks);
    replay->failed |= !instance->ranks;
    for (int i = 0; instance->ranks && i < part->size; i++)
        instance->ranks[i] = INT64_MIN;
    return instance;
}

static void begin(struct replay *replay, const struct instance_part_of *part, int64_t time)
{
    struct instance *instance = find_instance(replay, part);
    if (!instance)
        return;
    instance->begun++;
    if (time > instance->latest)
        instance->latest = time;
    if (part->is_root) {
        instance->root = time;
        instance->has_root = true;
    }
    if (instance->ranks && part->rank >= 0 && part->rank < part->size)
        instance->ranks[part->rank] = time;
    uint32_t process = instance->waiting;
    instance->waiting = NOBODY;
    while (process != NOBODY) {
        const uint32_t next = replay->players[process].next;
        if (replay->players[process].is_waiting)
            wake(replay, process);
        process = next;
    }
}

/* When the last one of those for which a member waits began; INT64_MIN: for nobody. Returns false
 * if one has not begun yet. */
static bool find_latest(const struct instance *instance, const struct instance_part_of *part,
                        int64_t *latest)
{
    *latest = INT64_MIN;
    if (part->kind == COLLECTIVE_OTHER || (part->kind != COLLECTIVE_BARRIER && !part->receives))
        return true;
    if (part->kind == COLLECTIVE_FROM_ROOT) {
        *latest = part->is_root ? INT64_MIN : instance->root;
        return part->is_root || instance->has_root;
    }
    if (part->kind == COLLECTIVE_TO_ROOT && !part->is_root)
        return true;
    if (part->kind != COLLECTIVE_PREFIX) {
        *latest = instance->latest;
        return instance->begun >= part->size;
    }
    for (int i = 0; instance->ranks && i < part->rank && i < part->size; i++) {
        if (instance->ranks[i] == INT64_MIN)
            return false;
        if (instance->ranks[i] > *latest)
            *latest = instance->ranks[i];
    }
    return true;
}

static void end(struct replay *replay, const struct instance_part_of *part)
{
    struct instance *instance = trace_table_get(&replay->collectives, part->number);
    if (instance && ++instance->ended >= part->size) {
        free(instance->ranks);
        trace_table_remove(&replay->collectives, part->number);
    }
}

/* ---- Events ---------------------------------------------------------------------------------- */

/* Sets `earliest` to when an event can be; INT64_MIN: at any time. Returns false if it depends on
 * an event that has not been seen yet: the process waits for it. */
static bool find_earliest(struct replay *replay, uint32_t process, int64_t *earliest)
{
    struct player *player = &replay->players[process];
    int64_t latest = INT64_MIN;
    *earliest = INT64_MIN;
    if (player->message && trace_is_receive(&player->event) &&
        trace_pairs_are_complete(replay->pairs, player->message)) {
        const int64_t *sent = trace_table_get(&replay->sent, player->message);
        uint32_t *waiting =
            !sent && !player->goes_on ? trace_table_put(&replay->wanted, player->message) : NULL;
        if (waiting) {
            *waiting = process;
            return false;
        }
        latest = sent ? *sent : INT64_MIN;
    } else if (player->part.part == INSTANCE_END) {
        struct instance *instance = trace_table_get(&replay->collectives, player->part.number);
        if (instance && !find_latest(instance, &player->part, &latest) && !player->goes_on) {
            player->next = instance->waiting;
            instance->waiting = process;
            return false;
        }
    }
    if (latest != INT64_MIN)
        *earliest = latest + replay->repair->latency;
    return true;
}

static void note_event(struct replay *replay, uint32_t process, int64_t time)
{
    struct player *player = &replay->players[process];
    if (player->part.part == INSTANCE_BEGIN) {
        begin(replay, &player->part, time);
    } else if (player->part.part == INSTANCE_END) {
        end(replay, &player->part);
    } else if (player->message && trace_is_receive(&player->event)) {
        trace_table_remove(&replay->sent, player->message);
    } else if (player->message && trace_is_send(&player->event) &&
               trace_pairs_are_complete(replay->pairs, player->message)) {
        int64_t *sent = trace_table_put(&replay->sent, player->message);
        if (sent)
            *sent = time;
        const uint32_t *waiting = trace_table_get(&replay->wanted, player->message);
        if (!waiting)
            return;
        const uint32_t other = *waiting;
        trace_table_remove(&replay->wanted, player->message);
        if (replay->players[other].is_waiting)
            wake(replay, other);
    }
}

/* Returns false if the process must wait. */
static bool play(struct replay *replay, uint32_t process)
{
    struct player *player = &replay->players[process];
    struct repair_knots *knots = &replay->repair->processes[process];
    int64_t earliest;
    if (!find_earliest(replay, process, &earliest))
        return false;
    int64_t time = trace_repair_forward(knots->count ? &knots->all[knots->count - 1] : NULL,
                                        player->event.time);
    if (earliest > time) {
        const struct repair_knot knot = {.event = player->number,
                                         .time = player->event.time,
                                         .corrected = earliest,
                                         .shift = earliest - time};
        ++*(player->part.part == INSTANCE_END ? &replay->repair->figures.collectives
                                              : &replay->repair->figures.messages);
        replay->failed |= !trace_repair_add_knot(replay->repair, process, knot);
        time = earliest;
    }
    note_event(replay, process, time);
    return true;
}

/* All wait, which they never did when the program ran: the trace is not complete. The earliest one
 * goes on. */
static bool go_on(struct replay *replay)
{
    uint32_t first = NOBODY;
    for (uint32_t i = 0; i < replay->repair->view->trace->process_count; i++) {
        if (replay->players[i].is_waiting && (first == NOBODY || is_before(replay, i, first)))
            first = i;
    }
    if (first == NOBODY)
        return false;
    replay->players[first].goes_on = true;
    wake(replay, first);
    return true;
}

static void run(struct replay *replay)
{
    while (!replay->failed && (replay->count || go_on(replay))) {
        const uint32_t process = pop(replay);
        if (!play(replay, process)) {
            replay->players[process].is_waiting = true;
            continue;
        }
        advance(replay, process);
        if (replay->players[process].has_event)
            push(replay, process);
    }
}

/* ---- All of it ------------------------------------------------------------------------------- */

static void start(struct replay *replay, uint32_t process)
{
    struct player *player = &replay->players[process];
    player->number = UINT64_MAX; /* the first one is 0 */
    player->stream = trace_view_stream_make(replay->repair->view, process);
    if (!player->stream ||
        !trace_instances_start(&player->instances,
                               &replay->repair->view->trace->processes[process])) {
        replay->failed = true;
        return;
    }
    advance(replay, process);
    if (player->has_event)
        push(replay, process);
}

static void free_instance(void *data, uint64_t key, void *value)
{
    (void)data;
    (void)key;
    free(((struct instance *)value)->ranks);
}

bool trace_repair_replay(struct trace_repair *repair, const struct trace_pairs *pairs)
{
    const size_t count = repair->view->trace->process_count;
    struct replay replay = {.repair = repair, .pairs = pairs};
    replay.players = calloc(count + 1, sizeof *replay.players);
    replay.heap = calloc(count + 1, sizeof *replay.heap);
    trace_table_start(&replay.sent, sizeof(int64_t));
    trace_table_start(&replay.wanted, sizeof(uint32_t));
    trace_table_start(&replay.collectives, sizeof(struct instance));
    replay.failed = !replay.players || !replay.heap;
    for (uint32_t i = 0; i < count && !replay.failed; i++) {
        if (trace_view_has(repair->view, i))
            start(&replay, i);
    }
    run(&replay);
    for (uint32_t i = 0; replay.players && i < count; i++) {
        if (replay.players[i].stream)
            replay.failed |= trace_view_stream_failed(replay.players[i].stream);
        trace_view_stream_free(replay.players[i].stream);
        trace_instances_free(&replay.players[i].instances);
    }
    replay.failed |= replay.sent.failed || replay.wanted.failed || replay.collectives.failed;
    trace_table_each(&replay.collectives, free_instance, NULL);
    trace_table_free(&replay.sent);
    trace_table_free(&replay.wanted);
    trace_table_free(&replay.collectives);
    free(replay.players);
    free(replay.heap);
    return !replay.failed;
}
