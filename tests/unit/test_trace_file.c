/* SPDX-License-Identifier: MIT */
/*
 * Files of traces: what is written is read again, exactly; a file that is cut anywhere is read as
 * far as it goes; damage is found.
 */
#define _GNU_SOURCE
#include "unit.h"

#include "trace/trace.h"
#include "trace_random.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define TABLES 5

/* A file in memory. */
static int descriptor;
static char path[64];

static int make_file(void **state)
{
    (void)state;
    descriptor = memfd_create("trace", MFD_CLOEXEC);
    snprintf(path, sizeof path, "/proc/self/fd/%d", descriptor);
    return descriptor < 0;
}

static int close_file(void **state)
{
    (void)state;
    return close(descriptor);
}

static void write_file(const void *bytes, size_t size)
{
    assert_int_equal(ftruncate(descriptor, 0), 0);
    assert_int_equal(pwrite(descriptor, bytes, size, 0), (ssize_t)size);
}

static struct trace *open_trace(void)
{
    char *problem = NULL;
    struct trace *trace = trace_open(path, &problem);
    if (!trace)
        print_error("%s\n", problem);
    free(problem);
    return trace;
}

/* The definitions of a process; its records are in `out`. */
static void put_process(struct trace_bytes *out, const struct trace_process *process)
{
    struct trace_bytes packed = {0};
    assert_true(trace_process_pack(process, &packed));
    trace_put_bytes(out, packed.data, packed.size);
    trace_bytes_free(&packed);
}

static void encode_events(struct trace_bytes *out, uint64_t *state, struct trace_event *events,
                          size_t count, uint32_t location, uint32_t stream)
{
    struct trace_encoder *encoder = trace_encoder_make(location, stream, random_under(state, 2));
    for (size_t i = 0; i < count; i++) {
        events[i].location = location;
        assert_true(trace_encode(encoder, &events[i]));
        if (!random_under(state, 1 + count / (1 + random_under(state, 8))))
            assert_true(trace_encoder_finish(encoder, out));
    }
    assert_true(trace_encoder_finish(encoder, out));
    trace_encoder_free(encoder);
}

static void events_are_read_as_they_were_written(void **unused)
{
    (void)unused;
    for (uint64_t seed = 1; seed <= 3000; seed++) {
        uint64_t state = seed * UINT64_C(0x9e3779b97f4a7c15);
        struct trace_process process;
        struct trace_bytes out = {0};
        random_process(&state, &process, TABLES);
        process.is_ring = false;
        const size_t count = random_under(&state, seed % 50 ? 200 : 20000);
        size_t open;
        struct trace_event *events =
            random_events(&state, count, TABLES, random_number(&state), seed % 2, &open);
        put_process(&out, &process);
        encode_events(&out, &state, events, count, (uint32_t)random_under(&state, TABLES), 0);
        write_file(out.data, out.size);
        struct trace *trace = open_trace();
        assert_non_null(trace);
        assert_string_equal(trace->warnings, "");
        struct trace_cursor *cursor = trace_cursor_make(trace, TRACE_NONE, TRACE_NONE, NULL);
        struct trace_event event;
        size_t depth = 0, i = 0;
        for (; trace_cursor_next(cursor, &event, NULL); i++) {
            if (i == count || !is_same_event(&event, &events[i]))
                fail_msg("seed %llu: event %zu of %zu", (unsigned long long)seed, i, count);
            if (event.kind == TRACE_ENTER) {
                size_t inner = 1, end = i + 1;
                for (; end < count && inner; end++)
                    inner =
                        events[end].kind == TRACE_ENTER ? inner + 1
                        : events[end].kind == TRACE_LEAVE || events[end].kind == TRACE_INTERRUPTED
                            ? inner - 1
                            : inner;
                if (event.is_known != !inner)
                    fail_msg("seed %llu: event %zu is known", (unsigned long long)seed, i);
                depth++;
            } else if (event.kind == TRACE_LEAVE || event.kind == TRACE_INTERRUPTED) {
                depth--;
            }
        }
        assert_int_equal(i, count);
        assert_int_equal(depth, open);
        trace_cursor_free(cursor);
        trace_close(trace);
        trace_process_clear(&process);
        trace_bytes_free(&out);
        free(events);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(events_are_read_as_they_were_written),
    };
    return cmocka_run_group_tests(tests, make_file, close_file);
}
