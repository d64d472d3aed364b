/* SPDX-License-Identifier: MIT */
/*
 * Tests the files of traces. A file is read exactly as it was written. A file that is cut
 * anywhere behind its first 8 bytes is read up to that place. Damage is detected, and intact parts
 * are still read.
 */
#define _GNU_SOURCE
#include "trace_random.h"

#include "tools/trace/file/block.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#ifdef PROFILE_HAVE_ZLIB
#include <zlib.h>
#endif

#define TABLES 5

static bool ends_call(const struct trace_event *event)
{
    return event->kind == TRACE_LEAVE || event->kind == TRACE_INTERRUPTED;
}

/* Returns whether the call that event `i` begins also ends among these events. */
static bool is_left(const struct trace_event *events, size_t count, size_t i)
{
    size_t inner = 1;
    for (i++; i < count && inner; i++)
        inner = events[i].kind == TRACE_ENTER ? inner + 1 : inner - ends_call(&events[i]);
    return !inner;
}

static void events_are_read_as_they_were_written(void **unused)
{
    (void)unused;
    for (uint64_t seed = 1; seed <= 2000; seed++) {
        uint64_t state = seed * UINT64_C(0x9e3779b97f4a7c15);
        struct trace_process process;
        struct trace_bytes out = {0};
        random_process(&state, &process, TABLES);
        size_t count = random_under(&state, seed % 50 ? 200 : 20000), open, read;
        struct trace_event *events =
            random_events(&state, count, TABLES, random_number(&state), seed % 2, &open);
        put_process(&out, &process);
        put_events(&out, &state, events, count, (uint32_t)random_under(&state, TABLES), 0,
                   random_under(&state, 10));
        struct trace *trace = open_trace(set_file(out.data, out.size));
        assert_string_equal(trace->warnings, "");
        struct trace_event *found =
            read_events(trace_cursor_make(trace, TRACE_NONE, TRACE_NONE, NULL), &read);
        assert_int_equal(read, count);
        for (size_t i = 0; i < count; i++) {
            if (!is_same_event(&found[i], &events[i]))
                fail_msg("seed %llu: event %zu of %zu", (unsigned long long)seed, i, count);
            if (count < 200 && events[i].kind == TRACE_ENTER)
                assert_int_equal(found[i].is_known, is_left(events, count, i));
            assert_int_equal(found[i].time,
                             trace_reader_time(trace, &trace->processes[0], events[i].ticks));
        }
        free(found);
        free(events);
        trace_reader_close(trace);
        trace_definitions_clear(&process);
        trace_bytes_free(&out);
    }
}

/* If the tool records impossible events, the writer corrects them or leaves them out. */
static void impossible_events_are_corrected_or_left_out(void **unused)
{
    (void)unused;
    struct trace_process process;
    struct trace_bytes out = {0};
    uint64_t state = 3;
    size_t count;
    random_process(&state, &process, TABLES);
    process.point_count = 0;
    put_process(&out, &process);
    struct trace_event_encoder *encoder = trace_event_encoder_make(0, 0, true);
    const struct {
        enum trace_event_kind kind;
        uint64_t ticks, expected; /* `expected` is 0 if the event is left out */
    } events[] = {{TRACE_ENTER, 100, 100}, {TRACE_ENTER, 90, 100}, {TRACE_LEAVE, 120, 120},
                  {TRACE_KINDS, 130, 0},   {TRACE_OFF, 0, 120},    {TRACE_LEAVE, 121, 121},
                  {TRACE_LEAVE, 122, 0},   {TRACE_ENTER, 0, 122}};
    for (size_t i = 0; i < sizeof events / sizeof *events; i++) {
        struct trace_event event;
        trace_event_clear(&event, events[i].kind, events[i].ticks);
        event.function = 0;
        assert_true(trace_event_encoder_add(encoder, &event));
        if (i % 2)
            assert_true(trace_event_encoder_finish(encoder, &out));
    }
    assert_true(trace_event_encoder_finish(encoder, &out));
    assert_true(trace_event_encoder_finish(encoder, &out));
    struct trace *trace = open_trace(set_file(out.data, out.size));
    struct trace_event *found = read_events(trace_cursor_make(trace, 0, TRACE_NONE, NULL), &count);
    size_t at = 0;
    for (size_t i = 0; i < sizeof events / sizeof *events; i++) {
        if (!events[i].expected)
            continue;
        assert_true(at < count);
        assert_int_equal(found[at].kind, events[i].kind);
        assert_int_equal(found[at++].ticks, events[i].expected);
    }
    assert_int_equal(at, count);
    free(found);
    trace_reader_close(trace);
    trace_event_encoder_free(encoder);
    trace_bytes_free(&out);
    trace_definitions_clear(&process);
}

