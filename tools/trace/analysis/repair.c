/* SPDX-License-Identifier: MIT */
/*
 * Corrects times by the controlled logical clock (R. Rabenseifner, "The controlled logical clock",
 * EuroMicro 1997; D. Becker, R. Rabenseifner, F. Wolf, J. Linford, "Scalable timestamp
 * synchronization for event traces of message-passing applications", Parallel Computing 35, 2009).
 * This algorithm moves events that depend on others to later times, so that each message takes at
 * least the minimum latency, and no member leaves a collective before the members whose data it
 * needs have entered it.
 *
 * Forward amplification: the intervals after a moved event are scaled by a control factor, until
 * the original times are reached again. Backward amortization: the events directly before a moved
 * event are moved, too, by amounts that grow evenly, as far as this does not delay a send or the
 * begin of a collective too much for its other processes. All threads of a process have one clock
 * and are corrected together, so their order does not change.
 *
 * The first reading replays the events of all processes in an order in which each event follows
 * those on which it depends, and finds the knots. Among the processes that need not wait, it
 * continues with the one that has the earliest event, so that few messages and collectives are in
 * progress. The second reading finds the limits of backward amortization. The send of a message can
 * be moved at most to its receive minus the minimum latency, and the begin of a collective at most
 * to the first end of a member minus the minimum latency.
 */
#include "tools/trace/analysis/collectives.h"
#include "tools/trace/analysis/corrections.h"
#include "tools/trace/analysis/pairs.h"
#include "tools/trace/file/heap.h"
#include "util/util.h"

#include <stdlib.h>

#define NOBODY UINT32_MAX

/* A collective in progress, with corrected times. */
struct replayed_collective {
    int begun, ended;
    int64_t latest, root; /* the times when the last member and the root have begun */
    bool has_root;
    uint32_t waiting; /* the first process that waits for members; struct player links it to the
                         others */
    /* The following fields are for COLLECTIVE_PREFIX, in which a process waits until all processes
     * with lower ranks have begun. */
    int size;       /* size of the communicator; 0 for other kinds */
    int prefix;     /* all ranks below this number have begun */
    int64_t *ranks; /* by rank: the time when the member began, or INT64_MIN; for ranks below
                       `prefix`, the latest begin up to this rank */
    uint32_t *waiting_ranks; /* by rank: the process that waits, or NOBODY */
};

/* What a process waits for: an event of another process. */
enum wait { WAIT_NONE, WAIT_MESSAGE, WAIT_COLLECTIVE };

struct player {
    struct trace_view_stream *stream;
    struct trace_collectives collectives;
    struct trace_event event;
    uint64_t message, number; /* `number` is the number of the event in the process */
    struct trace_collectives_part part;
    bool has_event;
    bool goes_on; /* the process continues without waiting, because the awaited event is not in the
                     trace */
    enum wait wait;
    uint64_t awaited; /* the number of the awaited message or collective */
    /* Neighbors in the list of processes that wait for the same collective, or NOBODY. */
    uint32_t previous, next;
    size_t place; /* the position in its heap */
};

struct replay {
    const struct trace_view *view;
    int64_t latency;
    struct trace_corrections *corrections;
    const struct trace_pairs *pairs;
    struct player *players;
    /* Each process that has a next event is in one of these heaps (uint32_t), which are ordered by
     * the times of these events. */
    struct trace_heap ready, waiting;
    struct qmpi_table sent;   /* messages -> int64_t, the corrected time */
    struct qmpi_table wanted; /* messages -> uint32_t, the process that waits for the message */
    struct qmpi_table collectives; /* values are struct replayed_collective */
    bool failed;
};

/* ---- Waiting and going on -------------------------------------------------------------------- */

static bool is_event_before(const void *context, const void *one, const void *other)
{
    const struct replay *replay = context;
    return replay->players[*(const uint32_t *)one].event.time <
           replay->players[*(const uint32_t *)other].event.time;
}

static void note_place(void *context, const void *process, size_t place)
{
    struct replay *replay = context;
    replay->players[*(const uint32_t *)process].place = place;
}

static void start_heap(struct replay *replay, struct trace_heap *heap)
{
    trace_heap_start(heap, sizeof(uint32_t), is_event_before, replay);
    heap->moved = note_place;
}

