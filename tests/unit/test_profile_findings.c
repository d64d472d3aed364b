/* SPDX-License-Identifier: MIT */
/* Tests the findings of constructed results: their number, order, thresholds and wording. */
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

/* ---- The list -------------------------------------------------------------------------------- */

static void there_is_no_finding_if_nothing_is_wrong(void **state)
{
    (void)state;
    struct profile_result *result = sample_run();
    assert_int_equal(find(result)->count, 0);
    profile_result_free(result);
}

static void the_findings_of_a_run_without_time_are_unknown(void **state)
{
    (void)state;
    struct profile_findings findings;
    struct profile_result *result = sample_run();
    result->application.max = 0;
    assert_false(profile_findings_find(result, &findings));
    profile_result_free(result);
}

static void the_seven_findings_that_cost_most_are_listed_in_order(void **state)
{
    (void)state;
    struct profile_result *result = sample_run();
    for (int i = 0; i < 100; i++)
        sample_add_wait(result, 6 + i % 10 + i / 1000.0, "/src/a.c", i);
    const struct profile_findings *findings = find(result);
    assert_int_equal(findings->count, 7);
    for (int i = 0; i < 7; i++)
        assert_int_equal(findings->all[i].site->frames->line, 99 - 10 * i);
    profile_result_free(result);
}

static void times_below_the_threshold_are_no_findings(void **state)
{
    (void)state;
    struct profile_result *result = sample_run();
    sample_add_wait(result, 4.99, "/src/a.c", 1);
    assert_int_equal(find(result)->count, 0);
    result->callsites->waits.all->time = 5.01;
    assert_int_equal(find(result)->count, 1);
    result->thresholds.any = 6;
    assert_int_equal(find(result)->count, 0);
    result->thresholds.any = 1;
    result->application.max = 0.5;
    result->callsites->waits.all->time = 0.009; /* noise, because the run is short */
    assert_int_equal(find(result)->count, 0);
    profile_result_free(result);
}

/* ---- Lines ----------------------------------------------------------------------------------- */

static void a_line_names_rank_seconds_share_and_place(void **state)
{
    (void)state;
    struct profile_result *result = sample_run();
    sample_add_wait(result, 22, "/home/me/ocean.c", 83);
    const struct profile_finding *finding = find(result)->all;
    assert_string_equal(finding->summary,
                        "Rank 1 waits 22.0 s (22 %) in MPI_Recv at ocean.c:83 for rank 0");
    assert_int_equal(finding->kind, FINDING_LATE_SENDER);
    assert_int_equal(finding->rank, 1);
    assert_int_equal(finding->peer, 0);
    profile_result_free(result);
}

static void without_debug_information_the_place_is_library_and_offset(void **state)
{
    (void)state;
    struct profile_result *result = sample_run();
    sample_add_wait(result, 22, NULL, 0);
    assert_string_equal(find(result)->all->summary,
                        "Rank 1 waits 22.0 s (22 %) in MPI_Recv at libx.so+0x1234 for rank 0");
    profile_result_free(result);
}

static void a_long_name_of_a_file_is_cut_at_its_end_in_the_text(void **state)
{
    (void)state;
    struct profile_result *result = sample_run();
    sample_add_wait(result, 22, "/a/a_file_with_a_long_name.c", 1234);
    sample_add_wait(result, 21,
                    "/a/a_file_whose_name_is_so_long_that_it_does_not_fit_into_a_line.c", 12);
    const struct profile_findings *findings = find(result);
    const char *first =
        "Rank 1 waits 22.0 s (22 %) in MPI_Recv at a_file_with_a_long_name.c:1234 for rank 0";
    assert_string_equal(findings->all[0].summary, first);
    assert_string_equal(profile_finding_text(&findings->all[0]), first);
    assert_string_equal(findings->all[1].summary,
                        "Rank 1 waits 21.0 s (21 %) in MPI_Recv at "
                        "a_file_whose_name_is_so_long_that_it_does_not_fit_into_a_line.c:12 for "
                        "rank 0");
    assert_string_equal(profile_finding_text(&findings->all[1]),
                        "Rank 1 waits 21.0 s (21 %) in MPI_Recv at "
                        "a_file_whose_name_is_so_long_that_it_...:12 for rank 0");
    profile_result_free(result);
}

/* ---- Rules ----------------------------------------------------------------------------------- */

static void a_completion_waits_for_a_receiver_if_nothing_comes_from_the_peer(void **state)
{
    (void)state;
    struct profile_result *result = sample_run();
    const struct profile_wait wait = {1, 0, 5, 30};
    sample_set_waits(sample_add_site(result, "MPI_Waitall", "a.c", 1), 1, &wait);
    assert_int_equal(find(result)->all->kind, FINDING_LATE_RECEIVER);
    result->matrix = qmpi_allocate(1, sizeof *result->matrix);
    *result->matrix = (struct profile_matrix_entry){.from = 0, .to = 1, .messages = 1, .bytes = 8};
    result->matrix_entry_count = 1;
    assert_int_equal(find(result)->all->kind, FINDING_LATE_SENDER);
    result->callsites->waits.all->peer = -1;
    assert_int_equal(find(result)->all->kind, FINDING_SLOW_REQUESTS);
    profile_result_free(result);
}

