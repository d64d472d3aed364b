/* SPDX-License-Identifier: MIT */
/* Tests efficiency over time: no time is lost when windows are set, merged and widened. */
#define _GNU_SOURCE
#include "unit.h"

#include "profile_sample.h"
#include "toolkit/toolkit.h"
#include "tools/profile/collect/pack.h"
#include "tools/profile/record/windows.h"
#include "tools/profile/result/merge.h"
#include "tools/profile/result/profile_result.h"
#include "util/message.h"

#include <math.h>
#include <stdlib.h>

static void assert_close(double value, double wanted, double apart)
{
    if (!(fabs(value - wanted) <= apart))
        fail_msg("%.15g, not %.15g", value, wanted);
}

/* ---- In a result ----------------------------------------------------------------------------- */

static struct profile_window sum(const struct profile_windows *windows, size_t number)
{
    struct profile_window sum = {0, 0};
    for (size_t i = 0; i < windows->ranks[number].count; i++) {
        const struct profile_window it = profile_window_get(windows, &windows->ranks[number], i);
        sum.profiled += it.profiled;
        sum.mpi += it.mpi;
    }
    return sum;
}

/* Makes the result of a rank with `count` windows of `width` seconds. The rank ends after `last`
 * seconds of the last window, and spends the share `share` of its profiled time in MPI. If `odd` is
 * true, profiling is off in a tenth of each window but the last. */
static struct profile_result *make(int rank, double width, size_t count, double last, double share,
                                   bool odd)
{
    struct profile_result *result = sample_single(rank, 1, "exit");
    struct profile_windows_rounding rounding = {0, 0};
    struct profile_window_rank *its = qmpi_allocate(1, sizeof *its);
    result->windows = (struct profile_windows){width, its, 1};
    its->rank = rank;
    its->count = count;
    its->mpi = qmpi_allocate(count + 1, 1);
    its->profiled = odd ? qmpi_allocate(count + 1, 1) : NULL;
    for (size_t i = 0; i < count; i++) {
        const double time = i + 1 == count ? last : odd ? width * 0.9 : width;
        profile_window_set(&rounding, its, width, i, (struct profile_window){time, time * share});
    }
    return result;
}

static void rounding_takes_nothing_from_the_sum(void **state)
{
    (void)state;
    for (int odd = 0; odd < 2; odd++) {
        for (size_t count = 1; count <= PROFILE_WINDOWS_MOST; count++) {
            struct profile_result *result = make(0, 0.004, count, 0.0013, 1.0 / 3, odd);
            const double time = (double)(count - 1) * (odd ? 0.0036 : 0.004) + 0.0013;
            const struct profile_window all = sum(&result->windows, 0);
            assert_close(all.profiled, time, 0.00001);
            assert_close(all.mpi, time / 3, 0.00002);
            profile_result_free(result);
        }
    }
}

static void wider_windows_have_the_same_sum(void **state)
{
    (void)state;
    for (int odd = 0; odd < 2; odd++) {
        struct profile_result *result = make(0, 0.001, 199, 0.0004, 0.3717, odd);
        const struct profile_window before = sum(&result->windows, 0);
        for (size_t count = 100; count; count = count > 1 ? (count + 1) / 2 : 0) {
            profile_windows_widen(&result->windows);
            assert_int_equal(profile_windows_count(&result->windows), count);
            const struct profile_window after = sum(&result->windows, 0);
            assert_close(after.profiled, before.profiled, result->windows.width / 100);
            assert_close(after.mpi, before.mpi, result->windows.width / 100);
        }
        profile_result_free(result);
    }
}