static void deep_recursion_is_bounded(void **unused)
{
    (void)unused;
    const size_t depth = 12000;
    struct trace_process process;
    struct trace_bytes out = {0};
    uint64_t state = 4;
    size_t count;
    random_process(&state, &process, TABLES);
    put_process(&out, &process);
    struct trace_event_encoder *encoder = trace_event_encoder_make(0, 0, true);
    for (size_t i = 0; i < 2 * depth; i++) {
        struct trace_event event;
        trace_event_clear(&event, i < depth ? TRACE_ENTER : TRACE_LEAVE, i);
        event.function = 1;
        assert_true(trace_event_encoder_add(encoder, &event));
        if (i % 1000 == 0)
            assert_true(trace_event_encoder_finish(encoder, &out));
    }
    assert_true(trace_event_encoder_finish(encoder, &out));
    struct trace *trace = open_trace(set_file(out.data, out.size));
    struct trace_event *found = read_events(trace_cursor_make(trace, 0, TRACE_NONE, NULL), &count);
    /* The encoder leaves out calls that are deeper than TRACE_EVENT_CALLS_MAX, which is 10000. */
    assert_int_equal(count, 20000);
    assert_int_equal(found[19999].ticks, 2 * depth - 1);
    assert_int_equal(found[9999].ticks, 9999);
    free(found);
    trace_reader_close(trace);
    trace_event_encoder_free(encoder);
    trace_bytes_free(&out);
    trace_definitions_clear(&process);
}

/* ---- Files that are cut or damaged ----------------------------------------------------------- */

/* A small file with the definitions, followed by many blocks of one stream. */
struct sample {
    struct trace_process process;
    struct trace_bytes out;
    struct trace_event *events;
    size_t count, first; /* first: the size of the header */
};

static void make_sample(struct sample *sample, uint64_t seed)
{
    uint64_t state = seed;
    size_t open;
    *sample = (struct sample){.count = 100};
    random_process(&state, &sample->process, 2);
    sample->process.is_ring = false;
    trace_definitions_put_header(&sample->out, &sample->process);
    sample->first = sample->out.size;
    put_process(&sample->out, &sample->process);
    memmove(sample->out.data + sample->first, sample->out.data + 2 * sample->first,
            sample->out.size - 2 * sample->first);
    sample->out.size -= sample->first;
    sample->events = random_events(&state, sample->count, 2, 1000, seed % 2, &open);
    put_events(&sample->out, &state, sample->events, sample->count, 1, 0, 12);
}

static void free_sample(struct sample *sample)
{
    trace_definitions_clear(&sample->process);
    trace_bytes_free(&sample->out);
    free(sample->events);
}

static void a_truncated_file_is_read_up_to_its_end(void **unused)
{
    (void)unused;
    struct sample sample;
    size_t last = 0;
    make_sample(&sample, 7);
    for (size_t size = 0; size <= sample.out.size; size++) {
        const char *path = set_file(sample.out.data, size);
        char *problem = NULL;
        struct trace *trace = trace_reader_open(path, &problem);
        size_t count, missing = 0;
        if (!trace) {
            assert_true(size < sample.first); /* the header describes the process */
            assert_non_null(strstr(problem, "\nhint: "));
            free(problem);
            continue;
        }
        struct trace_event *found =
            read_events(trace_cursor_make(trace, 0, TRACE_NONE, NULL), &count);
        assert_true(count >= last && count <= sample.count);
        for (size_t i = 0; i < count; i++) {
            assert_true(is_same_event(&found[i], &sample.events[i]));
            if (found[i].kind == TRACE_ENTER)
                assert_int_equal(found[i].is_known, is_left(found, count, i));
        }
        missing = trace->processes[0].unfinished;
        assert_true(missing < size);
        assert_string_equal(trace->warnings, "");
        last = count;
        free(found);
        trace_reader_close(trace);
    }
    assert_int_equal(last, sample.count);
    free_sample(&sample);
}

