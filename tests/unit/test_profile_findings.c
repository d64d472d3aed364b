/* SPDX-License-Identifier: MIT */
/* The findings of results that are made here: how many, in which order, from which size on, and how
 * their lines are worded. */
#define _GNU_SOURCE
#include "unit.h"

#include "profile/findings.h"
#include "profile_sample.h"
#include "util/message.h"

#include <stdlib.h>
#include <string.h>

enum { RANKS = 4 };

/* A result of RANKS ranks, two on each of two nodes, of 100 seconds, in which nothing is wrong. */
static struct profile_result *make_result(void)
{
    struct profile_result *result = qmpi_allocate(1, sizeof *result);
    result->program = qmpi_copy("a");
    result->mpi = qmpi_copy("MPI");
    result->begin = qmpi_copy("2024-02-29T23:59:59Z");
    result->ranks = RANKS;
    result->rank = -1;
    result->application = (struct profile_spread){400, 100, 100, 100, 0, 0, 0};
    result->process_count = RANKS;
    result->processes = qmpi_allocate(RANKS, sizeof *result->processes);
    for (int rank = 0; rank < RANKS; rank++) {
        result->processes[rank] = (struct profile_process){.rank = rank,
                                                           .host = qmpi_copy(rank < 2 ? "a" : "b"),
                                                           .application = 100,
                                                           .useful = 50};
    }
    return result;
}

static struct profile_callsite *add_site(struct profile_result *result, const char *name,
                                         const char *file, int line)
{
    const size_t number = result->callsite_count++;
    struct profile_callsite *sites =
        realloc(result->callsites, (number + 1) * sizeof *result->callsites);
    assert_non_null(sites);
    result->callsites = sites;
    struct profile_callsite *site = &sites[number];
    *site = (struct profile_callsite){.name = qmpi_copy(name), .frame_count = 1, .ranks = RANKS};
    site->frames = qmpi_allocate(1, sizeof *site->frames);
    *site->frames = (struct profile_frame){.offset = 0x1234,
                                           .module = qmpi_copy("/lib/libx.so"),
                                           .file = file ? qmpi_copy(file) : NULL,
                                           .line = line};
    return site;
}

static void add_function(struct profile_result *result, const char *name, const char *group)
{
    const size_t number = result->function_count++;
    struct profile_function *functions =
        realloc(result->functions, (number + 1) * sizeof *result->functions);
    assert_non_null(functions);
    result->functions = functions;
    functions[number] = (struct profile_function){
        .name = qmpi_copy(name), .group = qmpi_copy(group), .ranks = RANKS};
}

static void set_waits(struct profile_callsite *site, size_t count, const struct profile_wait *waits)
{
    site->waits.all = qmpi_allocate(count, sizeof *site->waits.all);
    memcpy(site->waits.all, waits, count * sizeof *waits);
    site->waits.count = count;
}

/* Rank 1 waits for rank 0 at a line of a file. */
static void add_wait(struct profile_result *result, double seconds, const char *file, int line)
{
    const struct profile_wait wait = {1, 0, 5, seconds};
    set_waits(add_site(result, "MPI_Recv", file, line), 1, &wait);
}

/* What each rank takes in 10 calls of a collective. */
static void set_ranks(struct profile_callsite *site, const double times[RANKS])
{
    site->by_rank.all = qmpi_allocate(RANKS, sizeof *site->by_rank.all);
    site->by_rank.count = RANKS;
    for (int rank = 0; rank < RANKS; rank++)
        site->by_rank.all[rank] =
            (struct profile_rank_calls){.rank = rank, .calls = 10, .time = times[rank]};
}

static const struct profile_findings *find(const struct profile_result *result)
{
    static struct profile_findings findings;
    assert_true(profile_findings_find(result, &findings));
    return &findings;
}

/* ---- The list -------------------------------------------------------------------------------- */

static void there_is_none_where_nothing_is_wrong(void **state)
{
    (void)state;
    struct profile_result *result = make_result();
    assert_int_equal(find(result)->count, 0);
    profile_result_free(result);
}

static void nothing_is_known_of_a_run_without_time(void **state)
{
    (void)state;
    struct profile_findings findings;
    struct profile_result *result = make_result();
    result->application.max = 0;
    assert_false(profile_findings_find(result, &findings));
    profile_result_free(result);
}