/* A process that was spawned has no rank in MPI_COMM_WORLD. */
static void a_message_may_wait_for_an_unknown_peer(void **state)
{
    (void)state;
    struct profile_result *result = sample_run();
    const struct profile_wait wait = {1, -1, 5, 30};
    struct profile_callsite *site = sample_add_site(result, "MPI_Send", "a.c", 1);
    sample_set_waits(site, 1, &wait);
    const struct profile_finding *finding = find(result)->all;
    assert_int_equal(finding->kind, FINDING_LATE_RECEIVER);
    assert_string_equal(finding->summary, "Rank 1 waits 30.0 s (30 %) in MPI_Send at a.c:1");
    assert_non_null(strstr(finding->meaning, "The sender is ready before the receiver: "));
    assert_non_null(strstr(finding->meaning, "does not know for which rank"));
    assert_non_null(strstr(finding->advice, "MPI_Isend"));
    free(site->name);
    site->name = strdup("MPI_Recv");
    finding = find(result)->all;
    assert_int_equal(finding->kind, FINDING_LATE_SENDER);
    assert_non_null(strstr(finding->meaning, "The receiver is ready before the sender. "));
    assert_non_null(strstr(finding->advice, "MPI_Irecv"));
    profile_result_free(result);
}

/* If a rank waits equally long for several peers, the finding names the one of these peers that
 * works most. */
static void of_several_peers_the_one_that_works_most_is_late(void **state)
{
    (void)state;
    struct profile_result *result = sample_run();
    const struct profile_wait waits[] = {{0, 1, 5, 10}, {0, 2, 5, 10}, {0, 3, 5, 1}, {1, 2, 5, 9}};
    sample_set_waits(sample_add_site(result, "MPI_Recv", "a.c", 1), 4, waits);
    result->processes[2].useful = 60;
    result->processes[3].useful = 99;
    const struct profile_finding *finding = find(result)->all;
    assert_int_equal(finding->rank, 0);
    assert_int_equal(finding->peer, 2);
    assert_true(finding->seconds > 20.9 && finding->seconds < 21.1);
    assert_non_null(strstr(finding->meaning, "1 other rank waits here, too"));
    profile_result_free(result);
}

static void the_rank_that_waits_least_in_a_collective_is_last(void **state)
{
    (void)state;
    struct profile_result *result = sample_run();
    sample_add_function(result, "MPI_Allreduce", "collective");
    sample_set_ranks(sample_add_site(result, "MPI_Allreduce", "a.c", 7), (double[]){30, 20, 1, 11});
    const struct profile_finding *finding = find(result)->all;
    assert_int_equal(finding->kind, FINDING_IMBALANCE);
    assert_int_equal(finding->rank, 2);
    /* The mean of ranks 0 and 1, which wait 29 s and 19 s longer than rank 2. Rank 3 does not
     * count, because it waits less than half as long as rank 0. */
    assert_true(finding->seconds > 23.9 && finding->seconds < 24.1);
    profile_result_free(result);
}

/* The imbalance that a slow node causes is not listed beside the slow node. */
static void waiting_for_a_slow_node_is_no_separate_finding(void **state)
{
    (void)state;
    struct profile_result *result = sample_run();
    sample_add_function(result, "MPI_Allreduce", "collective");
    sample_set_ranks(sample_add_site(result, "MPI_Allreduce", "a.c", 7), (double[]){30, 30, 1, 1});
    assert_int_equal(find(result)->all->kind, FINDING_IMBALANCE);
    result->processes[2].useful = result->processes[3].useful = 90;
    const struct profile_findings *findings = find(result);
    assert_int_equal(findings->count, 1);
    assert_int_equal(findings->all->kind, FINDING_SLOW_NODE);
    assert_non_null(strstr(findings->all->meaning, "its node, b"));
    profile_result_free(result);
}

static void many_short_waits_are_found_if_a_neighbor_works_for_longer(void **state)
{
    (void)state;
    struct profile_result *result = sample_run();
    sample_add_function(result, "MPI_Sendrecv", "point-to-point");
    struct profile_callsite *site = sample_add_site(result, "MPI_Sendrecv", "a.c", 7);
    sample_set_ranks(site, (double[]){1, 31, 2, 3});
    site->calls.shortest = 0.1; /* the shortest of 10 calls */
    assert_int_equal(find(result)->count, 0);
    result->matrix = qmpi_allocate(2, sizeof *result->matrix);
    result->matrix[0] = (struct profile_matrix_entry){.from = 1, .to = 2, .messages = 10};
    result->matrix[1] = (struct profile_matrix_entry){.from = 0, .to = 1, .messages = 10};
    result->matrix_entry_count = 2;
    assert_int_equal(find(result)->count, 0);
    result->processes[0].useful = 70;
    result->processes[3].useful = 99; /* not a neighbor */
    const struct profile_finding *finding = find(result)->all;
    assert_int_equal(finding->kind, FINDING_LATE_SENDER);
    assert_int_equal(finding->rank, 1);
    assert_int_equal(finding->peer, 0);
    assert_true(finding->seconds > 29.9 && finding->seconds < 30.1);
    site = result->callsites;
    site->calls.polling = 1;
    assert_int_equal(find(result)->count, 0);
    profile_result_free(result);
}

static void objects_are_counted_by_rank_over_all_functions(void **state)
{
    (void)state;
    static const char *const names[] = {"MPI_Type_commit", "MPI_Comm_dup", "MPI_Type_size",
                                        "MPI_Pack", "MPI_Get_address"};
    struct profile_result *result = sample_run();
    for (int i = 0; i < 5; i++) {
        sample_add_function(result, names[i], i == 1 ? "communicator" : "datatype");
        struct profile_function *function = &result->functions[i];
        function->callers.all = qmpi_allocate(1, sizeof *function->callers.all);
        function->callers.count = 1;
        *function->callers.all = (struct profile_rank_calls){.rank = 3, .calls = 60, .time = 4};
        sample_add_site(result, names[i], "a.c", i + 1)->calls.time.max = 4 + i;
    }
    const struct profile_finding *finding = find(result)->all;
    assert_int_equal(finding->kind, FINDING_TEMPORARY_OBJECTS);
    assert_int_equal(finding->rank, 3);
    assert_int_equal(finding->site->frames->line, 2);
    assert_true(finding->seconds > 7.9 && finding->seconds < 8.1);
    result->functions[0].callers.all->calls = 39;
    assert_int_equal(find(result)->count, 0);
    profile_result_free(result);
}

