/* SPDX-License-Identifier: MIT */
/* Tests the loss budget of constructed results, and that findings agree with it. */
#define _GNU_SOURCE
#include "unit.h"

#include "profile_sample.h"
#include "tools/profile/result/findings.h"
#include "util/message.h"

#include <stdlib.h>
#include <string.h>

static const struct profile_findings *find(const struct profile_result *result)
{
    static struct profile_findings findings;
    assert_true(profile_findings_find(result, &findings));
    return &findings;
}

static void the_budget_is_not_known_without_time(void **state)
{
    (void)state;
    struct profile_budget budget;
    struct profile_result *result = sample_run();
    result->is_filtered = true;
    assert_false(profile_budget_find(result, &budget));
    result->is_filtered = false;
    result->application.max = 0;
    assert_false(profile_budget_find(result, &budget));
    profile_result_free(result);
}

static void time_in_mpi_that_no_call_explains_is_other_time(void **state)
{
    (void)state;
    struct profile_result *result = sample_run();
    sample_add_call(result, "MPI_Put", 3, 10);
    assert_float_equal(sample_budget_share(result, PROFILE_BUDGET_USEFUL), 0.5, 1e-9);
    assert_float_equal(sample_budget_share(result, PROFILE_BUDGET_TRANSFER), 0.1, 1e-9);
    assert_float_equal(sample_budget_share(result, PROFILE_BUDGET_OTHER), 0.4, 1e-9);
    profile_result_free(result);
}

/* The times of calls can add up to more than the lost time if there are several threads, or calls
 * within calls. */
static void calls_do_not_take_more_than_was_lost(void **state)
{
    (void)state;
    struct profile_result *result = sample_run();
    sample_add_call(result, "MPI_Put", 3, 60);
    sample_add_call(result, "MPI_File_read", 4, 20);
    assert_float_equal(sample_budget_share(result, PROFILE_BUDGET_TRANSFER), 0.375, 1e-9);
    assert_float_equal(sample_budget_share(result, PROFILE_BUDGET_FILES), 0.125, 1e-9);
    profile_result_free(result);
}

static void a_small_collective_is_work_and_the_rest_is_waiting(void **state)
{
    (void)state;
    const double times[SAMPLE_RANKS] = {0.0001, 40, 40, 40}; /* rank 0 does not wait */
    struct profile_result *result = sample_run();
    sample_add_function(result, "MPI_Allreduce", "collective");
    struct profile_callsite *site = sample_add_site(result, "MPI_Allreduce", "/src/a.c", 7);
    sample_set_ranks(site, times);
    site->calls.calls = 40;
    site->calls.time = (struct profile_spread){.sum = 120.0001, .max = 40};
    assert_float_equal(sample_budget_share(result, PROFILE_BUDGET_COLLECTIVES), 119.9997 / 400,
                       1e-9);
    assert_float_equal(sample_budget_share(result, PROFILE_BUDGET_SMALL_COLLECTIVES), 0.0004 / 400,
                       1e-9);
    profile_result_free(result);
}

static void waits_for_senders_and_for_receivers_are_told_apart(void **state)
{
    (void)state;
    struct profile_result *result = sample_run();
    sample_add_wait(result, 30, "/src/a.c", 1);
    result->callsites->calls.time = (struct profile_spread){.sum = 36, .max = 36};
    result->callsites->messages = 4;
    const struct profile_wait wait = {2, 3, 5, 8};
    struct profile_callsite *site = sample_add_site(result, "MPI_Ssend", "/src/a.c", 2);
    sample_set_waits(site, 1, &wait);
    site->calls.time = (struct profile_spread){.sum = 8, .max = 8};
    assert_float_equal(sample_budget_share(result, PROFILE_BUDGET_LATE_SENDER), 30.0 / 400, 1e-9);
    assert_float_equal(sample_budget_share(result, PROFILE_BUDGET_LATE_RECEIVER), 8.0 / 400, 1e-9);
    site->waits.all->peer = -1; /* a process that was spawned */
    assert_float_equal(sample_budget_share(result, PROFILE_BUDGET_LATE_RECEIVER), 8.0 / 400, 1e-9);
    assert_float_equal(sample_budget_share(result, PROFILE_BUDGET_SMALL_MESSAGES), 6.0 / 400, 1e-9);
    profile_result_free(result);
}

static void ranks_that_end_early_lose_time(void **state)
{
    (void)state;
    struct profile_result *result = sample_run();
    result->processes[3].application = 60;
    assert_float_equal(sample_budget_share(result, PROFILE_BUDGET_END), 0.1, 1e-9);
    profile_result_free(result);
}

