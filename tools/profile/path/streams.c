/* SPDX-License-Identifier: MIT */
/* See streams.h. */
#include "path/streams.h"

#include "util/util.h"

#include <stddef.h>

/* ---- Streams that are in use ----------------------------------------------------------------- */

static struct path_stream **bucket_of(struct path_streams *streams, const struct path_comm *comm,
                                      int source, int tag)
{
    const uint64_t key =
        (uint64_t)(uintptr_t)comm ^ (uint64_t)(unsigned)source << 32 ^ (uint64_t)(unsigned)tag << 8;
    return &streams->buckets[key * UINT64_C(0x9e3779b97f4a7c15) >> (64 - PATH_STREAM_BITS)];
}

static struct path_stream *find(struct path_streams *streams, const struct path_comm *comm,
                                int source, int tag)
{
    struct path_stream *stream = *bucket_of(streams, comm, source, tag);
    while (stream && (stream->comm != comm || stream->source != source || stream->tag != tag))
        stream = stream->next;
    return stream;
}

static struct path_stream *get(struct path_streams *streams, struct path_comm *comm, int source,
                               int tag)
{
    struct path_stream *stream = find(streams, comm, source, tag);
    if (stream)
        return stream;
    stream = streams->unused;
    if (stream)
        streams->unused = stream->next;
    else if (!(stream = qmpi_arena_take(sizeof *stream)))
        return NULL;
    struct path_stream **bucket = bucket_of(streams, comm, source, tag);
    *stream = (struct path_stream){comm, source, tag, NULL, NULL, NULL, *bucket};
    *bucket = stream;
    comm->users++;
    return stream;
}

static void drop_if_unused(struct path_streams *streams, struct path_stream *stream)
{
    struct path_stream **place = bucket_of(streams, stream->comm, stream->source, stream->tag);
    if (stream->first || stream->values)
        return;
    while (*place != stream)
        place = &(*place)->next;
    *place = stream->next;
    stream->next = streams->unused;
    streams->unused = stream;
    path_comm_release(stream->comm);
}

/* ---- Posted receives ------------------------------------------------------------------------- */

static bool is_wild(const struct path_request *receive)
{
    return receive->source == MPI_ANY_SOURCE || receive->tag == MPI_ANY_TAG;
}

static struct path_request **first_of(struct path_request *receive)
{
    return receive->stream ? &receive->stream->first : &receive->comm->wild;
}

static struct path_request **last_of(struct path_request *receive)
{
    return receive->stream ? &receive->stream->last : &receive->comm->last_wild;
}

static void unlink_receive(struct path_request *receive)
{
    if (receive->previous)
        receive->previous->following = receive->following;
    else
        *first_of(receive) = receive->following;
    if (receive->following)
        receive->following->previous = receive->previous;
    else
        *last_of(receive) = receive->previous;
    receive->previous = receive->following = NULL;
    receive->is_active = false;
}

void path_stream_withdraw(struct path_streams *streams, struct path_request *receive)
{
    struct path_comm *comm = receive->comm;
    struct path_stream *stream = receive->stream;
    if (!receive->is_active)
        return;
    unlink_receive(receive);
    if (stream)
        drop_if_unused(streams, stream);
    path_comm_release(comm);
}

/* What a receive took that may have completed, without completing its request. */
void path_stream_resolve(struct path_request *receive)
{
    MPI_Status status = {0};
    int flag = 0, cancelled = 0;
    if (receive->is_resolved || receive->is_freed ||
        PMPI_Request_get_status(receive->request, &flag, &status) != MPI_SUCCESS || !flag)
        return;
    PMPI_Test_cancelled(&status, &cancelled);
    receive->is_resolved = true;
    receive->matched_source = cancelled ? MPI_PROC_NULL : status.MPI_SOURCE;
    receive->matched_tag = status.MPI_TAG;
}

/* Whether a receive that was posted earlier has taken a message of the stream. Another thread may
 * be completing its request, which must not be looked at then. */
static bool has_taken(const struct path_streams *streams, struct path_request *receive, int source,
                      int tag)
{
    if (!is_wild(receive) && !receive->is_cancelled && !receive->is_resolved)
        return true;
    if ((receive->source != MPI_ANY_SOURCE && receive->source != source) ||
        (receive->tag != MPI_ANY_TAG && receive->tag != tag))
        return false;
    if (!streams->is_threaded && !(receive->is_persistent && streams->asking_ends))
        path_stream_resolve(receive);
    return receive->is_resolved && receive->matched_source == source && receive->matched_tag == tag;
}

static size_t count_earlier(const struct path_streams *streams, struct path_request *first,
                            const struct path_request *receive, int source, int tag)
{
    size_t count = 0;
    for (struct path_request *it = first; it && it != receive; it = it->following) {
        if (receive && it->serial > receive->serial)
            break;
        count += has_taken(streams, it, source, tag);
    }
    return count;
}

