/* SPDX-License-Identifier: MIT */
/* See progress.h. A flight is read word by word; it was whole if its mark is the same afterwards.
 */
#include "write/progress.h"

#include "layer.h"
#include "record/recorder.h"
#include "write/file.h"
#include "write/translate.h"

struct progress progress_find(const struct recorder *recorder)
{
    const struct flight *flight = &recorder->flights.first;
    for (; flight; flight = FLIGHT_GET(flight->inner)) {
        const uint64_t mark = FLIGHT_GET(flight->mark);
        if (flight_state(mark) == FLIGHT_RUNS)
            return (struct progress){flight, mark};
        if (flight_state(mark) == FLIGHT_ENDED)
            break;
    }
    return (struct progress){NULL, 0};
}

bool progress_is_current(const struct progress *progress)
{
    return !progress->flight || FLIGHT_GET(progress->flight->mark) == progress->mark;
}

void progress_put(struct layer *layer, const struct recorder *recorder,
                  const struct progress *progress, int64_t least)
{
    const struct flight *flight = progress->flight;
    const uint64_t now = ticks_now();
    uint64_t begin = 0;
    if (!flight || !atomic_load(&recorder->has_location))
        return;
    const uint64_t number = FLIGHT_GET(flight->number);
    const QMPIX_Call *call = FLIGHT_GET(flight->call);
    const uint32_t location = atomic_load(&recorder->location),
                   level = atomic_load(&recorder->stream);
    const int64_t thread_id = atomic_load(&recorder->thread_id);
    if (!tool_safe_copy(&begin, (const char *)call + flights_begin_place, sizeof begin) ||
        flight_is_overwritten(flight, FLIGHT_GET(flight->word)) || !progress_is_current(progress))
        return;
    if (!begin || begin > now)
        begin = now; /* it is about to begin */
    if ((int64_t)ticks_nanoseconds(now - begin) < least)
        return;
    struct stream *stream = stream_of(layer, location, level, thread_id);
    /* If the last event is later, the call has just been recorded. */
    const bool is_open = stream && stream->has_early && stream->early_ticks == begin;
    if (stream && !is_open && stream->last <= begin)
        translate_early(layer, stream, number, begin);
}

static uint64_t last_event(const struct writer *writer)
{
    uint64_t last = 0;
    for (uint32_t i = 0; i < writer->stream_count; i++) {
        for (const struct stream *stream = writer->streams[i]; stream; stream = stream->next)
            last = stream->last > last ? stream->last : last;
    }
    return last;
}

/* The longer nothing happens, the less often: an eighth of the time may be missing. */
void progress_put_alive(struct layer *layer)
{
    struct writer *writer = &layer->writer;
    const uint64_t now = ticks_now(), last = last_event(writer);
    if (!last || now <= last || (int64_t)ticks_nanoseconds(now - last) < PROGRESS_LEAST)
        return;
    if (writer->alive > last && now - writer->alive < (now - last) / 8)
        return;
    writer->alive = now;
    trace_put_alive(&writer->records, now);
    file_write_alive(layer, &writer->records);
}