/* Adds a function and a call site of it, with `calls` calls that only rank `rank` makes. */
static void add_calls(struct profile_result *result, const char *name, int line, int rank,
                      uint64_t calls)
{
    const struct profile_rank_calls its = {.rank = rank, .calls = calls};
    sample_add_function(result, name, "");
    struct profile_callsite *site = sample_add_site(result, name, "a.c", line);
    struct profile_function *function = &result->functions[result->function_count - 1];
    site->ranks = function->ranks = 1;
    site->calls.calls = function->calls.calls = calls;
    site->callers.all = qmpi_allocate(1, sizeof its);
    function->callers.all = qmpi_allocate(1, sizeof its);
    *site->callers.all = *function->callers.all = its;
    site->callers.count = function->callers.count = 1;
}

/* Sets the time of each rank in all calls of the first function. */
static void set_function_time(struct profile_result *result, double time)
{
    struct profile_function *function = result->functions;
    free(function->callers.all);
    function->callers.all = qmpi_allocate(SAMPLE_RANKS, sizeof *function->callers.all);
    function->callers.count = SAMPLE_RANKS;
    for (int rank = 0; rank < SAMPLE_RANKS; rank++)
        function->callers.all[rank] =
            (struct profile_rank_calls){.rank = rank, .calls = 20, .time = time};
}

/* Makes a run with calls that send and receive 4 bytes each. They take about 9 s each in b.c, and
 * 0.1 s each in a.c. */
static struct profile_result *make_slow(void)
{
    static const char *const lines[] = {"a.c", "b.c"};
    struct profile_result *result = sample_run();
    sample_add_function(result, "MPI_Allreduce", "collective");
    set_function_time(result, 90);
    for (int i = 0; i < 2; i++) {
        const double time = i ? 89 : 1;
        struct profile_callsite *site = sample_add_site(result, "MPI_Allreduce", lines[i], 7);
        sample_set_ranks(site, (double[]){time, time, time, time});
        site->calls.calls = 40;
        site->calls.sent = site->calls.received = 160;
        site->calls.shortest = i ? 8 : 0.09;
        site->calls.time = (struct profile_spread){.sum = 4 * time, .max = time};
    }
    for (int rank = 0; rank < SAMPLE_RANKS; rank++)
        result->processes[rank].useful = 10;
    return result;
}

static void collectives_are_slow_if_waiting_does_not_explain_their_time(void **state)
{
    (void)state;
    struct profile_result *result = make_slow();
    const struct profile_finding *finding = find(result)->all;
    assert_int_equal(finding->kind, FINDING_SLOW_COLLECTIVES);
    /* Of the 89 s, rank 0 may have waited for 30 s, because each of the three others is outside MPI
     * for 10 s; and ten calls would take 0.9 s if all were as fast as the fastest one. */
    assert_string_equal(finding->summary,
                        "Rank 0 loses 58.1 s (58 %) in slow MPI_Allreduce at b.c:7");
    assert_non_null(strstr(finding->meaning, "the fastest such call of the run took 90.0 ms"));
    assert_float_equal(sample_budget_share(result, PROFILE_BUDGET_SMALL_COLLECTIVES), 0.581, 1e-3);
    result->callsites[0].calls.sent = 400000; /* The fast calls in a.c now have another size. */
    assert_int_equal(find(result)->all->kind, FINDING_IMBALANCE);
    result->callsites[0].calls.sent = 160;
    result->processes[2].queued = 60;
    assert_int_not_equal(find(result)->all->kind, FINDING_SLOW_COLLECTIVES);
    result->processes[2].queued = 0;
    set_function_time(result, 70); /* now the others may be late for longer */
    assert_int_equal(find(result)->all->kind, FINDING_IMBALANCE);
    profile_result_free(result);
}

/* With sync=yes, `time` does not contain the waiting, so all of `time` beyond that of the fastest
 * calls is lost. */
static void waiting_that_was_measured_apart_is_not_subtracted_from_slow_collectives(void **state)
{
    (void)state;
    struct profile_result *result = make_slow();
    struct profile_callsite *site = &result->callsites[1];
    set_function_time(result, 20);
    sample_set_ranks(site, (double[]){20, 20, 20, 20});
    for (int rank = 0; rank < SAMPLE_RANKS; rank++)
        site->callers.all[rank].wait = 60;
    site->calls.time = (struct profile_spread){.sum = 80, .max = 20};
    site->calls.wait = (struct profile_spread){.sum = 240, .max = 60};
    const struct profile_findings *findings = find(result);
    bool is_slow = false;
    for (int i = 0; i < findings->count; i++)
        is_slow = is_slow || !strcmp(findings->all[i].summary,
                                     "Rank 0 loses 19.1 s (19 %) in slow MPI_Allreduce at b.c:7");
    assert_true(is_slow);
    profile_result_free(result);
}