/* Asserts that times never decrease and that calls are nested in the events that were found.
 * Returns how many events TRACE_DROPPED reports as lost. Numbers from 100 on do not count, because
 * they belong to random events of this kind. */
static size_t check_order(const struct trace_event *found, size_t count)
{
    size_t dropped = 0, depth = 0;
    uint64_t ticks = 0;
    for (size_t i = 0; i < count; i++) {
        assert_true(found[i].ticks >= ticks);
        ticks = found[i].ticks;
        depth += found[i].kind == TRACE_ENTER;
        if (ends_call(&found[i]))
            assert_true(depth-- > 0);
        if (found[i].kind == TRACE_DROPPED && found[i].bytes < 100)
            dropped += found[i].bytes;
    }
    return dropped;
}

static void damage_is_found(void **unused)
{
    (void)unused;
    struct sample sample;
    struct trace_bytes packed = {0};
    size_t harmless = 0, told = 0;
    make_sample(&sample, 8);
    struct trace *trace = open_trace(set_file(sample.out.data, sample.out.size));
    assert_true(trace_definitions_pack(&trace->processes[0], &packed));
    trace_reader_close(trace);
    const unsigned char bits[] = {0x01, 0x08, 0x80, 0xff};
    for (size_t i = 0; i < sizeof bits * sample.out.size; i++) {
        unsigned char *byte = &sample.out.data[i / sizeof bits];
        const unsigned char bit = bits[i % sizeof bits];
        *byte ^= bit;
        const char *path = set_file(sample.out.data, sample.out.size);
        *byte ^= bit;
        char *problem = NULL;
        trace = trace_reader_open(path, &problem);
        if (!trace) {
            assert_true(i / sizeof bits < sample.first);
            free(problem);
            continue;
        }
        size_t count;
        struct trace_event *found =
            read_events(trace_cursor_make(trace, 0, TRACE_NONE, NULL), &count);
        const size_t dropped = check_order(found, count);
        if (*trace->warnings || trace->processes[0].unfinished || dropped) {
            told++;
        } else {
            /* The process reports no loss, so all events must exist. */
            struct trace_bytes again = {0};
            assert_true(trace_definitions_pack(&trace->processes[0], &again));
            assert_int_equal(again.size, packed.size);
            assert_memory_equal(again.data, packed.data, packed.size);
            assert_int_equal(count, sample.count);
            for (size_t j = 0; j < count; j++)
                assert_true(is_same_event(&found[j], &sample.events[j]));
            trace_bytes_free(&again);
            harmless++;
        }
        /* At most one block is lost. */
        assert_true(count + 60 > sample.count);
        free(found);
        trace_reader_close(trace);
    }
    assert_true(told > 50 * harmless);
    trace_bytes_free(&packed);
    free_sample(&sample);
}

static void missing_events_are_reported(void **unused)
{
    (void)unused;
    struct trace_process process;
    struct trace_bytes out = {0};
    uint64_t state = 5;
    size_t count, open, middle = 0, end = 0;
    random_process(&state, &process, TABLES);
    process.is_ring = false;
    put_process(&out, &process);
    struct trace_event *events = random_events(&state, 90, TABLES, 50, true, &open);
    struct trace_event_encoder *encoder = trace_event_encoder_make(0, 0, true);
    for (size_t i = 0; i < 90; i++) {
        assert_true(trace_event_encoder_add(encoder, &events[i]));
        if (i % 30 != 29)
            continue;
        assert_true(trace_event_encoder_finish(encoder, &out));
        if (i == 29)
            middle = out.size;
        if (i == 59)
            end = out.size;
    }
    /* Removes the second of three blocks. */
    memmove(out.data + middle, out.data + end, out.size - end);
    out.size -= end - middle;
    struct trace *trace = open_trace(set_file(out.data, out.size));
    struct trace_event *found = read_events(trace_cursor_make(trace, 0, 0, NULL), &count);
    size_t i = 0, dropped = 0;
    for (; i < 30; i++)
        assert_true(is_same_event(&found[i], &events[i]));
    for (; i < count - 30; i++) {
        dropped += found[i].kind == TRACE_DROPPED;
        assert_true(found[i].kind == TRACE_DROPPED
                        ? found[i].bytes == 30
                        : found[i].kind == TRACE_ENTER || found[i].kind == TRACE_LEAVE);
    }
    assert_int_equal(dropped, 1);
    for (size_t j = 60; j < 90; j++)
        assert_true(is_same_event(&found[i++], &events[j]));
    free(found);
    free(events);
    trace_reader_close(trace);
    trace_event_encoder_free(encoder);
    trace_bytes_free(&out);
    trace_definitions_clear(&process);
}