static void push_process(struct replay *replay, struct trace_heap *heap, uint32_t process)
{
    replay->failed |= !trace_heap_push(heap, &process);
}

/* Returns whether the collective is COLLECTIVE_PREFIX and has this rank. */
static bool has_rank(const struct replayed_collective *collective,
                     const struct trace_collectives_part *part)
{
    return part->kind == COLLECTIVE_PREFIX && part->rank >= 0 && part->rank < collective->size;
}

/* Removes a process from the list of those that wait for its collective. */
static void leave_list(struct replay *replay, const struct player *player)
{
    struct replayed_collective *collective = qmpi_table_get(&replay->collectives, player->awaited);
    if (collective && has_rank(collective, &player->part))
        collective->waiting_ranks[player->part.rank] = NOBODY;
    else if (player->previous != NOBODY)
        replay->players[player->previous].next = player->next;
    else if (collective)
        collective->waiting = player->next;
    if (player->next != NOBODY)
        replay->players[player->next].previous = player->previous;
}

/* Ends the waiting of a process. A process waits for one event at a time, so nothing else refers to
 * it. */
static void wake_process(struct replay *replay, uint32_t process)
{
    struct player *player = &replay->players[process];
    if (player->wait == WAIT_COLLECTIVE)
        leave_list(replay, player);
    else
        qmpi_table_remove(&replay->wanted, player->awaited);
    player->wait = WAIT_NONE;
    trace_heap_take(&replay->waiting, player->place);
    push_process(replay, &replay->ready, process);
}

static void wait_for_message(struct replay *replay, uint32_t process)
{
    struct player *player = &replay->players[process];
    uint32_t *waiting = qmpi_table_put(&replay->wanted, player->message);
    if (!waiting)
        return;
    *waiting = process;
    player->wait = WAIT_MESSAGE;
    player->awaited = player->message;
}

static void wait_for_members(struct replay *replay, struct replayed_collective *collective,
                             uint32_t process)
{
    struct player *player = &replay->players[process];
    player->wait = WAIT_COLLECTIVE;
    player->awaited = player->part.number;
    player->previous = player->next = NOBODY;
    if (has_rank(collective, &player->part)) {
        collective->waiting_ranks[player->part.rank] = process;
        return;
    }
    player->next = collective->waiting;
    if (player->next != NOBODY)
        replay->players[player->next].previous = process;
    collective->waiting = process;
}

static void advance_process(struct replay *replay, uint32_t process)
{
    struct player *player = &replay->players[process];
    player->number++;
    player->goes_on = false;
    player->has_event = trace_view_stream_next(player->stream, &player->event, &player->message);
    if (player->has_event)
        player->part =
            trace_collectives_next(&player->collectives, &player->event, player->message);
}

/* ---- Collectives ----------------------------------------------------------------------------- */

static struct replayed_collective *find_collective(struct replay *replay,
                                                   const struct trace_collectives_part *part)
{
    struct replayed_collective *collective = qmpi_table_get(&replay->collectives, part->number);
    if (collective)
        return collective;
    collective = qmpi_table_put(&replay->collectives, part->number);
    if (!collective)
        return NULL;
    *collective = (struct replayed_collective){.latest = INT64_MIN, .waiting = NOBODY};
    if (part->kind != COLLECTIVE_PREFIX || part->size <= 0)
        return collective;
    const size_t size = (size_t)part->size;
    collective->ranks = malloc(size * sizeof *collective->ranks);
    collective->waiting_ranks = malloc(size * sizeof *collective->waiting_ranks);
    if (!collective->ranks || !collective->waiting_ranks) {
        replay->failed = true;
        return NULL;
    }
    collective->size = part->size;
    for (size_t i = 0; i < size; i++) {
        collective->ranks[i] = INT64_MIN;
        collective->waiting_ranks[i] = NOBODY;
    }
    return collective;
}

static void wake_all(struct replay *replay, const struct replayed_collective *collective)
{
    while (collective->waiting != NOBODY)
        wake_process(replay, collective->waiting);
    for (int i = 0; i < collective->size; i++) {
        if (collective->waiting_ranks[i] != NOBODY)
            wake_process(replay, collective->waiting_ranks[i]);
    }
}

