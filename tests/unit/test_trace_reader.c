/* SPDX-License-Identifier: MIT */
/*
 * Tests the reader of traces. It merges the streams of a location, and the processes of a run, in
 * order of time; it selects a part of a trace by time; and it reads directories.
 */
#define _GNU_SOURCE
#include "trace_random.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define TABLES 4

static bool ends_call(const struct trace_event *event)
{
    return event->kind == TRACE_LEAVE || event->kind == TRACE_INTERRUPTED;
}

/* Asserts that the calls of each location are properly nested, and that times never decrease. */
static void check_order(const struct trace_event *events, size_t count)
{
    size_t depths[TABLES] = {0};
    uint32_t functions[TABLES][100];
    int64_t time = INT64_MIN;
    for (size_t i = 0; i < count; i++) {
        size_t *depth = &depths[events[i].location];
        assert_true(events[i].time >= time);
        time = events[i].time;
        if (events[i].kind == TRACE_ENTER) {
            assert_true(*depth < 100);
            functions[events[i].location][(*depth)++] = events[i].function;
        } else if (ends_call(&events[i])) {
            assert_true(*depth > 0);
            assert_int_equal(functions[events[i].location][--*depth], events[i].function);
        }
    }
}

/* ---- Streams --------------------------------------------------------------------------------- */

/* The events of a thread. Those of signal handlers, in other streams, are inserted into those of
 * stream 0. */
struct thread {
    struct trace_event *events;
    uint32_t *streams;
    size_t count;
};

/* Inserts the events of signal handlers, in stream `stream`, after some events of stream
 * `stream` - 1. If `has_ties`, a handler begins and ends at the times of the events around it. */
static void interrupt(uint64_t *state, struct thread *thread, uint32_t stream, bool has_ties)
{
    struct thread made = {calloc(3000, sizeof *made.events), calloc(3000, sizeof *made.streams), 0};
    for (size_t i = 0; i < thread->count; i++) {
        made.streams[made.count] = thread->streams[i];
        made.events[made.count++] = thread->events[i];
        const uint64_t before = thread->events[i].ticks;
        const uint64_t after = i + 1 < thread->count ? thread->events[i + 1].ticks : before + 10;
        if (thread->streams[i] != stream - 1 || random_under(state, 5) ||
            (!has_ties && after - before < 3))
            continue;
        for (int part = 0; part < 3; part++) {
            struct trace_event *event = &made.events[made.count];
            const enum trace_event_kind kinds[] = {TRACE_ENTER, TRACE_SEND, TRACE_LEAVE};
            trace_event_clear(event, kinds[part], part < 2 ? before : after);
            event->location = thread->events[i].location;
            if (!has_ties)
                event->ticks = part < 2 ? before + 1 : after - 1;
            event->function = part == 1 ? TRACE_NONE : stream % TABLES;
            if (part == 1)
                event->comm = 0;
            made.streams[made.count++] = stream;
        }
    }
    free(thread->events);
    free(thread->streams);
    *thread = made;
}

static void handlers_are_inserted_where_they_interrupted_the_thread(void **unused)
{
    (void)unused;
    for (uint64_t seed = 1; seed <= 400; seed++) {
        uint64_t state = seed;
        const bool has_ties = seed % 2;
        struct trace_process process;
        struct trace_bytes out = {0};
        struct thread thread = {.count = 100};
        size_t open, count;
        random_process(&state, &process, TABLES);
        process.point_count = 0;
        process.start_ticks = 0;
        process.started = 0;
        put_process(&out, &process);
        thread.events = random_events(&state, thread.count, TABLES, 1000, false, &open);
        thread.streams = calloc(thread.count, sizeof *thread.streams);
        interrupt(&state, &thread, 1, has_ties);
        interrupt(&state, &thread, 2, has_ties);
        for (uint32_t stream = 0; stream < 3; stream++) {
            struct trace_event *part = calloc(thread.count, sizeof *part);
            size_t size = 0;
            for (size_t i = 0; i < thread.count; i++)
                if (thread.streams[i] == stream)
                    part[size++] = thread.events[i];
            put_events(&out, &state, part, size, 2, stream, 4);
            free(part);
        }
        struct trace *trace = open_trace(set_file(out.data, out.size));
        struct trace_event *found =
            read_events(trace_cursor_make(trace, TRACE_NONE, TRACE_NONE, NULL), &count);
        assert_int_equal(trace->processes[0].locations[2].events, thread.count);
        check_order(found, count);
        assert_int_equal(count, thread.count);
        for (size_t i = 0; !has_ties && i < count; i++) {
            thread.events[i].location = 2;
            if (!is_same_event(&found[i], &thread.events[i]))
                fail_msg("seed %llu: event %zu", (unsigned long long)seed, i);
        }
        free(found);
        trace_reader_close(trace);
        trace_bytes_free(&out);
        trace_definitions_clear(&process);
        free(thread.events);
        free(thread.streams);
    }
}