static void objects_that_are_not_freed_are_leaked(void **state)
{
    (void)state;
    struct profile_result *result = sample_run();
    for (int rank = 0; rank < SAMPLE_RANKS; rank++)
        result->processes[rank].useful = 100;
    add_calls(result, "MPI_Type_vector", 1, 2, 500);
    add_calls(result, "MPI_Type_create_struct", 2, 2, 12);
    add_calls(result, "MPI_Type_create_keyval", 3, 2, 1000);
    add_calls(result, "MPI_Type_free", 4, 2, 500);
    const struct profile_findings *findings = find(result);
    assert_int_equal(findings->count, 1);
    assert_int_equal(findings->all->kind, FINDING_LEAKED_OBJECTS);
    assert_string_equal(findings->all->summary, "Rank 2 does not free 12 datatypes of "
                                                "MPI_Type_create_struct made at a.c:2");
    assert_non_null(
        strstr(findings->all->meaning, "has made 512 datatypes, and freed 500 of them"));
    result->processes[1].off = 1; /* objects may have been freed while profiling was off */
    assert_int_equal(find(result)->count, 0);
    result->processes[1].off = 0;
    result->functions[3].callers.all->calls = result->functions[3].calls.calls = 503;
    assert_int_equal(find(result)->count, 0);
    profile_result_free(result);
}

static void windows_are_objects_too(void **state)
{
    (void)state;
    struct profile_result *result = sample_run();
    for (int rank = 0; rank < SAMPLE_RANKS; rank++)
        result->processes[rank].useful = 100;
    add_calls(result, "MPI_Win_allocate", 1, 3, 9);
    assert_int_equal(find(result)->count, 0);
    add_calls(result, "MPI_Win_create", 2, 3, 4);
    add_calls(result, "MPI_Win_free", 3, 3, 2);
    assert_non_null(strstr(find(result)->all->summary, "Rank 3 does not free 11 windows of"));
    profile_result_free(result);
}

/* Calls such as MPI_Comm_split may return no communicator. They count only if none is freed. */
static void only_communicators_that_must_exist_are_leaked(void **state)
{
    (void)state;
    struct profile_result *result = sample_run();
    for (int rank = 0; rank < SAMPLE_RANKS; rank++)
        result->processes[rank].useful = 100;
    add_calls(result, "MPI_Comm_split", 1, 1, 100);
    assert_non_null(strstr(find(result)->all->summary, "does not free 100 communicators"));
    add_calls(result, "MPI_Comm_free", 2, 1, 30);
    assert_int_equal(find(result)->count, 0);
    add_calls(result, "MPI_Comm_dup", 3, 1, 50);
    assert_string_equal(find(result)->all->summary, "Rank 1 does not free 20 communicators of "
                                                    "MPI_Comm_dup made at a.c:3");
    profile_result_free(result);
}

static void waits_of_all_ranks_for_the_same_time_are_found(void **state)
{
    (void)state;
    struct profile_result *result = sample_run();
    sample_add_function(result, "MPI_Allreduce", "collective");
    struct profile_callsite *site = sample_add_site(result, "MPI_Allreduce", "a.c", 7);
    sample_set_ranks(site, (double[]){40, 40, 40, 40});
    site->calls.time = (struct profile_spread){160, 40, 40, 40, 0, 0, 0};
    const struct profile_finding *finding = find(result)->all;
    assert_int_equal(finding->kind, FINDING_IMBALANCE);
    assert_string_equal(finding->summary,
                        "Rank 3 waits 40.0 s (40 %) in MPI_Allreduce at a.c:7, as do others");
    profile_result_free(result);
}

/* If the rank that is last changes from call to call, the finding names no rank as the last one. */
static void no_rank_is_named_if_the_last_one_changes(void **state)
{
    (void)state;
    struct profile_result *result = sample_run();
    sample_add_function(result, "MPI_Allreduce", "collective");
    sample_set_ranks(sample_add_site(result, "MPI_Allreduce", "a.c", 7),
                     (double[]){30, 40, 40, 30});
    assert_non_null(strstr(find(result)->all->meaning, "changes from call to call"));
    sample_set_ranks(result->callsites, (double[]){3, 40, 40, 30});
    assert_non_null(strstr(find(result)->all->summary, "Rank 0 is last"));
    profile_result_free(result);
}

/* Of 100 ranks, 60 wait for 10 s, and 40 do not wait. The result lists 32 of the ranks. */
static void ranks_that_are_not_listed_are_counted_too(void **state)
{
    (void)state;
    enum { ALL = 100, WAITING = 60 };
    struct profile_result *result = sample_run();
    sample_add_function(result, "MPI_Allreduce", "collective");
    struct profile_callsite *site = sample_add_site(result, "MPI_Allreduce", "a.c", 7);
    sample_set_ranks(site, (double[]){0, 0, 0, 0});
    site->callers.all = realloc(site->callers.all, PROFILE_OUTLIERS * sizeof *site->callers.all);
    assert_non_null(site->callers.all);
    site->callers.count = PROFILE_OUTLIERS;
    for (int i = 0; i < PROFILE_OUTLIERS; i++)
        site->callers.all[i] = (struct profile_rank_calls){
            .rank = i, .calls = 10, .time = i < PROFILE_OUTLIERS / 2 ? 0 : 10};
    site->ranks = ALL;
    site->calls.calls = 10 * ALL;
    site->calls.time.sum = 10 * WAITING;
    for (int rank = 0; rank < SAMPLE_RANKS; rank++)
        result->processes[rank].useful = 90;
    const struct profile_finding *finding = find(result)->all;
    assert_non_null(strstr(finding->meaning, "60 ranks wait for it"));
    assert_true(finding->seconds > 9.9 && finding->seconds < 10.1);
    profile_result_free(result);
}

/* If no late peer stands out by its waits or its work, the finding only tells the number of late
 * peers. */