/* Between two polls, a rank is outside MPI, but does no useful work. */
static void pauses_between_polls_are_not_useful(void **state)
{
    (void)state;
    struct profile_result *result = sample_run();
    sample_add_call(result, "MPI_Test", 3, 1);
    result->callsites->calls.polling = 104;
    assert_float_equal(sample_budget_share(result, PROFILE_BUDGET_POLLING), 104.0 / 400, 1e-9);
    assert_float_equal(sample_budget_share(result, PROFILE_BUDGET_USEFUL), 0.25, 1e-9);
    profile_result_free(result);
}

static void a_rank_without_a_processor_is_found_and_not_blamed(void **state)
{
    (void)state;
    struct profile_result *result = sample_run();
    const char *const lists[SAMPLE_RANKS] = {"0-1,4", "0-1,4", "3", "3"};
    sample_add_wait(result, 30, "/src/a.c", 1);
    assert_int_equal(find(result)->all->kind, FINDING_LATE_SENDER);
    for (int rank = 0; rank < SAMPLE_RANKS; rank++)
        sample_set_processors(&result->processes[rank], lists[rank], rank == 0 ? 28 : rank);
    const struct profile_findings *findings = find(result);
    assert_int_equal(findings->count, 1); /* not the lateness of rank 0, which lacks a processor */
    assert_string_equal(findings->all[0].summary, "Rank 0 waits 28.0 s (28 %) for a processor");
    assert_non_null(strstr(findings->all[0].meaning, "other programs or threads on node a had"));
    result->processes[2].queued = 40;
    assert_non_null(strstr(find(result)->all[0].meaning,
                           "2 ranks on node b may only use processor 3, and take turns."));
    assert_float_equal(sample_budget_share(result, PROFILE_BUDGET_PROCESSOR), 72.0 / 400, 1e-9);
    profile_result_free(result);
}

/* If two threads of a rank are in MPI, their times add up to at most twice the time of the rank.
 * Therefore, they are divided by the number of threads. */
static void times_of_several_threads_are_shares_of_the_time_of_a_rank(void **state)
{
    (void)state;
    const double times[SAMPLE_RANKS] = {160, 0, 160, 160};
    struct profile_result *result = sample_run();
    for (int rank = 0; rank < SAMPLE_RANKS; rank++) {
        result->processes[rank].useful = rank == 1 ? 100 : 20;
        result->processes[rank].mpi = rank == 1 ? 0 : 160;
    }
    sample_add_function(result, "MPI_Allreduce", "collective");
    struct profile_callsite *site = sample_add_site(result, "MPI_Allreduce", "a.c", 7);
    sample_set_ranks(site, times);
    site->calls.time = (struct profile_spread){.sum = 480, .max = 160};
    const struct profile_finding *finding = find(result)->all;
    assert_int_equal(finding->kind, FINDING_IMBALANCE);
    assert_float_equal(finding->share, 0.8, 1e-9);
    assert_non_null(strstr(finding->summary, "80.0 s (80 %)"));
    assert_float_equal(sample_budget_share(result, PROFILE_BUDGET_COLLECTIVES), 0.6, 1e-3);
    profile_result_free(result);
    result = sample_run();
    result->processes[1].mpi = 150;
    result->processes[1].useful = 25;
    sample_add_wait(result, 140, "a.c", 1);
    result->callsites->calls.time = (struct profile_spread){.sum = 150, .max = 150, .max_rank = 1};
    result->callsites->calls.polling = 0;
    assert_float_equal(find(result)->all->share, 0.7, 1e-9);
    assert_true(sample_budget_share(result, PROFILE_BUDGET_LATE_SENDER) < 0.25);
    profile_result_free(result);
}

/* While rank 1 is not profiled, its calls are not counted, and it seems to end early. */
static void a_rank_that_is_not_profiled_is_not_said_to_be_late(void **state)
{
    (void)state;
    const double times[SAMPLE_RANKS] = {45, 5, 45, 46};
    struct profile_result *result = sample_run();
    struct profile_process *off = &result->processes[1];
    sample_add_function(result, "MPI_Barrier", "collective");
    struct profile_callsite *site = sample_add_site(result, "MPI_Barrier", "a.c", 7);
    sample_set_ranks(site, times);
    site->calls.time = (struct profile_spread){.sum = 141, .max = 46};
    result->application.min = off->application = 40;
    result->application.min_rank = 1;
    off->useful = 35;
    assert_int_equal(find(result)->all[0].kind, FINDING_SHUTDOWN);
    assert_non_null(strstr(find(result)->all[1].summary, "Rank 1 is last"));
    assert_float_equal(sample_budget_share(result, PROFILE_BUDGET_END), 0.15, 1e-9);
    off->off = 60;
    const struct profile_findings *findings = find(result);
    assert_int_equal(findings->count, 1);
    assert_string_equal(findings->all->summary,
                        "Rank 3 waits 46.0 s (46 %) in MPI_Barrier at a.c:7 for other ranks");
    assert_non_null(strstr(findings->all->meaning, "Rank 1 was not profiled for 60.0 s (60 %)"));
    assert_float_equal(sample_budget_share(result, PROFILE_BUDGET_END), 0, 1e-9);
    assert_float_equal(sample_budget_share(result, PROFILE_BUDGET_OFF), 0.15, 1e-9);
    /* Of the two ranks that make the calls, only rank 0 was profiled all the time. */
    sample_set_ranks(result->callsites, (double[]){45, 5, 0, 0});
    result->callsites->callers.count = 2;
    result->callsites->ranks = 2;
    assert_non_null(strstr(find(result)->all->summary, "Rank 0 waits 45.0 s (45 %)"));
    assert_non_null(strstr(find(result)->all->meaning, "Rank 1 was not profiled"));
    profile_result_free(result);
}