static void extend_prefix(struct replay *replay, struct replayed_collective *collective)
{
    int i = collective->prefix;
    for (; i < collective->size && collective->ranks[i] != INT64_MIN; i++) {
        if (i && collective->ranks[i - 1] > collective->ranks[i])
            collective->ranks[i] = collective->ranks[i - 1];
        collective->prefix = i + 1;
        if (i + 1 < collective->size && collective->waiting_ranks[i + 1] != NOBODY)
            wake_process(replay, collective->waiting_ranks[i + 1]);
    }
}

static void begin_member(struct replay *replay, const struct trace_collectives_part *part,
                         int64_t time)
{
    struct replayed_collective *collective = find_collective(replay, part);
    if (!collective)
        return;
    collective->begun++;
    if (time > collective->latest)
        collective->latest = time;
    if (part->is_root) {
        collective->root = time;
        collective->has_root = true;
    }
    if (has_rank(collective, part)) {
        if (collective->ranks[part->rank] == INT64_MIN)
            collective->ranks[part->rank] = time;
        extend_prefix(replay, collective);
    } else if (part->is_root || collective->begun >= part->size) {
        wake_all(replay, collective);
    }
}

/* Sets `latest` to the time when the last of the members for which this member waits has begun, or
 * to INT64_MIN if it waits for none. Returns false if one of them has not begun yet. */
static bool find_latest(const struct replayed_collective *collective,
                        const struct trace_collectives_part *part, int64_t *latest)
{
    *latest = INT64_MIN;
    if (!trace_collectives_waits(part))
        return true;
    if (part->kind == COLLECTIVE_FROM_ROOT) {
        *latest = collective->root;
        return collective->has_root;
    }
    if (part->kind != COLLECTIVE_PREFIX) {
        *latest = collective->latest;
        return collective->begun >= part->size;
    }
    if (!has_rank(collective, part) || !part->rank)
        return true;
    if (collective->prefix >= part->rank)
        *latest = collective->ranks[part->rank - 1];
    return collective->prefix >= part->rank;
}

static void end_member(struct replay *replay, const struct trace_collectives_part *part)
{
    struct replayed_collective *collective = qmpi_table_get(&replay->collectives, part->number);
    if (collective && ++collective->ended >= part->size) {
        wake_all(replay, collective); /* only necessary if a damaged trace has too many ends */
        free(collective->ranks);
        free(collective->waiting_ranks);
        qmpi_table_remove(&replay->collectives, part->number);
    }
}

/* ---- Events ---------------------------------------------------------------------------------- */

/* Sets `earliest` to the earliest possible time of the next event of a process, or to INT64_MIN if
 * any time is possible. Returns false if the event depends on an event that was not read yet; the
 * process then waits for that event. */
static bool find_earliest(struct replay *replay, uint32_t process, int64_t *earliest)
{
    struct player *player = &replay->players[process];
    int64_t latest = INT64_MIN;
    *earliest = INT64_MIN;
    if (player->message && trace_messages_is_receive(&player->event) &&
        trace_pairs_are_complete(replay->pairs, player->message)) {
        const int64_t *sent = qmpi_table_get(&replay->sent, player->message);
        /* In a damaged trace, a message may have two receives. Only the first one waits. */
        if (!sent && !player->goes_on && !qmpi_table_get(&replay->wanted, player->message)) {
            wait_for_message(replay, process);
            return player->wait == WAIT_NONE;
        }
        latest = sent ? *sent : INT64_MIN;
    } else if (player->part.role == COLLECTIVE_ENDS) {
        struct replayed_collective *collective =
            qmpi_table_get(&replay->collectives, player->part.number);
        if (collective && !find_latest(collective, &player->part, &latest) && !player->goes_on) {
            wait_for_members(replay, collective, process);
            return false;
        }
    }
    if (latest != INT64_MIN)
        *earliest = trace_clock_add(latest, replay->latency);
    return true;
}

