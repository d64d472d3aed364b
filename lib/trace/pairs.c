/* SPDX-License-Identifier: MIT */
/* See pairs.h. */
#include "trace/pairs.h"

/* The end of a message that was seen first. */
struct end {
    int64_t time;
    bool is_send;
};

struct pairing {
    struct trace_pairs *pairs;
    struct trace_table pending; /* struct end */
};

static void add(struct pairing *pairing, const struct trace_event *event, uint64_t message)
{
    struct trace_pairs *pairs = pairing->pairs;
    const struct end here = {event->time, trace_is_send(event)};
    struct end *other = trace_table_get(&pairing->pending, message);
    if (!other) {
        other = trace_table_put(&pairing->pending, message);
        if (other)
            *other = here;
        return;
    }
    if (other->is_send == here.is_send) /* two messages cannot be told apart */
        return;
    const int64_t sent = here.is_send ? here.time : other->time;
    const int64_t received = here.is_send ? other->time : here.time;
    trace_table_remove(&pairing->pending, message);
    if (received > sent) {
        pairs->messages++;
        return;
    }
    pairs->reversed++;
    if (sent - received > pairs->worst)
        pairs->worst = sent - received;
    unsigned char *is_complete = trace_table_put(&pairs->others, message);
    if (is_complete)
        *is_complete = 1;
}

static void note_single(void *data, uint64_t message, void *value)
{
    struct trace_pairs *pairs = data;
    const struct end *end = value;
    ++*(end->is_send ? &pairs->sent : &pairs->received);
    trace_table_put(&pairs->others, message);
}

bool trace_pairs_find(struct trace_pairs *pairs, const struct trace_view *view)
{
    struct pairing pairing = {.pairs = pairs};
    struct trace_event event;
    uint32_t process;
    uint64_t message;
    *pairs = (struct trace_pairs){0};
    trace_table_start(&pairs->others, 1);
    trace_table_start(&pairing.pending, sizeof(struct end));
    struct trace_merged *merged = trace_merged_make(view);
    while (merged && trace_merged_next(merged, &event, &process, &message)) {
        if (message && (trace_is_send(&event) || trace_is_receive(&event)))
            add(&pairing, &event, message);
    }
    trace_table_each(&pairing.pending, note_single, pairs);
    const bool good =
        merged && !trace_merged_failed(merged) && !pairing.pending.failed && !pairs->others.failed;
    trace_table_free(&pairing.pending);
    trace_merged_free(merged);
    return good;
}

void trace_pairs_free(struct trace_pairs *pairs)
{
    trace_table_free(&pairs->others);
}

bool trace_pairs_are_complete(const struct trace_pairs *pairs, uint64_t message)
{
    const unsigned char *is_complete = trace_table_get(&pairs->others, message);
    return message && (!is_complete || *is_complete);
}

bool trace_pairs_have(const struct trace_pairs *pairs, uint64_t message)
{
    return message && (!pairs || !trace_table_get(&pairs->others, message));
}