/* Rank 0 is last, and the others wait for it for 10 s. The rest of the time counts as waiting, too,
 * unless the data of one-sided accesses explain it. */
static void a_fence_and_a_window_take_time_that_is_no_waiting(void **state)
{
    (void)state;
    const double times[SAMPLE_RANKS] = {20, 30, 30, 30};
    struct profile_result *result = sample_run();
    sample_add_function(result, "MPI_Win_fence", "one-sided");
    struct profile_callsite *site = sample_add_site(result, "MPI_Win_fence", "a.c", 7);
    sample_set_ranks(site, times);
    site->calls.calls = result->functions[0].calls.calls = 40;
    site->calls.time = (struct profile_spread){.sum = 110, .max = 30};
    assert_float_equal(sample_budget_share(result, PROFILE_BUDGET_COLLECTIVES), 0.275, 1e-3);
    sample_add_function(result, "MPI_Put", "one-sided");
    /* Each rank moves 10 GB in both directions together, which explains 20 s. */
    result->functions[1].calls.sent = UINT64_C(20000000000);
    assert_float_equal(sample_budget_share(result, PROFILE_BUDGET_COLLECTIVES), 30.0 / 400, 1e-3);
    assert_float_equal(sample_budget_share(result, PROFILE_BUDGET_TRANSFER), 80.0 / 400, 1e-3);
    free(result->callsites->name);
    result->callsites->name = qmpi_copy("MPI_Win_allocate");
    assert_float_equal(sample_budget_share(result, PROFILE_BUDGET_COLLECTIVES), 30.0 / 400, 1e-3);
    assert_float_equal(sample_budget_share(result, PROFILE_BUDGET_OBJECTS), 80.0 / 400, 1e-3);
    profile_result_free(result);
}

static void places_are_listed_with_most_time_first(void **state)
{
    (void)state;
    struct profile_budget budget;
    enum profile_budget_part order[PROFILE_BUDGET_PARTS];
    struct profile_result *result = sample_run();
    for (int line = 1; line <= 5; line++)
        sample_add_call(result, "MPI_Put", line, line == 3 ? 9 : line);
    assert_true(profile_budget_find(result, &budget));
    const struct profile_budget_item *item = &budget.items[PROFILE_BUDGET_TRANSFER];
    assert_int_equal(item->place_count, 3);
    assert_int_equal(item->places[0].site->frames->line, 3);
    assert_int_equal(item->places[1].site->frames->line, 5);
    assert_int_equal(item->places[2].site->frames->line, 4);
    assert_float_equal(item->places[0].seconds, 36, 1e-9);
    profile_budget_order(&budget, order);
    assert_int_equal(order[0], PROFILE_BUDGET_USEFUL);
    assert_int_equal(order[1], PROFILE_BUDGET_OTHER);
    assert_int_equal(order[2], PROFILE_BUDGET_TRANSFER);
    profile_result_free(result);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_budget_is_not_known_without_time),
        cmocka_unit_test(time_in_mpi_that_no_call_explains_is_other_time),
        cmocka_unit_test(calls_do_not_take_more_than_was_lost),
        cmocka_unit_test(a_small_collective_is_work_and_the_rest_is_waiting),
        cmocka_unit_test(waits_for_senders_and_for_receivers_are_told_apart),
        cmocka_unit_test(ranks_that_end_early_lose_time),
        cmocka_unit_test(pauses_between_polls_are_not_useful),
        cmocka_unit_test(a_rank_without_a_processor_is_found_and_not_blamed),
        cmocka_unit_test(times_of_several_threads_are_shares_of_the_time_of_a_rank),
        cmocka_unit_test(a_rank_that_is_not_profiled_is_not_said_to_be_late),
        cmocka_unit_test(a_fence_and_a_window_take_time_that_is_no_waiting),
        cmocka_unit_test(places_are_listed_with_most_time_first),
    };
    return cmocka_run_group_tests_name("profile_budget", tests, NULL, NULL);
}