static void note_event(struct replay *replay, uint32_t process, int64_t time)
{
    struct player *player = &replay->players[process];
    if (player->part.role == COLLECTIVE_BEGINS) {
        begin_member(replay, &player->part, time);
    } else if (player->part.role == COLLECTIVE_ENDS) {
        end_member(replay, &player->part);
    } else if (player->message && trace_messages_is_receive(&player->event)) {
        qmpi_table_remove(&replay->sent, player->message);
    } else if (player->message && trace_messages_is_send(&player->event) &&
               trace_pairs_are_complete(replay->pairs, player->message)) {
        int64_t *sent = qmpi_table_put(&replay->sent, player->message);
        if (sent)
            *sent = time;
        const uint32_t *waiting = qmpi_table_get(&replay->wanted, player->message);
        if (waiting)
            wake_process(replay, *waiting);
    }
}

/* Replays the next event of a process. Returns false if the process must wait. */
static bool play_event(struct replay *replay, uint32_t process)
{
    struct player *player = &replay->players[process];
    struct trace_corrections_knots *knots = &replay->corrections->processes[process];
    int64_t earliest;
    if (!find_earliest(replay, process, &earliest))
        return false;
    int64_t time = trace_corrections_forward(knots->count ? &knots->all[knots->count - 1] : NULL,
                                             player->event.time);
    if (earliest > time) {
        const struct trace_corrections_knot knot = {.event = player->number,
                                                    .time = player->event.time,
                                                    .corrected = earliest,
                                                    .shift = trace_clock_subtract(earliest, time)};
        ++*(player->part.role == COLLECTIVE_ENDS ? &replay->corrections->collectives
                                                 : &replay->corrections->messages);
        replay->failed |= !trace_corrections_add_knot(replay->corrections, process, knot);
        time = earliest;
    }
    note_event(replay, process, time);
    return true;
}

/* Called if no process is ready. Returns false if none is left. If all that are left wait, the
 * trace is incomplete, because this cannot have happened in the program. The process with the
 * earliest event then continues without waiting. */
static bool go_on_without(struct replay *replay)
{
    const uint32_t *first = trace_heap_first(&replay->waiting);
    if (!first)
        return false;
    replay->players[*first].goes_on = true;
    wake_process(replay, *first);
    return true;
}

static void replay_all(struct replay *replay)
{
    while (!replay->failed && (replay->ready.count || go_on_without(replay))) {
        const uint32_t process = *(const uint32_t *)trace_heap_first(&replay->ready);
        trace_heap_take(&replay->ready, 0);
        if (!play_event(replay, process)) {
            push_process(replay, &replay->waiting, process);
            continue;
        }
        advance_process(replay, process);
        if (replay->players[process].has_event)
            push_process(replay, &replay->ready, process);
    }
}

/* ---- All processes --------------------------------------------------------------------------- */

static void start_player(struct replay *replay, uint32_t process)
{
    struct player *player = &replay->players[process];
    player->number = UINT64_MAX; /* the first event is 0 */
    player->stream = trace_view_stream_make(replay->view, process);
    if (!player->stream ||
        !trace_collectives_start(&player->collectives, &replay->view->trace->processes[process])) {
        replay->failed = true;
        return;
    }
    advance_process(replay, process);
    if (player->has_event)
        push_process(replay, &replay->ready, process);
}

static void free_replayed_collective(void *data, uint64_t key, void *value)
{
    const struct replayed_collective *collective = value;
    (void)data;
    (void)key;
    free(collective->ranks);
    free(collective->waiting_ranks);
}

static bool replay_events(struct trace_corrections *corrections, const struct trace_view *view,
                          int64_t latency, const struct trace_pairs *pairs)
{
    const size_t count = view->trace->process_count;
    struct replay replay = {
        .view = view, .latency = latency, .corrections = corrections, .pairs = pairs};
    replay.players = calloc(count + 1, sizeof *replay.players);
    start_heap(&replay, &replay.ready);
    start_heap(&replay, &replay.waiting);
    qmpi_table_start(&replay.sent, sizeof(int64_t));
    qmpi_table_start(&replay.wanted, sizeof(uint32_t));
    qmpi_table_start(&replay.collectives, sizeof(struct replayed_collective));
    replay.failed = !replay.players;
    for (uint32_t i = 0; i < count && !replay.failed; i++) {
        if (trace_view_has(view, i))
            start_player(&replay, i);
    }
    replay_all(&replay);
    for (uint32_t i = 0; replay.players && i < count; i++) {
        if (replay.players[i].stream)
            replay.failed |= trace_view_stream_failed(replay.players[i].stream);
        trace_view_stream_free(replay.players[i].stream);
        trace_collectives_free(&replay.players[i].collectives);
    }
    replay.failed |= replay.sent.failed || replay.wanted.failed || replay.collectives.failed;
    qmpi_table_each(&replay.collectives, free_replayed_collective, NULL);
    qmpi_table_free(&replay.sent);
    qmpi_table_free(&replay.wanted);
    qmpi_table_free(&replay.collectives);
    free(replay.players);
    trace_heap_free(&replay.ready);
    trace_heap_free(&replay.waiting);
    return !replay.failed;
}

