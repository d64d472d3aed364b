/* SPDX-License-Identifier: MIT */
/* See pairs.h. */
#include "tools/trace/analysis/pairs.h"

/* One end of a message whose other end has not been read yet. */
struct pair_end {
    int64_t time;
    bool is_send;
};

struct pairing {
    struct trace_pairs *pairs;
    struct qmpi_table pending; /* values are struct pair_end */
};

static void add_end(struct pairing *pairing, const struct trace_event *event, uint64_t message)
{
    struct trace_pairs *pairs = pairing->pairs;
    const struct pair_end here = {event->time, trace_messages_is_send(event)};
    struct pair_end *other = qmpi_table_get(&pairing->pending, message);
    if (!other) {
        other = qmpi_table_put(&pairing->pending, message);
        if (other)
            *other = here;
        return;
    }
    if (other->is_send == here.is_send) /* two ends of the same kind cannot be distinguished */
        return;
    const int64_t sent = here.is_send ? here.time : other->time;
    const int64_t received = here.is_send ? other->time : here.time;
    qmpi_table_remove(&pairing->pending, message);
    if (received > sent) {
        pairs->messages++;
        return;
    }
    pairs->reversed++;
    if (sent - received > pairs->worst)
        pairs->worst = sent - received;
    unsigned char *is_complete = qmpi_table_put(&pairs->others, message);
    if (is_complete)
        *is_complete = 1;
}

static void count_single_end(void *data, uint64_t message, void *value)
{
    struct trace_pairs *pairs = data;
    const struct pair_end *end = value;
    ++*(end->is_send ? &pairs->sent : &pairs->received);
    qmpi_table_put(&pairs->others, message);
}

bool trace_pairs_find(struct trace_pairs *pairs, const struct trace_view *view)
{
    struct pairing pairing = {.pairs = pairs};
    struct trace_event event;
    uint32_t process;
    uint64_t message;
    *pairs = (struct trace_pairs){0};
    qmpi_table_start(&pairs->others, 1);
    qmpi_table_start(&pairing.pending, sizeof(struct pair_end));
    struct trace_view_merged *merged = trace_view_merged_make(view);
    while (merged && trace_view_merged_next(merged, &event, &process, &message)) {
        if (!trace_messages_is_send(&event) && !trace_messages_is_receive(&event))
            continue;
        if (message)
            add_end(&pairing, &event, message);
        else
            pairs->unnumbered += event.peer != TRACE_PROC_NULL;
    }
    qmpi_table_each(&pairing.pending, count_single_end, pairs);
    const bool good = merged && !trace_view_merged_failed(merged) && !pairing.pending.failed &&
                      !pairs->others.failed;
    qmpi_table_free(&pairing.pending);
    trace_view_merged_free(merged);
    return good;
}

void trace_pairs_free(struct trace_pairs *pairs)
{
    qmpi_table_free(&pairs->others);
}

bool trace_pairs_are_complete(const struct trace_pairs *pairs, uint64_t message)
{
    const unsigned char *is_complete = qmpi_table_get(&pairs->others, message);
    return message && (!is_complete || *is_complete);
}

bool trace_pairs_have(const struct trace_pairs *pairs, uint64_t message)
{
    return message && (!pairs || !qmpi_table_get(&pairs->others, message));
}