/* ---- Clocks ---------------------------------------------------------------------------------- */

static bool receive_value(const struct path_comm *comm, int source, int tag, uint64_t *value)
{
    *value = 0;
    return PMPI_Recv(value, 1, MPI_UINT64_T, source, tag, comm->shadow, MPI_STATUS_IGNORE) ==
           MPI_SUCCESS;
}

static bool has_come(const struct path_stream *stream)
{
    int flag = 0;
    return PMPI_Iprobe(stream->source, stream->tag, stream->comm->shadow, &flag,
                       MPI_STATUS_IGNORE) == MPI_SUCCESS &&
           flag;
}

static bool fetch(struct path_streams *streams, struct path_stream *stream, struct path_value **end)
{
    struct path_value *value = streams->unused_values;
    if (!value && !(value = qmpi_arena_take(sizeof *value)))
        return false;
    streams->unused_values = value->next;
    value->next = NULL;
    if (!receive_value(stream->comm, stream->source, stream->tag, &value->value)) {
        value->next = streams->unused_values;
        streams->unused_values = value;
        return false;
    }
    *end = value;
    return true;
}

static uint64_t remove_value(struct path_streams *streams, struct path_value **place)
{
    struct path_value *value = *place;
    *place = value->next;
    value->next = streams->unused_values;
    streams->unused_values = value;
    return value->value;
}

/* Takes the value that comes after `earlier` others. If the order of the receives is not known for
 * certain, only as many are waited for as messages were received. */
static uint64_t take_value(struct path_streams *streams, struct path_stream *stream, size_t earlier)
{
    struct path_value **place = &stream->values;
    for (size_t i = 0;; i++) {
        if (!*place && (i && streams->is_threaded) && !has_come(stream))
            break;
        if (!*place && !fetch(streams, stream, place))
            break;
        if (i == earlier)
            return remove_value(streams, place);
        place = &(*place)->next;
    }
    /* The last one that is there belongs to a neighboring message. */
    struct path_value **last = &stream->values;
    while (*last && (*last)->next)
        last = &(*last)->next;
    return *last ? remove_value(streams, last) : 0;
}

/* ---- Receives that were given up ------------------------------------------------------------- */

static void forget(struct path_streams *streams, struct path_request *receive)
{
    struct path_comm *comm = receive->comm;
    unlink_receive(receive);
    path_request_drop(streams->requests, receive);
    path_comm_release(comm);
}

/* Those that were posted before `receive` (NULL: all): their messages have come, too. */
static void forget_earlier(struct path_streams *streams, struct path_stream *stream,
                           const struct path_request *receive)
{
    struct path_value **place = &stream->values;
    struct path_request *it = stream->first, *next;
    for (; it && it != receive && !(receive && it->serial > receive->serial); it = next) {
        next = it->following;
        if (it->is_freed && *place)
            remove_value(streams, place);
        else if (*place)
            place = &(*place)->next;
        if (it->is_freed)
            forget(streams, it);
    }
}

/* Those before which no other one waits, if their messages have come. */
static void forget_come(struct path_streams *streams, struct path_stream *stream)
{
    while (stream->first && stream->first->is_freed && (stream->values || has_come(stream))) {
        if (stream->values || fetch(streams, stream, &stream->values))
            remove_value(streams, &stream->values);
        forget(streams, stream->first);
    }
}

/* ---- Receives that are posted, and complete ---------------------------------------------------
 */

void path_stream_post(struct path_streams *streams, struct path_request *receive)
{
    receive->stream = NULL;
    if (!is_wild(receive)) {
        receive->stream = get(streams, receive->comm, receive->source, receive->tag);
        if (!receive->stream)
            return;
        forget_come(streams, receive->stream);
    }
    receive->serial = ++streams->posted;
    receive->is_resolved = receive->is_cancelled = false;
    receive->is_active = true;
    receive->following = NULL;
    receive->previous = *last_of(receive);
    if (receive->previous)
        receive->previous->following = receive;
    else
        *first_of(receive) = receive;
    *last_of(receive) = receive;
    receive->comm->users++;
}

uint64_t path_stream_take(struct path_streams *streams, struct path_comm *comm, int source, int tag,
                          struct path_request *receive)
{
    uint64_t value;
    struct path_stream *stream = find(streams, comm, source, tag);
    size_t earlier = count_earlier(streams, comm->wild, receive, source, tag);
    if (stream)
        earlier += count_earlier(streams, stream->first, receive, source, tag);
    if (!stream && earlier)
        stream = get(streams, comm, source, tag);
    if (!stream) {
        receive_value(comm, source, tag, &value);
    } else {
        value = take_value(streams, stream, earlier);
        forget_earlier(streams, stream, receive);
    }
    comm->users++; /* until we are done with it */
    if (receive)
        path_stream_withdraw(streams, receive);
    if (stream && (!receive || receive->stream != stream))
        drop_if_unused(streams, stream);
    path_comm_release(comm);
    return value;
}