static void ranks_with_windows_of_different_widths_are_merged_at_the_widest(void **state)
{
    (void)state;
    for (int reversed = 0; reversed < 2; reversed++) {
        struct profile_result *wide = make(1, 0.008, 150, 0.002, 0.25, false);
        struct profile_result *narrow = make(4, 0.001, 51, 0.0005, 0.5, false);
        struct profile_result *result = reversed ? wide : narrow;
        assert_true(profile_merge(result, reversed ? narrow : wide));
        const struct profile_windows *windows = &result->windows;
        assert_true(windows->width == 0.008);
        assert_int_equal(windows->rank_count, 2);
        assert_int_equal(windows->ranks[0].rank, 1);
        assert_int_equal(windows->ranks[1].rank, 4);
        assert_int_equal(windows->ranks[1].count, 7);
        assert_close(windows->ranks[1].last, 0.0025, 1e-9);
        assert_close(sum(windows, 0).profiled, 149 * 0.008 + 0.002, 1e-9);
        assert_close(sum(windows, 1).profiled, 0.0505, 1e-9);
        assert_close(sum(windows, 1).mpi, 0.02525, 0.0001);
        profile_result_free(result);
    }
}

static void a_side_without_windows_changes_nothing(void **state)
{
    (void)state;
    struct profile_result *result = sample_single(0, 1, "exit");
    assert_true(profile_merge(result, make(1, 0.002, 3, 0.001, 0.5, false)));
    assert_true(profile_merge(result, sample_single(2, 1, "exit")));
    assert_int_equal(result->windows.rank_count, 1);
    assert_true(result->windows.width == 0.002);
    profile_result_free(result);
}

static void efficiency_agrees_with_its_definition(void **state)
{
    (void)state;
    struct profile_window_efficiency it;
    struct profile_result *result = make(0, 0.016, 4, 0.016, 0.25, false);
    assert_true(profile_merge(result, make(1, 0.016, 2, 0.008, 0.5, false)));
    const struct profile_windows *windows = &result->windows;
    assert_true(profile_windows_find(windows, 0, 1, &it));
    assert_close(it.elapsed, 0.016, 1e-12);
    assert_close(it.parallel, 0.625, 1e-12);
    assert_close(it.communication, 0.75, 1e-12);
    assert_close(it.balance, 0.625 / 0.75, 1e-12);
    assert_int_equal(it.most_rank, 0);
    assert_true(profile_windows_find(windows, 1, 4, &it)); /* Rank 1 ends in the first of these. */
    assert_close(it.parallel, (0.036 + 0.004) / 2 / 0.048, 1e-12);
    assert_false(profile_windows_find(windows, 4, 5, &it));
    profile_result_free(result);
}

/* ---- In messages ----------------------------------------------------------------------------- */

static size_t measure(struct profile_result *result)
{
    size_t size;
    char *bytes = pack_make(result, &size);
    assert_non_null(bytes);
    free(bytes);
    return size;
}

static void a_window_of_a_rank_takes_a_byte_in_a_message(void **state)
{
    enum { RANKS = 1024 };
    struct profile_result *all[RANKS];
    (void)state;
    for (int rank = 0; rank < RANKS; rank++)
        all[rank] = make(rank, rank % 2 ? 0.064 : 0.032, 200, 0.001, rank / 2000.0, rank % 7 == 3);
    for (int distance = 1; distance < RANKS; distance *= 2) {
        for (int rank = 0; rank + distance < RANKS; rank += 2 * distance)
            assert_true(profile_merge(all[rank], all[rank + distance]));
    }
    struct profile_windows windows = all[0]->windows;
    const size_t with = measure(all[0]);
    all[0]->windows = (struct profile_windows){.width = 0};
    assert_true(with - measure(all[0]) < RANKS * (PROFILE_WINDOWS_MOST + 40));
    all[0]->windows = windows;
    for (int rank = 0; rank < RANKS; rank++) {
        const double time = rank % 2 ? 0.064 : 0.032, odd = rank % 7 == 3 ? 0.9 : 1;
        assert_int_equal(windows.ranks[rank].rank, rank);
        assert_close(sum(&windows, (size_t)rank).mpi, (199 * time * odd + 0.001) * (rank / 2000.0),
                     0.001);
    }
    profile_result_free(all[0]);
}

