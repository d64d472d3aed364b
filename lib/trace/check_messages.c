/* SPDX-License-Identifier: MIT */
/* The messages of check_parts.h: both ends are compared when the second one is seen. */
#include "trace/check_parts.h"
#include "trace/export.h"

#include <inttypes.h>

struct end {
    struct check_place place;
    uint64_t bytes;
    int peer, tag;
    uint32_t comm;
    bool is_send;
};

void check_messages_start(struct checking *checking)
{
    trace_table_start(&checking->messages, sizeof(struct end));
}

static const struct trace_process *process_of(const struct checking *checking,
                                              const struct end *end)
{
    return &checking->view->trace->processes[end->place.process];
}

/* Whether another message of the channel, which waits for its receive, has so many bytes: then it
 * is the order that is wrong. */
static bool is_overtaken(const struct checking *checking, uint64_t message, uint64_t bytes)
{
    enum { NEIGHBOURS = 64 }; /* messages of a channel have numbers that follow one another */
    for (uint64_t i = 1; i <= NEIGHBOURS; i++) {
        const struct end *next = trace_table_get(&checking->messages, message + i);
        if (next && next->is_send && next->bytes == bytes)
            return true;
    }
    return false;
}

static void compare(struct checking *checking, uint64_t message, const struct end *send,
                    const struct end *receive)
{
    char sender[TRACE_NAME_SIZE];
    trace_process_name(process_of(checking, send), sender);
    checking->check->messages++;
    if (receive->place.time < send->place.time - checking->bound)
        check_note(checking, &receive->place,
                   "the message from %s with tag %d is received %" PRId64
                   " ns before it is sent; clocks may differ by %" PRId64 " ns",
                   sender, send->tag, send->place.time - receive->place.time, checking->bound);
    if (receive->bytes > send->bytes)
        check_note(checking, &receive->place,
                   "%" PRIu64 " bytes are received of the message from %s with tag %d, in which "
                   "%" PRIu64 " bytes were sent%s",
                   receive->bytes, sender, send->tag, send->bytes,
                   is_overtaken(checking, message, receive->bytes)
                       ? ": a later message has overtaken it"
                       : "");
}

void check_message(struct checking *checking, const struct check_place *place,
                   const struct trace_event *event, uint64_t message)
{
    const struct end here = {*place,     event->bytes, event->peer,
                             event->tag, event->comm,  trace_is_send(event)};
    struct end *other = trace_table_get(&checking->messages, message);
    if (!other) {
        other = trace_table_put(&checking->messages, message);
        if (other)
            *other = here;
        return;
    }
    if (other->is_send == here.is_send)
        return;
    const struct end found = *other;
    trace_table_remove(&checking->messages, message);
    compare(checking, message, here.is_send ? &here : &found, here.is_send ? &found : &here);
}

static void note_single(void *data, uint64_t message, void *value)
{
    struct checking *checking = data;
    const struct end *end = value;
    const struct trace_process *process = process_of(checking, end);
    const int rank = trace_world_rank(process, end->comm, end->peer);
    char comm[TRACE_NAME_SIZE];
    uint32_t other;
    (void)message;
    if (!check_find_rank(checking, rank, &other) || checking->processes[other].lacks_messages)
        return;
    const char *name = trace_comm_name(process, end->comm, comm);
    if (end->is_send)
        check_note(checking, &end->place,
                   "the message of %" PRIu64 " bytes to rank %d with tag %d in %s is not received",
                   end->bytes, rank, end->tag, name);
    else
        check_note(checking, &end->place,
                   "the message of %" PRIu64 " bytes from rank %d with tag %d in %s was not sent",
                   end->bytes, rank, end->tag, name);
}

void check_messages_end(struct checking *checking)
{
    const struct trace_selection *selection = &checking->view->selection;
    if (!selection->has_begin && !selection->has_end)
        trace_table_each(&checking->messages, note_single, checking);
}