static void of_several_late_peers_none_is_named(void **state)
{
    (void)state;
    struct profile_result *result = sample_run();
    const struct profile_wait waits[] = {{0, 1, 5, 10}, {0, 2, 5, 9}, {0, 3, 5, 11}};
    sample_set_waits(sample_add_site(result, "MPI_Recv", "a.c", 1), 3, waits);
    const char *summary = "Rank 0 waits 30.0 s (30 %) in MPI_Recv at a.c:1 for 3 ranks";
    assert_string_equal(find(result)->all->summary, summary);
    result->callsites->waits.all[0].time = 1;
    result->callsites->waits.all[2].time = 30; /* most of the time, rank 0 waits for rank 3 */
    assert_non_null(strstr(find(result)->all->summary, "for rank 3"));
    profile_result_free(result);
    /* MPI_Waitall completes several requests, and its time is divided among their peers. */
    result = sample_run();
    sample_set_waits(sample_add_site(result, "MPI_Waitall", "a.c", 1), 3, waits);
    assert_non_null(strstr(find(result)->all->summary, "for 3 ranks"));
    result->processes[2].useful = 70;
    assert_non_null(strstr(find(result)->all->summary, "for rank 2"));
    profile_result_free(result);
}

/* In a reduction, only the root waits. */
static void among_ranks_that_do_not_wait_the_busiest_one_is_last(void **state)
{
    (void)state;
    struct profile_result *result = sample_run();
    sample_add_function(result, "MPI_Reduce", "collective");
    sample_set_ranks(sample_add_site(result, "MPI_Reduce", "a.c", 7), (double[]){40, 0, 1, 0});
    assert_string_equal(find(result)->all->summary,
                        "Rank 0 waits 40.0 s (40 %) in MPI_Reduce at a.c:7 for other ranks");
    result->processes[2].useful = 90;
    assert_non_null(strstr(find(result)->all->summary, "Rank 2 is last"));
    profile_result_free(result);
}

static void a_rank_does_not_wait_for_itself(void **state)
{
    (void)state;
    struct profile_result *result = sample_run();
    const struct profile_wait waits[] = {{0, 0, 5, 60}, {0, 2, 5, 10}};
    sample_set_waits(sample_add_site(result, "MPI_Recv", "a.c", 1), 2, waits);
    const struct profile_finding *finding = find(result)->all;
    assert_int_equal(finding->peer, 2);
    assert_true(finding->seconds > 9.9 && finding->seconds < 10.1);
    result->callsites->waits.count = 1;
    assert_int_equal(find(result)->count, 0);
    profile_result_free(result);
}

/* ---- Causes ---------------------------------------------------------------------------------- */

static void ranks_that_wait_for_one_rank_at_two_places_are_one_finding(void **state)
{
    (void)state;
    struct profile_result *result = sample_run();
    const struct profile_wait more[] = {{1, 0, 5, 10}, {2, 0, 5, 12}, {3, 0, 5, 11}};
    const struct profile_wait less[] = {{1, 0, 5, 7}, {2, 0, 5, 8}, {3, 0, 5, 6}};
    sample_set_waits(sample_add_site(result, "MPI_Recv", "a.c", 1), 3, more);
    assert_int_equal(find(result)->all->kind, FINDING_LATE_SENDER);
    sample_set_waits(sample_add_site(result, "MPI_Ssend", "a.c", 2), 3, less);
    const struct profile_findings *findings = find(result);
    assert_int_equal(findings->count, 1);
    assert_int_equal(findings->all->kind, FINDING_BOTTLENECK);
    assert_string_equal(findings->all->summary,
                        "Rank 0 holds up 3 ranks for 18.0 s (18 %) in MPI_Recv at a.c:1");
    assert_int_equal(findings->all->rank, 0);
    assert_non_null(strstr(findings->all->meaning, "and MPI_Ssend at a.c:2"));
    assert_non_null(strstr(findings->all->advice, "Give a part of the work"));
    result->processes[0].useful = 3;
    assert_non_null(strstr(find(result)->all->advice, "serves more messages than it can"));
    for (int i = 0; i < 2; i++)
        result->callsites[i].waits.count = 1; /* Only one rank waits. */
    assert_int_equal(find(result)->count, 2);
    assert_int_equal(find(result)->all->kind, FINDING_LATE_SENDER);
    profile_result_free(result);
}

/* Makes a run in which ranks 0, 1 and 3 wait for rank 2. */
static struct profile_result *make_late_rank(void)
{
    struct profile_result *result = sample_run();
    sample_add_function(result, "MPI_Allreduce", "collective");
    struct profile_callsite *site = sample_add_site(result, "MPI_Allreduce", "a.c", 7);
    sample_set_ranks(site, (double[]){30, 30, 1, 30});
    site->calls.time = (struct profile_spread){.sum = 91, .max = 30};
    return result;
}

/* Adds calls that take 29 s together, and that only rank 2 makes. */
static void add_late_call(struct profile_result *result, const char *name, const char *group)
{
    const struct profile_rank_calls late = {.rank = 2, .calls = 10, .time = 29, .sent = 1000};
    sample_add_function(result, name, group);
    struct profile_callsite *site = sample_add_site(result, name, "b.c", 3);
    struct profile_function *function = &result->functions[result->function_count - 1];
    site->ranks = function->ranks = 1;
    site->calls.calls = function->calls.calls = late.calls;
    site->calls.sent = function->calls.sent = late.sent;
    site->calls.time = function->calls.time =
        (struct profile_spread){.sum = 29, .max = 29, .max_rank = 2};
    site->callers.all = qmpi_allocate(1, sizeof late);
    function->callers.all = qmpi_allocate(1, sizeof late);
    *site->callers.all = *function->callers.all = late;
    site->callers.count = function->callers.count = 1;
}