/* The first block is missing. In a ring, this is normal, and the calls in progress after that block
 * come first. In another file, it is a loss, which is reported before these calls. */
static void a_ring_begins_with_the_calls_in_progress(void **unused)
{
    (void)unused;
    for (int is_ring = 0; is_ring < 2; is_ring++) {
        struct trace_process process;
        struct trace_bytes out = {0}, none = {0};
        uint64_t state = 5;
        size_t count;
        random_process(&state, &process, TABLES);
        process.is_ring = is_ring;
        process.point_count = 0;
        process.start_ticks = 0;
        process.started = 0;
        process.tick = 1;
        put_process(&out, &process);
        struct trace_event_encoder *encoder = trace_event_encoder_make(0, 0, true);
        for (uint64_t i = 0; i < 6; i++) { /* three nested calls */
            struct trace_event event;
            trace_event_clear(&event, i < 3 ? TRACE_ENTER : TRACE_LEAVE, 100 * (i + 1));
            event.function = (uint32_t)i % TABLES;
            assert_true(trace_event_encoder_add(encoder, &event));
            if (i == 1)
                assert_true(trace_event_encoder_finish(encoder, &none));
        }
        assert_true(trace_event_encoder_finish(encoder, &out));
        struct trace *trace = open_trace(set_file(out.data, out.size));
        struct trace_event *found =
            read_events(trace_cursor_make(trace, TRACE_NONE, TRACE_NONE, NULL), &count);
        const struct trace_event *event = found;
        if (!is_ring) {
            assert_int_equal(event->kind, TRACE_DROPPED);
            assert_int_equal(event->bytes, 2);
            assert_int_equal(event++->ticks, 300);
        }
        for (uint64_t i = 0; i < 6; i++, event++) {
            assert_int_equal(event->kind, i < 3 ? TRACE_ENTER : TRACE_LEAVE);
            assert_int_equal(event->ticks, is_ring || i >= 2 ? 100 * (i + 1) : 300);
            assert_true(event->time >= 0);
        }
        assert_int_equal(count, event - found);
        assert_int_equal(found->time, 0);
        free(found);
        trace_reader_close(trace);
        trace_event_encoder_free(encoder);
        trace_bytes_free(&out);
        trace_bytes_free(&none);
        trace_definitions_clear(&process);
    }
}

/* ---- Definitions ----------------------------------------------------------------------------- */

static void definitions_are_packed_and_unpacked(void **unused)
{
    (void)unused;
    for (uint64_t seed = 1; seed <= 500; seed++) {
        uint64_t state = seed;
        struct trace_process process, other;
        struct trace_bytes packed = {0}, again = {0};
        random_process(&state, &process, 1 + (uint32_t)random_under(&state, 8));
        assert_true(trace_definitions_pack(&process, &packed));
        assert_true(trace_definitions_unpack(packed.data, packed.size, &other));
        assert_true(trace_definitions_pack(&other, &again));
        assert_int_equal(again.size, packed.size);
        assert_memory_equal(again.data, packed.data, packed.size);
        assert_int_equal(other.rank, process.rank);
        assert_string_equal(other.host, process.host);
        assert_int_equal(other.comms[0].size, process.comms[0].size);
        assert_memory_equal(other.comms[0].group, process.comms[0].group,
                            (size_t)process.comms[0].size * sizeof(int));
        assert_int_equal(other.end_ticks, process.end_ticks);
        assert_int_equal(other.point_count, process.point_count);
        trace_definitions_clear(&other);
        /* With fewer bytes, there is no process, or a part of it is missing. */
        for (size_t size = 0; seed < 20 && size < packed.size; size++) {
            unsigned char *part = malloc(size + 1);
            memcpy(part, packed.data, size);
            if (trace_definitions_unpack(part, size, &other))
                trace_definitions_clear(&other);
            else
                assert_null(other.host);
            free(part);
        }
        trace_definitions_clear(&process);
        trace_bytes_free(&packed);
        trace_bytes_free(&again);
    }
}

