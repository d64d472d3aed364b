/* SPDX-License-Identifier: MIT */
/*
 * Tests the conversion of ticks to world time: over two weeks, its error is at most about half a
 * nanosecond, the time never decreases while the ticks grow, the conversion can be reversed, and
 * the bound of the error follows from the clock points.
 */
#include "trace_random.h"

#include "tools/trace/file/clock_line.h"

#include <math.h>
#include <stdlib.h>

static struct trace_clock_line make_line(const struct trace_process *process)
{
    struct trace_clock_line line;
    assert_true(trace_clock_line_make(&line, process));
    return line;
}

static void times_over_two_weeks_are_exact(void **unused)
{
    (void)unused;
    const uint64_t week = UINT64_C(7) * 24 * 3600 * 1000000000;
    const uint64_t ticks =
        week / 10 * 29 + 12345; /* 2.9 GHz and a few ticks, so that divisions leave a remainder */
    struct trace_clock_point points[] = {{1000, 5000, 1},
                                         {1000 + ticks, (int64_t)(5000 + week), 1}};
    struct trace_process process = {.points = points, .point_count = 2, .tick = 9};
    struct trace_clock_line line = make_line(&process);
    uint64_t state = 1;
    for (int i = 0; i < 100000; i++) {
        /* The times reach to twice the distance of the points. There, the error of long double is
         * at most about 0.0002 ns. */
        const uint64_t passed = random_under(&state, 2 * ticks);
        const long double exact = (long double)passed * (long double)week / (long double)ticks;
        const long double time = (long double)(trace_clock_line_time(&line, 1000 + passed) - 5000);
        assert_true(time - exact < 0.501L && exact - time < 0.501L);
    }
    assert_int_equal(trace_clock_line_time(&line, 1000), 5000);
    trace_clock_line_free(&line);
}

static void with_one_point_or_none_the_length_of_a_tick_is_used(void **unused)
{
    (void)unused;
    struct trace_clock_point point = {1000000, 7, 0};
    struct trace_process process = {.points = &point,
                                    .point_count = 1,
                                    .tick = 0.4,
                                    .started = 1700000000000000000,
                                    .start_ticks = 500};
    struct trace_clock_line line = make_line(&process);
    assert_int_equal(trace_clock_line_time(&line, 1000000 + 2500), 7 + 1000);
    assert_int_equal(trace_clock_line_time(&line, 1000000 - 2500), 7 - 1000);
    trace_clock_line_free(&line);
    process.point_count = 0;
    line = make_line(&process);
    assert_int_equal(trace_clock_line_time(&line, 500 + 5), 1700000000000000002);
    trace_clock_line_free(&line);
}

static void time_never_decreases(void **unused)
{
    (void)unused;
    for (uint64_t seed = 1; seed <= 20000; seed++) {
        uint64_t state = seed;
        struct trace_clock_point points[4];
        const double ticks[] = {0.4, 1, 0, -1, 1e300, 1e-300, NAN, 12.5};
        struct trace_process process = {.points = points,
                                        .point_count = random_under(&state, 5),
                                        .tick = ticks[random_under(&state, 8)],
                                        .started = (int64_t)random_number(&state),
                                        .start_ticks = random_number(&state)};
        for (size_t i = 0; i < process.point_count; i++)
            points[i] = (struct trace_clock_point){
                random_number(&state), (int64_t)random_number(&state), random_number(&state)};
        struct trace_clock_line line = make_line(&process);
        const int64_t moved = (int64_t)random_number(&state);
        trace_clock_line_move(&line, moved);
        uint64_t one = random_number(&state);
        for (int i = 0; i < 20; i++) {
            const uint64_t other = i % 2 ? one + (one < UINT64_MAX) : random_number(&state);
            const uint64_t first = one < other ? one : other, last = one < other ? other : one;
            const int64_t begin = trace_clock_line_time(&line, first),
                          end = trace_clock_line_time(&line, last);
            uint64_t found;
            assert_true(begin <= end);
            assert_true(trace_clock_line_find(&line, end, &found));
            assert_true(found <= last);
            assert_true(trace_clock_line_time(&line, found) >= end);
            if (found)
                assert_true(trace_clock_line_time(&line, found - 1) < end);
            trace_clock_bound(&process, first);
            one = other;
        }
        trace_clock_line_free(&line);
    }
}

static void the_bound_is_that_of_the_points_and_grows_with_the_distance(void **unused)
{
    (void)unused;
    struct trace_clock_point points[] = {{1000, 1000, 100}, {2001000, 2001000, 300}};
    struct trace_process process = {.points = points, .point_count = 2, .tick = 1};
    assert_int_equal(trace_clock_bound(&process, 1000), 100);
    assert_int_equal(trace_clock_bound(&process, 2001000), 300);
    assert_int_equal(trace_clock_bound(&process, 1001000), 201);
    assert_true(trace_clock_bound(&process, 4001000) >= 700);
    process.point_count = 1;
    assert_int_equal(trace_clock_bound(&process, 1001000), 600);
    points[0].bound = 0; /* the process has the clock of world time */
    assert_int_equal(trace_clock_bound(&process, 1001000), 0);
    process.point_count = 0;
    assert_int_equal(trace_clock_bound(&process, 1001000), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(times_over_two_weeks_are_exact),
        cmocka_unit_test(with_one_point_or_none_the_length_of_a_tick_is_used),
        cmocka_unit_test(time_never_decreases),
        cmocka_unit_test(the_bound_is_that_of_the_points_and_grows_with_the_distance),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