static void a_finding_names_the_call_of_the_late_rank(void **state)
{
    (void)state;
    struct profile_result *result = make_late_rank();
    assert_null(strstr(find(result)->all->meaning, "Meanwhile"));
    add_late_call(result, "MPI_Get_processor_name", "environment");
    const struct profile_finding *finding = find(result)->all;
    assert_int_equal(finding->kind, FINDING_IMBALANCE);
    assert_int_equal(finding->rank, 2);
    assert_non_null(strstr(finding->meaning, "Meanwhile, rank 2 is in MPI_Get_processor_name at "
                                             "b.c:3: 29.0 s (29 %)."));
    result->processes[2].useful = 90; /* The rank is outside MPI for even longer. */
    assert_null(strstr(find(result)->all->meaning, "Meanwhile"));
    profile_result_free(result);
}

static void waiting_for_the_output_of_one_rank_is_one_finding(void **state)
{
    (void)state;
    struct profile_result *result = make_late_rank();
    add_late_call(result, "MPI_File_write", "I/O");
    const struct profile_findings *findings = find(result);
    assert_int_equal(findings->count, 1);
    assert_int_equal(findings->all->kind, FINDING_SERIAL_IO);
    assert_non_null(strstr(findings->all->meaning,
                           "Others wait for it meanwhile in MPI_Allreduce at a.c:7: 29.0 s"));
    result->processes[2].useful = 90;
    assert_int_equal(find(result)->count, 2);
    profile_result_free(result);
}

/* ---- Calls in flight ------------------------------------------------------------------------- */

static void add_flight(struct profile_result *result, const char *name, int rank, double seconds)
{
    const size_t number = result->flight_count++;
    result->flights = realloc(result->flights, (number + 1) * sizeof *result->flights);
    assert_non_null(result->flights);
    struct profile_flight *flight = &result->flights[number];
    *flight = (struct profile_flight){.name = qmpi_copy(name),
                                      .frames = qmpi_allocate(1, sizeof *flight->frames),
                                      .frame_count = 1,
                                      .rank = rank,
                                      .time = seconds,
                                      .since = qmpi_copy("")};
    *flight->frames = (struct profile_frame){.offset = 0x1234, .module = qmpi_copy("/lib/libx.so")};
}

static void calls_in_flight_are_findings_and_other_findings_leave_out_their_time(void **state)
{
    (void)state;
    struct profile_result *result = sample_run();
    sample_add_function(result, "MPI_Barrier", "collective");
    struct profile_callsite *site = sample_add_site(result, "MPI_Barrier", "a.c", 7);
    sample_set_ranks(site, (double[]){50, 51, 50, 0});
    site->callers.count = 3;
    site->ranks = 3;
    site->calls.calls = 30;
    site->calls.time = (struct profile_spread){.sum = 151, .max = 51};
    sample_add_site(result, "MPI_Recv", "a.c", 9);
    for (int rank = 0; rank < 3; rank++)
        add_flight(result, "MPI_Barrier", rank, rank == 1 ? 51 : 50);
    add_flight(result, "MPI_Recv", 3, 49);
    const struct profile_findings *findings = find(result);
    assert_int_equal(findings->count, 2);
    assert_int_equal(findings->all[0].kind, FINDING_IN_FLIGHT);
    assert_string_equal(findings->all[0].summary,
                        "Rank 1 is still in MPI_Barrier at a.c:7 after 51.0 s (51 %)");
    assert_non_null(strstr(findings->all[0].meaning, "3 are in a call from here, 1 in other MPI"));
    assert_int_equal(findings->all[1].kind, FINDING_IN_FLIGHT);
    assert_int_equal(findings->all[1].rank, 3);
    for (int i = 0; i < 4; i++)
        result->flights[i].time = 4; /* shorter than the threshold */
    assert_int_equal(find(result)->all->kind, FINDING_BARRIER);
    profile_result_free(result);
}

/* ---- Time that no rule explains -------------------------------------------------------------- */

static const char *none(const struct profile_result *result)
{
    static char text[PROFILE_NONE_SIZE];
    return profile_findings_describe_none(result, text, sizeof text);
}

static void an_inefficient_run_has_a_finding(void **state)
{
    (void)state;
    struct profile_result *result = sample_run();
    for (int rank = 0; rank < SAMPLE_RANKS; rank++)
        result->processes[rank].useful = 81;
    sample_add_call(result, "MPI_Put", 3, 4);
    sample_add_call(result, "MPI_Win_flush", 4, 14);
    assert_int_equal(find(result)->count, 0);
    assert_string_equal(none(result), "no single problem takes at least 5.00 s, the limit for "
                                      "findings; the largest loss is \"other MPI time\", 15 % of "
                                      "the time: MPI_Win_flush at a.c:4 (14 %)");
    for (int rank = 0; rank < SAMPLE_RANKS; rank++)
        result->processes[rank].useful = 97;
    assert_string_equal(none(result), "no problems found");
    for (int rank = 0; rank < SAMPLE_RANKS; rank++)
        result->processes[rank].useful = 79;
    const struct profile_findings *findings = find(result);
    assert_int_equal(findings->count, 1);
    assert_int_equal(findings->all->kind, FINDING_TIME_IN_MPI);
    assert_string_equal(findings->all->summary,
                        "Ranks spend 21.0 s (21 %) in MPI, most in MPI_Win_flush at a.c:4");
    assert_non_null(strstr(findings->all->meaning, "MPI_Put at a.c:3 4.00 s (4 %)"));
    assert_int_equal(findings->all->rank, 2);
    sample_add_wait(result, 11, "/src/b.c", 1); /* This explains half of the time. */
    assert_int_equal(find(result)->count, 1);
    assert_int_equal(find(result)->all->kind, FINDING_LATE_SENDER);
    profile_result_free(result);
}