/* ---- Selections ------------------------------------------------------------------------------ */

/* Stores the part of `events` from `begin` to `end` in `part`, and shortens the calls in progress
 * at these times. The process ends at `last`. Returns the number of events in `part`. */
static size_t filter_by_time(const struct trace_event *events, size_t count, int64_t begin,
                             int64_t end, int64_t last, struct trace_event *part)
{
    struct trace_event stack[20];
    size_t depth = 0, size = 0;
    bool has_begun = false;
    for (size_t i = 0; i <= count; i++) {
        const bool is_end = i == count || events[i].time > end;
        if (!has_begun && (is_end || events[i].time >= begin) && last >= begin) {
            has_begun = true;
            for (size_t j = 0; j < depth; j++) {
                part[size] = stack[j];
                part[size].time = begin;
                part[size++].is_known = stack[j].is_known || last > end;
            }
        }
        if (is_end)
            break;
        if (events[i].kind == TRACE_ENTER)
            stack[depth++] = events[i];
        else if (ends_call(&events[i]))
            depth--;
        if (has_begun) {
            part[size] = events[i];
            if (events[i].kind == TRACE_ENTER)
                part[size].is_known = events[i].is_known || last > end;
            size++;
        }
    }
    while (has_begun && depth && last > end) {
        part[size] = stack[--depth];
        part[size].kind = TRACE_LEAVE;
        part[size].is_known = false;
        part[size++].time = end;
    }
    return size;
}

static void a_part_is_selected_by_time(void **unused)
{
    (void)unused;
    for (uint64_t seed = 1; seed <= 300; seed++) {
        uint64_t state = seed;
        struct trace_process process;
        struct trace_bytes out = {0};
        size_t open, count, whole;
        random_process(&state, &process, TABLES);
        process.point_count = 0;
        process.start_ticks = 0;
        process.started = 0;
        process.tick = seed % 3 ? 0.4 : 1;
        process.end_ticks = random_under(&state, 2) ? 0 : 1000000;
        put_process(&out, &process);
        struct trace_event *events = random_events(&state, 150, TABLES, 0, false, &open);
        for (size_t i = 0; i < 150; i++)
            events[i].ticks %= 1000000; /* without long pauses */
        put_events(&out, &state, events, 150, 1, 0, 20);
        free(events);
        struct trace *trace = open_trace(set_file(out.data, out.size));
        struct trace_event *all = read_events(trace_cursor_make(trace, 0, 1, NULL), &whole);
        const int64_t last =
            trace_reader_time(trace, trace->processes, trace->processes[0].end_ticks);
        for (int round = 0; round < 20; round++) {
            struct trace_cursor_selection selection = {.has_begin = true, .has_end = true};
            selection.begin = (int64_t)random_under(&state, (uint64_t)trace->end + 100) - 50;
            selection.end = selection.begin + (int64_t)random_under(&state, (uint64_t)trace->end);
            struct trace_event *part = calloc(whole + 50, sizeof *part);
            const size_t expected =
                filter_by_time(all, whole, selection.begin, selection.end, last, part);
            struct trace_event *found =
                read_events(trace_cursor_make(trace, 0, 1, &selection), &count);
            if (count != expected)
                fail_msg("seed %llu, round %d: %zu events, not %zu, from %lld to %lld of %lld",
                         (unsigned long long)seed, round, count, expected,
                         (long long)selection.begin, (long long)selection.end, (long long)last);
            for (size_t i = 0; i < count; i++) {
                assert_int_equal(found[i].kind, part[i].kind);
                assert_int_equal(found[i].function, part[i].function);
                assert_int_equal(found[i].is_known, part[i].is_known);
                /* A tick may be shorter than a nanosecond, so that times are rounded. */
                assert_true(llabs((long long)(found[i].time - part[i].time)) <= 1);
                assert_true(found[i].time >= selection.begin && found[i].time <= selection.end);
            }
            free(part);
            free(found);
        }
        free(all);
        trace_reader_close(trace);
        trace_bytes_free(&out);
        trace_definitions_clear(&process);
    }
}