static void the_seven_that_cost_most_are_listed_in_that_order(void **state)
{
    (void)state;
    struct profile_result *result = make_result();
    for (int i = 0; i < 100; i++)
        add_wait(result, 6 + i % 10 + i / 1000.0, "/src/a.c", i);
    const struct profile_findings *findings = find(result);
    assert_int_equal(findings->count, 7);
    for (int i = 0; i < 7; i++)
        assert_int_equal(findings->all[i].site->frames->line, 99 - 10 * i);
    profile_result_free(result);
}

static void shorter_times_than_the_threshold_are_none(void **state)
{
    (void)state;
    struct profile_result *result = make_result();
    add_wait(result, 4.99, "/src/a.c", 1);
    assert_int_equal(find(result)->count, 0);
    result->callsites->waits.all->time = 5.01;
    assert_int_equal(find(result)->count, 1);
    result->thresholds.any = 6;
    assert_int_equal(find(result)->count, 0);
    result->thresholds.any = 1;
    result->application.max = 0.5;
    result->callsites->waits.all->time = 0.009; /* of noise, in a short run */
    assert_int_equal(find(result)->count, 0);
    profile_result_free(result);
}

/* ---- Lines ----------------------------------------------------------------------------------- */

static void a_line_names_rank_seconds_share_and_place(void **state)
{
    (void)state;
    struct profile_result *result = make_result();
    add_wait(result, 22, "/home/me/ocean.c", 83);
    const struct profile_finding *finding = find(result)->all;
    assert_string_equal(finding->summary,
                        "Rank 1 waits 22.0 s (22 %) in MPI_Recv at ocean.c:83 for rank 0");
    assert_string_equal(finding->kind, "late-sender");
    assert_int_equal(finding->rank, 1);
    assert_int_equal(finding->peer, 0);
    profile_result_free(result);
}

static void without_debug_information_the_place_is_library_and_offset(void **state)
{
    (void)state;
    struct profile_result *result = make_result();
    add_wait(result, 22, NULL, 0);
    assert_string_equal(find(result)->all->summary,
                        "Rank 1 waits 22.0 s (22 %) in MPI_Recv at libx.so+0x1234 for rank 0");
    profile_result_free(result);
}

static void a_long_place_displaces_the_function_and_then_its_own_start(void **state)
{
    (void)state;
    struct profile_result *result = make_result();
    add_wait(result, 22, "/a/a_file_with_a_long_name.c", 1234);
    add_wait(result, 21, "/a/a_file_whose_name_is_so_long_that_it_does_not_fit_into_a_line.c", 12);
    const struct profile_findings *findings = find(result);
    assert_string_equal(findings->all[0].summary,
                        "Rank 1 waits 22.0 s (22 %) at a_file_with_a_long_name.c:1234 for rank 0");
    for (int i = 0; i < 2; i++) {
        assert_true(strlen(findings->all[i].summary) <= PROFILE_FINDING_LINE);
        assert_non_null(strstr(findings->all[i].summary, i ? ".c:12 for" : ".c:1234 for"));
        assert_null(strstr(findings->all[i].summary, "MPI_Recv"));
    }
    profile_result_free(result);
}

/* ---- Rules ----------------------------------------------------------------------------------- */

static void a_completion_waits_for_a_receiver_where_nothing_comes_from_the_peer(void **state)
{
    (void)state;
    struct profile_result *result = make_result();
    const struct profile_wait wait = {1, 0, 5, 30};
    set_waits(add_site(result, "MPI_Waitall", "a.c", 1), 1, &wait);
    assert_string_equal(find(result)->all->kind, "late-receiver");
    result->matrix = qmpi_allocate(1, sizeof *result->matrix);
    *result->matrix = (struct profile_matrix_entry){.from = 0, .to = 1, .messages = 1, .bytes = 8};
    result->matrix_entry_count = 1;
    assert_string_equal(find(result)->all->kind, "late-sender");
    result->callsites->waits.all->peer = -1;
    assert_string_equal(find(result)->all->kind, "slow-requests");
    profile_result_free(result);
}

static void of_several_peers_the_one_that_works_most_is_late(void **state)
{
    (void)state;
    struct profile_result *result = make_result();
    const struct profile_wait waits[] = {{0, 1, 5, 10}, {0, 2, 5, 10}, {0, 3, 5, 1}, {1, 2, 5, 9}};
    set_waits(add_site(result, "MPI_Recv", "a.c", 1), 4, waits);
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
    struct profile_result *result = make_result();
    add_function(result, "MPI_Allreduce", "collective");
    set_ranks(add_site(result, "MPI_Allreduce", "a.c", 7), (double[]){30, 20, 1, 11});
    const struct profile_finding *finding = find(result)->all;
    assert_string_equal(finding->kind, "imbalance");
    assert_int_equal(finding->rank, 2);
    assert_true(finding->seconds > 23.9 && finding->seconds < 24.1); /* of ranks 0 and 1 */
    profile_result_free(result);
}