static void ranks_that_end_early_explain_inefficiency(void **state)
{
    (void)state;
    struct profile_result *result = sample_run();
    result->application = (struct profile_spread){2.8, 0.7, 0.1, 0.9, 0, 1, 2};
    for (int rank = 0; rank < SAMPLE_RANKS; rank++)
        result->processes[rank].useful = rank == 2 ? 0.9 : 0.1;
    result->application.mean = 0.3;
    const struct profile_finding *finding = find(result)->all;
    assert_int_equal(finding->kind, FINDING_SHUTDOWN);
    assert_int_equal(finding->rank, 2);
    profile_result_free(result);
}

/* Without call sites, most rules find nothing, and the text says so. */
static void missing_data_is_mentioned_beside_findings(void **state)
{
    (void)state;
    char text[160];
    struct profile_result *result = sample_run();
    assert_false(profile_findings_describe_gap(result, true, text, sizeof text));
    sample_add_function(result, "MPI_Barrier", "collective");
    result->functions->calls.time = (struct profile_spread){.sum = 200, .max = 60};
    assert_string_equal(find(result)->all->summary,
                        "Ranks spend 50.0 s (50 %) in MPI, most in MPI_Barrier");
    assert_true(profile_findings_describe_gap(result, true, text, sizeof text));
    assert_non_null(strstr(text, "most other problems cannot be found, because no call sites"));
    profile_result_free(result);
}

/* Without a finding, the text may say that there are no problems only if little time is lost. */
static void no_finding_does_not_mean_that_nothing_is_wrong(void **state)
{
    (void)state;
    struct profile_result *result = sample_run();
    result->thresholds.any = 60;
    sample_add_call(result, "MPI_Win_flush", 4, 50);
    assert_int_equal(find(result)->count, 0);
    assert_string_equal(none(result), "no single problem takes at least 60.0 s, the limit for "
                                      "findings; the largest loss is \"other MPI time\", 50 % of "
                                      "the time: MPI_Win_flush at a.c:4 (50 %)");
    assert_false(profile_findings_are_unneeded(result));
    result->thresholds.any = 0;
    result->is_filtered = true;
    assert_int_equal(find(result)->count, 0);
    assert_string_equal(none(result), "no problems found in the selected functions");
    profile_result_free(result);
}

/* ---- Processors, profiling switched off, small messages -------------------------------------- */

static void ranks_whose_processors_overlap_share_them(void **state)
{
    (void)state;
    struct profile_result *result = sample_run();
    const char *const lists[SAMPLE_RANKS] = {"0-1", "1", "0", "2-3"};
    for (int rank = 0; rank < SAMPLE_RANKS; rank++)
        sample_set_processors(&result->processes[rank], lists[rank], rank == 1 ? 28 : 0);
    strcpy(result->processes[2].host, "a");
    assert_non_null(strstr(find(result)->all[0].meaning,
                           "3 ranks on node a may only use the 2 processors 0-1, and take turns."));
    strcpy(result->processes[2].host, "b");
    assert_non_null(strstr(find(result)->all[0].meaning, "other programs or threads on node a"));
    strcpy(result->processes[2].host, "a");
    strcpy(result->processes[2].processors, "1"); /* the only processor of ranks 1 and 2 */
    assert_non_null(
        strstr(find(result)->all[0].meaning, "2 ranks on node a may only use processor 1"));
    profile_result_free(result);
}

/* The processors of the other ranks are unknown. */
static void the_result_of_one_rank_does_not_blame_other_programs_alone(void **state)
{
    (void)state;
    struct profile_result *result = sample_run();
    result->process_count = 1;
    result->ranks = 1;
    result->communicators = qmpi_allocate(1, sizeof *result->communicators);
    result->communicator_count = 1;
    *result->communicators =
        (struct profile_communicator){.name = qmpi_copy("MPI_COMM_WORLD"), .size = SAMPLE_RANKS};
    sample_set_processors(&result->processes[0], "0", 28);
    assert_non_null(
        strstr(find(result)->all[0].meaning, "other ranks, programs or threads on node a"));
    result->process_count = SAMPLE_RANKS;
    profile_result_free(result);
}

static void a_finding_says_that_the_peer_was_not_profiled(void **state)
{
    (void)state;
    struct profile_result *result = sample_run();
    sample_add_wait(result, 30, "a.c", 1);
    result->processes[0].application = result->processes[0].off = 50;
    const struct profile_finding *finding = find(result)->all;
    assert_non_null(strstr(finding->meaning, "Rank 0 was not profiled for 50.0 s (50 %)"));
    assert_non_null(strstr(finding->advice, "MPI_Pcontrol"));
    profile_result_free(result);
}

static void barriers_move_no_data_that_could_be_combined(void **state)
{
    (void)state;
    struct profile_result *result = sample_run();
    sample_add_function(result, "MPI_Barrier", "collective");
    struct profile_callsite *site = sample_add_site(result, "MPI_Barrier", "a.c", 7);
    sample_set_ranks(site, (double[]){20, 20, 20, 20});
    for (int rank = 0; rank < SAMPLE_RANKS; rank++) {
        site->callers.all[rank].calls = 1000000;
        result->processes[rank].useful = 80;
    }
    site->calls.calls = 4000000;
    site->calls.time = (struct profile_spread){.sum = 80, .max = 20};
    const struct profile_finding *finding = find(result)->all;
    assert_int_equal(finding->kind, FINDING_SMALL_COLLECTIVES);
    assert_string_equal(finding->summary, "Rank 3 spends 20.0 s (20 %) in MPI_Barrier at a.c:7");
    assert_null(strstr(finding->advice, "Combine"));
    assert_non_null(strstr(finding->advice, "Remove the barrier"));
    profile_result_free(result);
}

