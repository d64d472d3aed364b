/* SPDX-License-Identifier: MIT */
/* Tests that the efficiency of a result agrees with its definition, over ranks, over nodes and in
 * regions, and that it may be unknown. */
#define _GNU_SOURCE
#include "unit.h"

#include "profile_sample.h"
#include "tools/profile/result/efficiency.h"
#include "tools/profile/result/merge.h"
#include "util/message.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static void assert_close(double value, double wanted)
{
    if (!(fabs(value - wanted) < 1e-12))
        fail_msg("%.15g, not %.15g", value, wanted);
}

/* Makes a process on `host` that spends `useful` seconds outside MPI, and `region` of them in the
 * region `name`. */
static struct profile_result *make(int rank, const char *host, double useful, const char *name,
                                   double region)
{
    struct profile_result *result = sample_single(rank, 1, "exit");
    struct profile_process *process = result->processes;
    free(process->host);
    process->host = qmpi_copy(host);
    process->useful = useful;
    struct profile_region *its = result->regions;
    free(its->name);
    its->name = qmpi_copy(name);
    its->useful = (struct profile_spread){region, region, region, region, 0, rank, rank};
    its->nodes = qmpi_allocate(1, sizeof *its->nodes);
    its->node_count = 1;
    *its->nodes = (struct profile_node){qmpi_copy(host), region};
    return result;
}

static void assert_efficiency(const struct profile_efficiency *it, double elapsed, double mean,
                              double most, double node)
{
    assert_close(it->elapsed, elapsed);
    assert_close(it->mean, mean);
    assert_close(it->most, most);
    assert_close(it->parallel, mean / elapsed);
    assert_close(it->communication, most / elapsed);
    assert_close(it->balance, mean / most);
    assert_close(it->between_nodes, mean / node);
    assert_close(it->within_nodes, node / most);
}

static void efficiency_covers_all_ranks_and_nodes_in_any_order_of_merging(void **state)
{
    (void)state;
    struct profile_efficiency it;
    struct profile_result *result = make(0, "b", 50, "r", 3), *second = make(2, "b", 70, "r", 5);
    assert_true(profile_merge(second, make(3, "a", 20, "other", 6)));
    assert_true(profile_merge(result, make(1, "a", 80, "r", 0)));
    assert_true(profile_merge(result, second));
    assert_true(profile_efficiency_find(result, NULL, &it));
    assert_efficiency(&it, 100, 55, 80, 60);
    assert_int_equal(it.nodes, 2);
    assert_int_equal(it.most_rank, 1);

    /* Only rank 3 enters `other`. */
    assert_int_equal(result->region_count, 2);
    assert_true(profile_efficiency_find(result, &result->regions[0], &it));
    assert_efficiency(&it, 6, 6 / 4.0, 6, 3);
    assert_true(profile_efficiency_find(result, &result->regions[1], &it));
    assert_efficiency(&it, 6, 8 / 4.0, 5, 4);
    profile_result_free(result);
}

static void nodes_of_different_size_are_compared_by_their_means(void **state)
{
    (void)state;
    struct profile_efficiency it;
    struct profile_result *result = make(0, "a", 60, "r", 3);
    for (int rank = 1; rank < 4; rank++)
        assert_true(profile_merge(result, make(rank, "b", 60, "r", 3)));
    assert_true(profile_efficiency_find(result, NULL, &it));
    assert_efficiency(&it, 100, 60, 60, 60);
    profile_result_free(result);
}

static void without_time_outside_mpi_the_balance_is_even(void **state)
{
    (void)state;
    struct profile_efficiency it;
    struct profile_result *result = make(0, "a", 0, "r", 0);
    assert_true(profile_merge(result, make(1, "b", 0, "r", 0)));
    assert_true(profile_efficiency_find(result, NULL, &it));
    assert_close(it.parallel, 0);
    assert_close(it.communication, 0);
    assert_close(it.balance, 1);
    assert_close(it.between_nodes, 1);
    assert_close(it.within_nodes, 1);
    profile_result_free(result);
}

static void with_the_critical_path_communication_is_serialisation_times_transfer(void **state)
{
    (void)state;
    struct profile_efficiency it;
    struct profile_efficiency_figure figures[PROFILE_EFFICIENCY_FIGURES];
    struct profile_result *result = make(0, "a", 60, "r", 3), *other = make(1, "a", 40, "r", 3);
    result->processes->path = 75;
    assert_true(profile_merge(result, other));
    assert_true(profile_efficiency_find(result, NULL, &it));
    assert_false(it.has_path); /* unknown for rank 1 */
    assert_int_equal(profile_efficiency_list(&it, figures), PROFILE_EFFICIENCY_FIGURES - 3);
    result->processes[1].path = 80;
    assert_true(profile_efficiency_find(result, NULL, &it));
    assert_true(it.has_path);
    assert_close(it.path, 80);
    assert_close(it.serialisation, 60 / 80.0);
    assert_close(it.transfer, 80 / 100.0);
    assert_close(it.serialisation * it.transfer, it.communication);
    assert_int_equal(profile_efficiency_list(&it, figures), PROFILE_EFFICIENCY_FIGURES);
    assert_string_equal(figures[PROFILE_EFFICIENCY_FIGURES - 1].name, "critical_path");
    assert_close(figures[PROFILE_EFFICIENCY_FIGURES - 1].value, 80);
    assert_true(profile_efficiency_find(result, result->regions, &it));
    assert_false(it.has_path);
    result->regions->path = 4;
    result->regions->time.max = 5;
    assert_true(profile_efficiency_find(result, result->regions, &it));
    assert_close(it.serialisation, 3 / 4.0);
    assert_close(it.transfer, 4 / 5.0);
    /* A path that is longer than the run, or shorter than the work of a rank, is corrected. */
    result->processes[1].path = 110;
    assert_true(profile_efficiency_find(result, NULL, &it));
    assert_close(it.transfer, 1);
    result->processes[0].path = result->processes[1].path = 50;
    assert_true(profile_efficiency_find(result, NULL, &it));
    assert_close(it.serialisation, 1);
    profile_result_free(result);
}

static void efficiency_is_unknown_if_nothing_was_profiled_or_saved(void **state)
{
    (void)state;
    struct profile_efficiency it;
    struct profile_result *result = sample_single(0, 1, "exit");
    assert_true(profile_efficiency_find(result, NULL, &it));
    assert_false(
        profile_efficiency_find(result, result->regions, &it)); /* no nodes: of an older version */
    result->application.max = 0;
    assert_false(profile_efficiency_find(result, NULL, &it));
    profile_result_free(result);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(efficiency_covers_all_ranks_and_nodes_in_any_order_of_merging),
        cmocka_unit_test(nodes_of_different_size_are_compared_by_their_means),
        cmocka_unit_test(without_time_outside_mpi_the_balance_is_even),
        cmocka_unit_test(with_the_critical_path_communication_is_serialisation_times_transfer),
        cmocka_unit_test(efficiency_is_unknown_if_nothing_was_profiled_or_saved),
    };
    return cmocka_run_group_tests_name("profile_efficiency", tests, NULL, NULL);
}