static void that_ranks_wait_for_a_slow_node_is_no_finding_of_its_own(void **state)
{
    (void)state;
    struct profile_result *result = make_result();
    add_function(result, "MPI_Allreduce", "collective");
    set_ranks(add_site(result, "MPI_Allreduce", "a.c", 7), (double[]){30, 30, 1, 1});
    assert_string_equal(find(result)->all->kind, "imbalance");
    result->processes[2].useful = result->processes[3].useful = 90;
    const struct profile_findings *findings = find(result);
    assert_int_equal(findings->count, 1);
    assert_string_equal(findings->all->kind, "slow-node");
    assert_non_null(strstr(findings->all->meaning, "its node, b"));
    profile_result_free(result);
}

static void many_short_waits_are_found_where_a_neighbor_works_for_longer(void **state)
{
    (void)state;
    struct profile_result *result = make_result();
    add_function(result, "MPI_Sendrecv", "point-to-point");
    struct profile_callsite *site = add_site(result, "MPI_Sendrecv", "a.c", 7);
    set_ranks(site, (double[]){1, 31, 2, 3});
    site->calls.shortest = 0.1; /* of 10 calls */
    assert_int_equal(find(result)->count, 0);
    result->matrix = qmpi_allocate(2, sizeof *result->matrix);
    result->matrix[0] = (struct profile_matrix_entry){.from = 1, .to = 2, .messages = 10};
    result->matrix[1] = (struct profile_matrix_entry){.from = 0, .to = 1, .messages = 10};
    result->matrix_entry_count = 2;
    assert_int_equal(find(result)->count, 0);
    result->processes[0].useful = 70;
    result->processes[3].useful = 99; /* no neighbor */
    const struct profile_finding *finding = find(result)->all;
    assert_string_equal(finding->kind, "late-sender");
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
    static const char *const names[] = {"MPI_Type_commit", "MPI_Comm_dup", "MPI_Type_size"};
    struct profile_result *result = make_result();
    for (int i = 0; i < 3; i++) {
        add_function(result, names[i], i == 1 ? "communicator" : "datatype");
        struct profile_function *function = &result->functions[i];
        function->by_rank.all = qmpi_allocate(1, sizeof *function->by_rank.all);
        function->by_rank.count = 1;
        *function->by_rank.all = (struct profile_rank_calls){.rank = 3, .calls = 60, .time = 4};
        add_site(result, names[i], "a.c", i + 1)->calls.time.max = 4 + i;
    }
    const struct profile_finding *finding = find(result)->all;
    assert_string_equal(finding->kind, "temporary-objects");
    assert_int_equal(finding->rank, 3);
    assert_int_equal(finding->site->frames->line, 2);
    assert_true(finding->seconds > 7.9 && finding->seconds < 8.1);
    result->functions[0].by_rank.all->calls = 39;
    assert_int_equal(find(result)->count, 0);
    profile_result_free(result);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(there_is_none_where_nothing_is_wrong),
        cmocka_unit_test(nothing_is_known_of_a_run_without_time),
        cmocka_unit_test(the_seven_that_cost_most_are_listed_in_that_order),
        cmocka_unit_test(shorter_times_than_the_threshold_are_none),
        cmocka_unit_test(a_line_names_rank_seconds_share_and_place),
        cmocka_unit_test(without_debug_information_the_place_is_library_and_offset),
        cmocka_unit_test(a_long_place_displaces_the_function_and_then_its_own_start),
        cmocka_unit_test(a_completion_waits_for_a_receiver_where_nothing_comes_from_the_peer),
        cmocka_unit_test(of_several_peers_the_one_that_works_most_is_late),
        cmocka_unit_test(the_rank_that_waits_least_in_a_collective_is_last),
        cmocka_unit_test(that_ranks_wait_for_a_slow_node_is_no_finding_of_its_own),
        cmocka_unit_test(many_short_waits_are_found_where_a_neighbor_works_for_longer),
        cmocka_unit_test(objects_are_counted_by_rank_over_all_functions),
    };
    return cmocka_run_group_tests_name("profile_findings", tests, NULL, NULL);
}