static void windows_arrive_as_they_were_sent(void **state)
{
    (void)state;
    for (int odd = 0; odd < 2; odd++) {
        size_t size;
        struct profile_result *sent = make(5, 0.004, 17, 0.003, 0.75, odd);
        char *bytes = pack_make(sent, &size);
        struct profile_result *result = pack_read(bytes, size);
        assert_non_null(result);
        assert_true(result->windows.width == 0.004);
        assert_int_equal(result->windows.ranks->count, 17);
        assert_int_equal(result->windows.ranks->profiled != NULL, odd);
        assert_true(sum(&result->windows, 0).mpi == sum(&sent->windows, 0).mpi);
        for (size_t part = 0; part < size; part += 7)
            assert_null(pack_read(bytes, part));
        free(bytes);
        profile_result_free(sent);
        profile_result_free(result);
    }
}

/* ---- While the program runs ------------------------------------------------------------------ */

/* Replaces the function of toolkit/ticks.h: a tick is a microsecond. */
double ticks_length(void)
{
    return 1e-6;
}

static uint64_t all_of(const struct windows *windows)
{
    uint64_t all = 0;
    for (size_t i = 0; i < PROFILE_WINDOWS_MOST; i++)
        all += windows_get(windows, i);
    return all;
}

static void the_time_of_calls_is_added_to_the_right_windows(void **state)
{
    struct windows windows = {0};
    struct windows_scale scale = {0, 0};
    (void)state;
    windows_add_call(&windows, &scale, 5, 100); /* before application time */
    windows_begin(&scale, 1000);
    windows_begin(&scale, 2000); /* no effect: application time has begun */
    windows_add_call(&windows, &scale, 400, 1300);
    windows_add_call(&windows, &scale, 50, 1900);
    windows_add_call(&windows, &scale, 100, 2000);
    windows_add_call(&windows, &scale, 2500, 4500);
    assert_int_equal(windows_get(&windows, 0), 300 + 50 + 100);
    assert_int_equal(windows_get(&windows, 1), 1000);
    assert_int_equal(windows_get(&windows, 2), 1000);
    assert_int_equal(windows_get(&windows, 3), 500);
    assert_int_equal(all_of(&windows), 2950);
}

static void windows_are_doubled_when_there_would_be_too_many(void **state)
{
    struct windows windows = {0}, sum = {0};
    struct windows_scale scale = {0, 0};
    uint64_t time = 0, now = 7000;
    (void)state;
    windows_begin(&scale, now);
    for (uint64_t length = 1; now < 100000000; length = length * 5 % 77777 + 1) {
        now += 2 * length;
        windows_add_call(&windows, &scale, length, now);
        time += length;
        assert_int_equal(windows.end > now, 1);
    }
    assert_int_equal(windows.doublings, 9);
    assert_int_equal(all_of(&windows), time);
    windows_add(&sum, &scale, 7000, 8500);
    windows_sum(&sum, &windows);
    assert_int_equal(sum.doublings, 9);
    assert_int_equal(all_of(&sum), time + 1500);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rounding_takes_nothing_from_the_sum),
        cmocka_unit_test(wider_windows_have_the_same_sum),
        cmocka_unit_test(ranks_with_windows_of_different_widths_are_merged_at_the_widest),
        cmocka_unit_test(a_side_without_windows_changes_nothing),
        cmocka_unit_test(efficiency_agrees_with_its_definition),
        cmocka_unit_test(a_window_of_a_rank_takes_a_byte_in_a_message),
        cmocka_unit_test(windows_arrive_as_they_were_sent),
        cmocka_unit_test(the_time_of_calls_is_added_to_the_right_windows),
        cmocka_unit_test(windows_are_doubled_when_there_would_be_too_many),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