static void blocks_that_are_not_selected_are_not_read(void **unused)
{
    (void)unused;
    struct trace_process process;
    struct trace_bytes out = {0};
    struct trace_event_encoder *encoder = trace_event_encoder_make(1, 0, true);
    size_t ends[10], count;
    uint64_t state = 1;
    random_process(&state, &process, TABLES);
    process.point_count = 0;
    process.start_ticks = 0;
    process.started = 0;
    process.tick = 1;
    put_process(&out, &process);
    for (uint64_t i = 0; i < 1000; i++) {
        struct trace_event event;
        trace_event_clear(&event, i % 2 ? TRACE_LEAVE : TRACE_ENTER, 10 * i);
        event.function = 1;
        assert_true(trace_event_encoder_add(encoder, &event));
        if (i % 100 == 99) {
            assert_true(trace_event_encoder_finish(encoder, &out));
            ends[i / 100] = out.size;
        }
    }
    /* Only blocks 5 and 9 stay intact. The selection is in block 5, which ends at 5990. */
    for (int i = 0; i < 10; i++)
        if (i != 5 && i != 9)
            out.data[ends[i] - 1] ^= 1;
    struct trace *trace = open_trace(set_file(out.data, out.size));
    const struct trace_cursor_selection selection = {
        .has_begin = true, .has_end = true, .begin = 5100, .end = 5899};
    struct trace_event *found = read_events(trace_cursor_make(trace, 0, 1, &selection), &count);
    assert_int_equal(count, 80);
    free(found);
    found = read_events(trace_cursor_make(trace, 0, 1, NULL), &count);
    assert_int_equal(count, 202);
    assert_int_equal(found[0].kind, TRACE_DROPPED);
    assert_int_equal(found[0].bytes, 500);
    assert_int_equal(found[0].time, 0);
    free(found);
    trace_reader_close(trace);
    trace_event_encoder_free(encoder);
    trace_bytes_free(&out);
    trace_definitions_clear(&process);
}

/* ---- Directories ----------------------------------------------------------------------------- */

static char directory[] = "/tmp/test_trace_XXXXXX";

static int make_directory(void **unused)
{
    (void)unused;
    return !mkdtemp(directory);
}

static int remove_directory(void **unused)
{
    (void)unused;
    return rmdir(directory);
}

static void save(const char *name, const void *bytes, size_t size)
{
    char path[200];
    snprintf(path, sizeof path, "%s/%s", directory, name);
    FILE *file = fopen(path, "wb");
    assert_non_null(file);
    assert_int_equal(fwrite(bytes, 1, size, file), size);
    assert_int_equal(fclose(file), 0);
}

static void erase(const char *name)
{
    char path[200];
    snprintf(path, sizeof path, "%s/%s", directory, name);
    assert_int_equal(unlink(path), 0);
}