/* ---- Limits ---------------------------------------------------------------------------------- */

/* The send of a message or the begin of a collective, which backward amortization may move. */
struct movable {
    uint32_t process;
    size_t knot; /* the index of the next knot, or SIZE_MAX if backward amortization does not move
                    it */
    int64_t time, corrected;
};

/* One end of a message whose other end has not been read yet: the send (`begin`), or the corrected
 * time of the receive (`received`). */
struct message_end {
    bool is_send;
    struct movable begin;
    int64_t received;
};

struct limited_collective {
    int begun, ended;
    int64_t first_end;
    struct movable *begins;
    size_t begin_count, begin_room;
};

struct follower {
    struct trace_collectives collectives;
    /* `position.next` is the index of the knot after the current event. */
    struct trace_corrections_position position;
};

struct search {
    const struct trace_view *view;
    int64_t latency;
    struct trace_corrections *corrections;
    const struct trace_pairs *pairs;
    struct follower *followers;
    struct qmpi_table messages, collectives; /* values are struct message_end and struct
                                                limited_collective */
    bool failed;
};

static void add_limit(struct search *search, const struct movable *begin, int64_t end)
{
    if (begin->knot == SIZE_MAX)
        return;
    struct trace_corrections_knot *knot =
        &search->corrections->processes[begin->process].all[begin->knot];
    int64_t most =
        trace_clock_subtract(trace_clock_subtract(end, search->latency), begin->corrected);
    most = most < 0 ? 0 : most;
    if (most >= trace_corrections_backward(knot, begin->time))
        return;
    if (!QMPI_MEMORY_RESERVE(knot->limits, knot->limit_room, knot->limit_count + 1)) {
        search->failed = true;
        return;
    }
    knot->limits[knot->limit_count++] = (struct trace_corrections_limit){begin->time, most};
}

static void pair_message(struct search *search, const struct trace_event *event, uint64_t message,
                         const struct movable *here)
{
    const bool is_send = trace_messages_is_send(event);
    struct message_end *other = qmpi_table_get(&search->messages, message);
    if (!other) {
        other = qmpi_table_put(&search->messages, message);
        if (other)
            *other = (struct message_end){is_send, *here, here->corrected};
        return;
    }
    if (other->is_send != is_send)
        add_limit(search, is_send ? here : &other->begin,
                  is_send ? other->received : here->corrected);
    qmpi_table_remove(&search->messages, message);
}

static void begin_limited(struct search *search, const struct trace_collectives_part *part,
                          const struct movable *here)
{
    struct limited_collective *collective = qmpi_table_put(&search->collectives, part->number);
    if (!collective)
        return;
    if (!collective->begun++)
        collective->first_end = INT64_MAX;
    if (here->knot == SIZE_MAX || (part->kind == COLLECTIVE_FROM_ROOT && !part->is_root))
        return;
    if (QMPI_MEMORY_RESERVE(collective->begins, collective->begin_room,
                            collective->begin_count + 1))
        collective->begins[collective->begin_count++] = *here;
    else
        search->failed = true;
}

static void finish_collective(struct search *search, struct limited_collective *collective)
{
    for (size_t i = 0; i < collective->begin_count && collective->first_end != INT64_MAX; i++)
        add_limit(search, &collective->begins[i], collective->first_end);
    free(collective->begins);
    collective->begins = NULL;
    collective->begin_count = collective->begin_room = 0;
}

