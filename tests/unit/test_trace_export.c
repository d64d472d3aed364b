/* SPDX-License-Identifier: MIT */
/*
 * Tests the numbers by which viewers distinguish processes, threads and sequences of packets. A
 * rank has the same numbers in a file of its own and in a file of all ranks, and no number occurs
 * twice.
 */
#include "trace_random.h"

#include "tools/trace/export/track.h"

#include <stdlib.h>

enum {
    RANKS = 5,
    THREADS = 6,
    REGIONS = 5000,
    COUNTERS = 3,
    TRACKS = THREADS + REGIONS + COUNTERS
};

static void set_process(struct trace_process *process, int rank, int ranks)
{
    *process = (struct trace_process){.rank = rank,
                                      .ranks = ranks,
                                      .location_count = THREADS,
                                      .region_count = REGIONS,
                                      .counter_count = COUNTERS};
}

/* Makes processes with the given ranks, and `others` processes without a rank. */
static struct trace_process *make_processes(const int *ranks, int count, int others)
{
    struct trace_process *processes = calloc((size_t)(count + others), sizeof *processes);
    for (int i = 0; i < count + others; i++)
        set_process(&processes[i], i < count ? ranks[i] : TRACE_UNDEFINED, RANKS);
    return processes;
}

static uint32_t sequence(struct trace_track_packets *output, uint32_t process, uint32_t track)
{
    if (track < THREADS)
        return trace_track_sequence(output, process, TRACK_THREAD, track);
    if (track < THREADS + REGIONS)
        return trace_track_sequence(output, process, TRACK_REGION, track - THREADS);
    return trace_track_sequence(output, process, TRACK_COUNTER, track - THREADS - REGIONS);
}

static void a_rank_alone_has_the_numbers_that_it_has_among_others(void **unused)
{
    (void)unused;
    const int all[RANKS] = {0, 1, 2, 3, 4};
    struct trace_process *together = make_processes(all, RANKS, 2);
    struct trace whole = {.processes = together, .process_count = RANKS + 2};
    const struct trace_view view_of_all = {.trace = &whole};
    const struct trace_export export_of_all = {.view = &view_of_all};
    struct trace_track_packets output_of_all = {.export = &export_of_all};
    for (int rank = RANKS - 1; rank >= 0; rank--) {
        struct trace_process *alone = make_processes(&rank, 1, 0);
        struct trace part = {.processes = alone, .process_count = 1};
        const struct trace_view view = {.trace = &part};
        const struct trace_export export = {.view = &view};
        struct trace_track_packets output = {.export = &export};
        const uint32_t index = (uint32_t)rank;
        assert_int_equal(trace_track_process_number(&view, 0), rank + 1);
        assert_int_equal(trace_track_process_number(&view_of_all, index), rank + 1);
        for (uint32_t i = 0; i < THREADS; i++)
            assert_int_equal(trace_track_thread_number(&view, 0, i),
                             trace_track_thread_number(&view_of_all, index, i));
        for (uint32_t i = TRACKS; i-- > 0;)
            assert_int_equal(sequence(&output, 0, i), sequence(&output_of_all, index, i));
        free(alone);
    }
    free(together);
}

static void a_rank_has_its_numbers_also_if_others_are_missing(void **unused)
{
    (void)unused;
    const int some[] = {1, 4};
    struct trace_process *processes = make_processes(some, 2, 1);
    struct trace part = {.processes = processes, .process_count = 3};
    const struct trace_view view = {.trace = &part};
    assert_int_equal(trace_track_process_number(&view, 0), 2);
    assert_int_equal(trace_track_process_number(&view, 1), 5);
    assert_int_equal(trace_track_process_number(&view, 2), 6);
    free(processes);
}

static int by_value(const void *one, const void *other)
{
    const uint32_t a = *(const uint32_t *)one, b = *(const uint32_t *)other;
    return a < b ? -1 : a > b;
}

static void no_two_sequences_have_the_same_number(void **unused)
{
    (void)unused;
    enum { PROCESSES = RANKS + 2 };
    const int all[RANKS] = {0, 1, 2, 3, 4};
    struct trace_process *processes = make_processes(all, RANKS, PROCESSES - RANKS);
    struct trace whole = {.processes = processes, .process_count = PROCESSES};
    const struct trace_view view = {.trace = &whole};
    const struct trace_export export = {.view = &view};
    struct trace_track_packets output = {.export = &export};
    uint32_t *numbers = calloc((size_t)PROCESSES * TRACKS, sizeof *numbers);
    for (uint32_t i = 0; i < PROCESSES; i++) {
        for (uint32_t k = 0; k < TRACKS; k++)
            numbers[i * TRACKS + k] = sequence(&output, i, k);
    }
    qsort(numbers, (size_t)PROCESSES * TRACKS, sizeof *numbers, by_value);
    assert_int_equal(numbers[0], 1); /* 0: none */
    for (size_t i = 1; i < (size_t)PROCESSES * TRACKS; i++)
        assert_true(numbers[i - 1] < numbers[i]);
    free(numbers);
    free(processes);
}

/* Sequence numbers have 32 bits, which must suffice. */
static void the_last_rank_of_many_has_numbers_of_its_own(void **unused)
{
    (void)unused;
    struct trace_process process;
    struct trace whole = {.processes = &process, .process_count = 1};
    const struct trace_view view = {.trace = &whole};
    const struct trace_export export = {.view = &view};
    struct trace_track_packets output = {.export = &export};
    set_process(&process, 1999999, 2000000);
    assert_int_equal(sequence(&output, 0, 0), 2000000);
    assert_int_equal(sequence(&output, 0, 1), 4000000);
    /* If the number of a track would be 2^31 or larger, the next number from 2^31 on is used. */
    const uint32_t first = sequence(&output, 0, 4000), second = sequence(&output, 0, 4001);
    assert_true(first >= UINT32_C(1) << 31 && second == first + 1);
    assert_int_equal(trace_track_process_number(&view, 0), 2000000);
    for (uint32_t i = 1; i < THREADS; i++)
        assert_true(trace_track_thread_number(&view, 0, i) >
                    2000000 + trace_track_thread_number(&view, 0, i - 1));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_rank_alone_has_the_numbers_that_it_has_among_others),
        cmocka_unit_test(a_rank_has_its_numbers_also_if_others_are_missing),
        cmocka_unit_test(no_two_sequences_have_the_same_number),
        cmocka_unit_test(the_last_rank_of_many_has_numbers_of_its_own),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