/* Saves the file of a rank with ten calls on each of two threads. */
static void save_rank(const char *name, uint64_t run, int rank, int64_t started,
                      const struct trace_clock_point *points, size_t count)
{
    char text[] = "x";
    struct trace_process process = {
        .run = {run, run}, .rank = rank, .ranks = 4, .started = started};
    struct trace_bytes out = {0}, records = {0};
    process.start_ticks = 1000 * (uint64_t)(rank + 1);
    process.tick = 1;
    trace_definitions_put_header(&out, &process);
    trace_definitions_put_function(&records, 0, &(struct trace_function){text, text, 1});
    trace_definitions_put_world(&records, process.run, rank, 4, text);
    if (count)
        trace_definitions_put_clock(&records, 1, points, count);
    trace_definitions_put_block(&out, &records);
    for (uint32_t location = 0; location < 2; location++) {
        struct trace_event_encoder *encoder = trace_event_encoder_make(location, 0, true);
        for (uint64_t i = 0; i < 20; i++) {
            struct trace_event event;
            trace_event_clear(&event, i % 2 ? TRACE_LEAVE : TRACE_ENTER,
                              process.start_ticks + 100 * i + 7 * location);
            event.function = 0;
            assert_true(trace_event_encoder_add(encoder, &event));
        }
        assert_true(trace_event_encoder_finish(encoder, &out));
        trace_event_encoder_free(encoder);
    }
    save(name, out.data, out.size);
    trace_bytes_free(&out);
    trace_bytes_free(&records);
}