static void end_limited(struct search *search, const struct trace_collectives_part *part,
                        int64_t corrected)
{
    struct limited_collective *collective = qmpi_table_get(&search->collectives, part->number);
    if (!collective)
        return;
    const bool waits = trace_collectives_waits(part);
    if (waits && corrected < collective->first_end)
        collective->first_end = corrected;
    if (++collective->ended >= part->size && collective->begun >= part->size) {
        finish_collective(search, collective);
        qmpi_table_remove(&search->collectives, part->number);
    }
}

static void add_limits_of_event(struct search *search, const struct trace_event *event,
                                uint32_t process, uint64_t message)
{
    struct follower *follower = &search->followers[process];
    const struct trace_corrections_knots *knots = &search->corrections->processes[process];
    struct trace_corrections_position *position = &follower->position;
    while (position->next < knots->count && knots->all[position->next].event <= position->event)
        position->next++;
    position->event++;
    const struct trace_collectives_part part =
        trace_collectives_next(&follower->collectives, event, message);
    if (!message && part.role == COLLECTIVE_NO_PART)
        return;
    struct movable here = {
        process, position->next, event->time,
        trace_corrections_forward(position->next ? &knots->all[position->next - 1] : NULL,
                                  event->time)};
    if (here.knot == knots->count ||
        !trace_corrections_backward(&knots->all[here.knot], event->time))
        here.knot = SIZE_MAX;
    if (part.role == COLLECTIVE_BEGINS && part.kind != COLLECTIVE_OTHER)
        begin_limited(search, &part, &here);
    else if (part.role == COLLECTIVE_ENDS && part.kind != COLLECTIVE_OTHER)
        end_limited(search, &part, here.corrected);
    else if (message && (trace_messages_is_send(event) || trace_messages_is_receive(event)) &&
             trace_pairs_are_complete(search->pairs, message))
        pair_message(search, event, message, &here);
}

static void finish_left_collective(void *data, uint64_t key, void *value)
{
    (void)key;
    finish_collective(data, value);
}

static bool find_limits(struct trace_corrections *corrections, const struct trace_view *view,
                        int64_t latency, const struct trace_pairs *pairs)
{
    const struct trace *trace = view->trace;
    struct search search = {
        .view = view, .latency = latency, .corrections = corrections, .pairs = pairs};
    struct trace_event event;
    uint32_t process;
    uint64_t message;
    qmpi_table_start(&search.messages, sizeof(struct message_end));
    qmpi_table_start(&search.collectives, sizeof(struct limited_collective));
    search.followers = calloc(trace->process_count + 1, sizeof *search.followers);
    search.failed = !search.followers;
    for (size_t i = 0; i < trace->process_count && !search.failed; i++)
        search.failed =
            !trace_collectives_start(&search.followers[i].collectives, &trace->processes[i]);
    struct trace_view_merged *merged = search.failed ? NULL : trace_view_merged_make(view);
    while (merged && trace_view_merged_next(merged, &event, &process, &message))
        add_limits_of_event(&search, &event, process, message);
    qmpi_table_each(&search.collectives, finish_left_collective, &search);
    search.failed |= !merged || trace_view_merged_failed(merged) || search.messages.failed ||
                     search.collectives.failed;
    for (size_t i = 0; i < trace->process_count && search.followers; i++)
        trace_collectives_free(&search.followers[i].collectives);
    trace_view_merged_free(merged);
    qmpi_table_free(&search.messages);
    qmpi_table_free(&search.collectives);
    free(search.followers);
    return !search.failed;
}

/* ---- Both readings --------------------------------------------------------------------------- */

struct trace_corrections *trace_corrections_find(const struct trace_view *view, int64_t latency)
{
    struct trace_pairs pairs;
    struct trace_corrections *corrections = trace_corrections_make(view->trace->process_count);
    bool good = trace_pairs_find(&pairs, view) && corrections;
    good = good && replay_events(corrections, view, latency, &pairs) &&
           find_limits(corrections, view, latency, &pairs);
    trace_pairs_free(&pairs);
    if (!good) {
        trace_corrections_free(corrections);
        return NULL;
    }
    trace_corrections_order_limits(corrections);
    return corrections;
}