/* Each call sends and receives 8 bytes. */
static void messages_that_a_site_sends_and_receives_are_told_apart(void **state)
{
    (void)state;
    struct profile_result *result = sample_run();
    sample_add_function(result, "MPI_Sendrecv", "point-to-point");
    struct profile_callsite *site = sample_add_site(result, "MPI_Sendrecv", "a.c", 7);
    sample_set_ranks(site, (double[]){20, 20, 20, 20});
    site->calls.calls = 4000;
    site->calls.sent = site->calls.received = 32000;
    site->messages = 8000;
    for (int rank = 0; rank < SAMPLE_RANKS; rank++)
        result->processes[rank].useful = 80;
    site->calls.time = (struct profile_spread){.sum = 80, .max = 20};
    const struct profile_finding *finding = find(result)->all;
    assert_int_equal(finding->kind, FINDING_SMALL_MESSAGES);
    assert_non_null(
        strstr(finding->meaning, "Together, the ranks send 4000 messages of 8 B on average here."));
    profile_result_free(result);
}

static void collectives_wait_for_ranks_without_a_processor(void **state)
{
    (void)state;
    struct profile_result *result = sample_run();
    sample_add_function(result, "MPI_Allreduce", "collective");
    struct profile_callsite *site = sample_add_site(result, "MPI_Allreduce", "a.c", 7);
    sample_set_ranks(site, (double[]){30, 30, 30, 30});
    site->calls.calls = 40;
    site->calls.time = (struct profile_spread){.sum = 120, .max = 30};
    assert_non_null(strstr(find(result)->all[0].meaning, "changes from call to call"));
    result->processes[2].queued = 40;
    assert_int_equal(find(result)->all[0].kind, FINDING_NO_PROCESSOR);
    assert_int_equal(find(result)->all[1].kind, FINDING_IMBALANCE);
    assert_non_null(strstr(find(result)->all[1].meaning, "Ranks wait for a processor at times"));
    profile_result_free(result);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ranks_whose_processors_overlap_share_them),
        cmocka_unit_test(the_result_of_one_rank_does_not_blame_other_programs_alone),
        cmocka_unit_test(a_finding_says_that_the_peer_was_not_profiled),
        cmocka_unit_test(barriers_move_no_data_that_could_be_combined),
        cmocka_unit_test(messages_that_a_site_sends_and_receives_are_told_apart),
        cmocka_unit_test(collectives_wait_for_ranks_without_a_processor),
        cmocka_unit_test(there_is_no_finding_if_nothing_is_wrong),
        cmocka_unit_test(the_findings_of_a_run_without_time_are_unknown),
        cmocka_unit_test(the_seven_findings_that_cost_most_are_listed_in_order),
        cmocka_unit_test(times_below_the_threshold_are_no_findings),
        cmocka_unit_test(a_line_names_rank_seconds_share_and_place),
        cmocka_unit_test(without_debug_information_the_place_is_library_and_offset),
        cmocka_unit_test(a_long_name_of_a_file_is_cut_at_its_end_in_the_text),
        cmocka_unit_test(a_completion_waits_for_a_receiver_if_nothing_comes_from_the_peer),
        cmocka_unit_test(a_message_may_wait_for_an_unknown_peer),
        cmocka_unit_test(of_several_peers_the_one_that_works_most_is_late),
        cmocka_unit_test(the_rank_that_waits_least_in_a_collective_is_last),
        cmocka_unit_test(waiting_for_a_slow_node_is_no_separate_finding),
        cmocka_unit_test(many_short_waits_are_found_if_a_neighbor_works_for_longer),
        cmocka_unit_test(objects_are_counted_by_rank_over_all_functions),
        cmocka_unit_test(waits_of_all_ranks_for_the_same_time_are_found),
        cmocka_unit_test(no_rank_is_named_if_the_last_one_changes),
        cmocka_unit_test(ranks_that_are_not_listed_are_counted_too),
        cmocka_unit_test(of_several_late_peers_none_is_named),
        cmocka_unit_test(among_ranks_that_do_not_wait_the_busiest_one_is_last),
        cmocka_unit_test(a_rank_does_not_wait_for_itself),
        cmocka_unit_test(collectives_are_slow_if_waiting_does_not_explain_their_time),
        cmocka_unit_test(waiting_that_was_measured_apart_is_not_subtracted_from_slow_collectives),
        cmocka_unit_test(objects_that_are_not_freed_are_leaked),
        cmocka_unit_test(windows_are_objects_too),
        cmocka_unit_test(only_communicators_that_must_exist_are_leaked),
        cmocka_unit_test(ranks_that_wait_for_one_rank_at_two_places_are_one_finding),
        cmocka_unit_test(a_finding_names_the_call_of_the_late_rank),
        cmocka_unit_test(waiting_for_the_output_of_one_rank_is_one_finding),
        cmocka_unit_test(calls_in_flight_are_findings_and_other_findings_leave_out_their_time),
        cmocka_unit_test(an_inefficient_run_has_a_finding),
        cmocka_unit_test(ranks_that_end_early_explain_inefficiency),
        cmocka_unit_test(missing_data_is_mentioned_beside_findings),
        cmocka_unit_test(no_finding_does_not_mean_that_nothing_is_wrong),
    };
    return cmocka_run_group_tests_name("profile_findings", tests, NULL, NULL);
}