static void the_processes_of_a_run_are_read_in_order_of_time(void **unused)
{
    (void)unused;
    char anchor[200];
    const struct trace_clock_point zero[] = {{1000, 500000, 0}},
                                   one[] = {{2000, 500050, 30}, {3000, 501050, 50}},
                                   three[] = {{4000, 500020, 20}};
    save_rank("rank-3.qtrace", 7, 3, 1000000, three, 1);
    save_rank("rank-1.qtrace", 7, 1, 1000000, one, 2);
    save_rank("rank-0.qtrace", 7, 0, 2000000, zero, 1);
    save_rank("copy.qtrace", 7, 0, 2000000, NULL, 0);
    save_rank("old.qtrace", 6, 2, 1, NULL, 0);
    save_rank("early.qtrace", 0, TRACE_UNDEFINED, 1, NULL, 0);
    save("wrong.qtrace", "wrong", 5);
    save("readme", "wrong", 5);
    snprintf(anchor, sizeof anchor, "%s/traces.otf2", directory);
    struct trace *trace = open_trace(anchor);
    assert_int_equal(trace->process_count, 3);
    assert_int_equal(trace->processes[1].rank, 1);
    assert_int_equal(trace->processes[2].rank, 3);
    assert_non_null(strstr(trace->warnings, "the file of rank 2 of 4 is missing\n"));
    assert_non_null(strstr(trace->warnings, "copy.qtrace"));
    assert_non_null(strstr(trace->warnings, "there are traces of two runs: the one that began last "
                                            "is read; one file of the other is not: "));
    assert_non_null(strstr(trace->warnings, "old.qtrace\n"));
    assert_non_null(strstr(trace->warnings, "wrong.qtrace is not a trace file of qmpi\n"));
    assert_non_null(
        strstr(trace->warnings, "one file ends before MPI was initialized, and is not read: "));
    assert_non_null(strstr(trace->warnings, "early.qtrace\n"));
    assert_true(trace->is_partial);
    assert_null(strstr(trace->warnings, "hint"));
    assert_int_equal(trace->base, 500000);
    assert_int_equal(trace->started, 2000000);
    assert_int_equal(trace->end, 50 + 1900 + 7);
    assert_true(trace->has_bound);
    assert_true(trace->bound >= 143 && trace->bound < 147);
    struct trace_cursor *cursor = trace_cursor_make(trace, TRACE_NONE, TRACE_NONE, NULL);
    struct trace_event event;
    uint32_t process, processes[3] = {0};
    int64_t time = 0;
    while (trace_cursor_next(cursor, &event, &process)) {
        assert_true(event.time >= time);
        time = event.time;
        assert_int_equal(time, trace_reader_time(trace, &trace->processes[process], event.ticks));
        processes[process]++;
    }
    for (int i = 0; i < 3; i++)
        assert_int_equal(processes[i], 40);
    trace_cursor_free(cursor);
    const struct trace_cursor_selection selection = {.processes = (const unsigned char[]){0, 1, 0}};
    size_t count;
    struct trace_event *found =
        read_events(trace_cursor_make(trace, TRACE_NONE, 1, &selection), &count);
    assert_int_equal(count, 20);
    assert_int_equal(found[0].time, 57);
    free(found);
    trace_reader_close(trace);
    const char *names[] = {"rank-3.qtrace", "rank-1.qtrace", "rank-0.qtrace", "copy.qtrace",
                           "old.qtrace",    "early.qtrace",  "wrong.qtrace",  "readme"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        erase(names[i]);
}

/* The times of a process whose clock was not compared follow from the time of day. */
static void clocks_that_were_not_compared_are_set_by_the_time_of_day(void **unused)
{
    (void)unused;
    const struct trace_clock_point one[] = {{2000, 500050, 30}};
    save_rank("rank-0.qtrace", 7, 0, 1000400, NULL, 0);
    save_rank("rank-1.qtrace", 7, 1, 1000000, one, 1);
    struct trace *trace = open_trace(directory);
    assert_false(trace->has_bound);
    assert_int_equal(trace->base, 500050);
    assert_int_equal(trace->started, 1000000);
    assert_int_equal(trace_reader_time(trace, &trace->processes[0], 1000), 400);
    trace_reader_close(trace);
    erase("rank-0.qtrace");
    erase("rank-1.qtrace");
}

/* A file may be impossible to open again, for example if no descriptor is left. Without an error,
 * the events that were read would be taken for all events. */
static void events_of_a_file_that_cannot_be_opened_are_an_error(void **unused)
{
    (void)unused;
    const struct trace_clock_point one[] = {{2000, 500050, 30}};
    size_t count;
    save_rank("rank-0.qtrace", 7, 0, 1000000, one, 1);
    struct trace *trace = open_trace(directory);
    assert_int_equal(trace_reader_error(trace), 0);
    erase("rank-0.qtrace");
    free(read_events(trace_cursor_make(trace, 0, TRACE_NONE, NULL), &count));
    assert_int_equal(trace_reader_error(trace), ENOENT);
    trace_reader_close(trace);
}

static void paths_without_a_trace_are_refused_and_paths_of_files_name_rank_or_host(void **unused)
{
    (void)unused;
    const char *paths[] = {directory, "/", "/nowhere", "/dev/null", "/etc/passwd"};
    for (size_t i = 0; i < sizeof paths / sizeof *paths; i++) {
        char *problem = NULL;
        assert_null(trace_reader_open(paths[i], &problem));
        assert_non_null(strstr(problem, paths[i]));
        assert_non_null(strstr(problem, "\nhint: "));
        free(problem);
    }
    char *path = trace_file_path("dir", 7, 12, "host");
    assert_string_equal(path, "dir/rank-7.qtrace");
    free(path);
    path = trace_file_path("dir", TRACE_UNDEFINED, 12, "host");
    assert_string_equal(path, "dir/host-12.qtrace");
    free(path);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(handlers_are_inserted_where_they_interrupted_the_thread),
        cmocka_unit_test(a_part_is_selected_by_time),
        cmocka_unit_test(blocks_that_are_not_selected_are_not_read),
        cmocka_unit_test(the_processes_of_a_run_are_read_in_order_of_time),
        cmocka_unit_test(clocks_that_were_not_compared_are_set_by_the_time_of_day),
        cmocka_unit_test(events_of_a_file_that_cannot_be_opened_are_an_error),
        cmocka_unit_test(paths_without_a_trace_are_refused_and_paths_of_files_name_rank_or_host),
    };
    return cmocka_run_group_tests(tests, make_directory, remove_directory);
}