static void a_later_definition_replaces_an_earlier_one(void **unused)
{
    (void)unused;
    struct trace_process process;
    struct trace_bytes out = {0}, records = {0};
    uint64_t state = 6;
    char name[] = "later";
    random_process(&state, &process, 1);
    put_process(&out, &process);
    struct trace_comm comm = process.comms[0];
    comm.name = name;
    comm.remote = NULL;
    trace_definitions_put_comm(&records, 0, &comm);
    trace_definitions_put_region(&records, 3, &(struct trace_region){name});
    struct trace_frame frames[] = {{9, 1}, {0, 2}};
    trace_definitions_put_site(&records, 0, &(struct trace_site){frames, 2});
    trace_definitions_put_window(&records, 0, &(struct trace_window){name, 9});
    trace_definitions_put_block(&out, &records);
    assert_int_equal(records.size, 0);
    trace_bytes_free(&records);
    struct trace *trace = open_trace(set_file(out.data, out.size));
    const struct trace_process *read = &trace->processes[0];
    assert_int_equal(read->comm_count, 1);
    assert_string_equal(read->comms[0].name, name);
    assert_null(read->comms[0].remote);
    assert_int_equal(read->region_count, 4);
    assert_string_equal(read->regions[1].name, "");
    /* Nothing refers to an undefined element. */
    assert_int_equal(read->sites[0].count, 1);
    assert_int_equal(read->sites[0].frames[0].offset, 2);
    assert_int_equal(read->windows[0].comm, TRACE_NONE);
    assert_string_equal(read->regions[3].name, name);
    assert_int_equal(trace_event_world_rank(read, 0, 0), comm.group[0]);
    assert_int_equal(trace_event_world_rank(read, 0, comm.size), TRACE_UNDEFINED);
    assert_int_equal(trace_event_world_rank(read, 0, TRACE_ANY), TRACE_UNDEFINED);
    assert_int_equal(trace_event_world_rank(read, 1, 0), TRACE_UNDEFINED);
    trace_reader_close(trace);
    trace_bytes_free(&out);
    trace_definitions_clear(&process);
}

static void the_checksum_is_that_of_zlib(void **unused)
{
    (void)unused;
    unsigned char bytes[100];
    uint64_t state = 1;
    assert_int_equal(trace_block_checksum(0, "123456789", 9), 0xcbf43926);
    for (size_t i = 0; i < sizeof bytes; i++)
        bytes[i] = (unsigned char)random_next(&state);
    for (size_t i = 0; i <= sizeof bytes; i++) {
        const uint32_t part = trace_block_checksum(0, bytes, i);
        assert_int_equal(trace_block_checksum(part, bytes + i, sizeof bytes - i),
                         trace_block_checksum(0, bytes, sizeof bytes));
#ifdef PROFILE_HAVE_ZLIB
        assert_int_equal(part, crc32(0, bytes, (unsigned)i));
#endif
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(events_are_read_as_they_were_written),
        cmocka_unit_test(impossible_events_are_corrected_or_left_out),
        cmocka_unit_test(deep_recursion_is_bounded),
        cmocka_unit_test(a_truncated_file_is_read_up_to_its_end),
        cmocka_unit_test(damage_is_found),
        cmocka_unit_test(missing_events_are_reported),
        cmocka_unit_test(a_ring_begins_with_the_calls_in_progress),
        cmocka_unit_test(definitions_are_packed_and_unpacked),
        cmocka_unit_test(a_later_definition_replaces_an_earlier_one),
        cmocka_unit_test(the_checksum_is_that_of_zlib),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
