/* SPDX-License-Identifier: MIT */
/* Tests which results of single processes are merged, and that the merged result has the figures of
 * all ranks. */
#define _GNU_SOURCE
#include "unit.h"

#include "profile_sample.h"
#include "tools/profile/result/merge.h"
#include "tools/profile/result/profile_result.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static void assert_spread(struct profile_spread spread, const double *values, int count)
{
    double sum = 0, squares = 0, min = values[0], max = values[0];
    for (int i = 0; i < count; i++) {
        sum += values[i];
        min = fmin(min, values[i]);
        max = fmax(max, values[i]);
    }
    for (int i = 0; i < count; i++)
        squares += (values[i] - sum / count) * (values[i] - sum / count);
    assert_true(fabs(spread.sum - sum) < 1e-12);
    assert_true(fabs(spread.mean - sum / count) < 1e-12);
    assert_true(spread.min == min && spread.max == max);
    assert_true(fabs(spread.stddev - sqrt(squares / count)) < 1e-12);
}

static const struct profile_function *find(const struct profile_result *result, const char *name)
{
    for (size_t i = 0; i < result->function_count; i++) {
        if (!strcmp(result->functions[i].name, name))
            return &result->functions[i];
    }
    fail_msg("no %s", name);
    return NULL;
}

static void figures_are_those_of_all_ranks_and_absent_calls_are_zeros(void **state)
{
    (void)state;
    struct profile_result *result = sample_single(2, 10, "exit");
    assert_true(profile_merge_process(result, sample_single(0, 1, "exit")));
    assert_true(profile_merge_process(result, sample_single(1, 4, "MPI_Abort")));
    assert_true(profile_merge_process(result, sample_single(3, 7, "exit")));

    assert_int_equal(result->ranks, 4);
    assert_int_equal(result->rank, -1);
    assert_string_equal(result->termination, "exit, MPI_Abort");
    assert_string_equal(result->begin, "2024-05-01T10:00:00Z");
    assert_spread(result->time, (double[]){11, 2, 5, 8}, 4);
    assert_spread(find(result, "MPI_Send")->calls.time, (double[]){10, 1, 4, 7}, 4);
    assert_spread(find(result, "MPI_Wait")->calls.time, (double[]){0, 1, 0, 0}, 4);
    assert_spread(find(result, "MPI_Recv")->calls.time, (double[]){1, 0, 1, 1}, 4);
    assert_int_equal(find(result, "MPI_Send")->calls.calls, 22);
    assert_int_equal(find(result, "MPI_Send")->calls.sent, 8 * 22);
    assert_int_equal(find(result, "MPI_Send")->sizes[3], 22);
    assert_true(find(result, "MPI_Wait")->calls.shortest == 1);
    assert_int_equal(result->function_count, 3);
    assert_int_equal(result->region_count, 2);
    for (size_t i = 0; i < 4; i++) {
        assert_int_equal(result->processes[i].rank, i);
        assert_int_equal(result->matrix[i].from, i);
    }
    profile_result_free(result);
}

static void cells_of_the_same_two_ranks_are_added(void **state)
{
    (void)state;
    struct profile_result *result = sample_single(0, 3, "exit"),
                          *other = sample_single(1, 5, "exit");
    other->matrix->from = 0;
    assert_true(profile_merge_process(result, other));
    assert_int_equal(result->matrix_entry_count, 1);
    assert_int_equal(result->matrix->messages, 8);
    assert_int_equal(result->matrix->bytes, 64);
    profile_result_free(result);
}

/* Returns whether `other` fits, and frees it. */
static bool fits(const struct profile_result *result, struct profile_result *other)
{
    const bool answer = profile_merge_fits(result, other);
    profile_result_free(other);
    return answer;
}

static struct profile_result *with(struct profile_result *result, char **member, const char *value)
{
    free(*member);
    *member = strdup(value);
    return result;
}

static void only_processes_of_one_run_fit(void **state)
{
    (void)state;
    struct profile_result *result = sample_single(0, 1, "exit"), *other;
    assert_true(fits(result, sample_single(1, 1, "checkpoint")));
    assert_true(fits(result, sample_single(59, 1, "exit")));
    assert_false(fits(result, sample_single(0, 1, "exit")));
    assert_false(fits(result, sample_full()));
    other = sample_single(1, 1, "exit");
    assert_false(fits(result, with(other, &other->program, "/bin/other")));
    other = sample_single(1, 1, "exit");
    assert_false(fits(result, with(other, &other->begin, "2024-05-01T10:01:01Z")));
    other = sample_single(1, 1, "exit");
    assert_true(fits(result, with(other, &other->begin, "2024-05-01T09:59:30Z")));
    other = sample_single(1, 1, "exit");
    other->tool_id = 2;
    assert_false(fits(result, other));
    assert_true(profile_merge_process(result, sample_single(1, 1, "exit")));
    assert_false(fits(result, sample_single(1, 1, "exit")));
    assert_true(fits(result, sample_single(2, 1, "exit")));
    profile_result_free(result);
}

enum { MANY = 37 };

/* Returns result `number` of MANY. Consecutive results do not have consecutive ranks. */
static struct profile_result *one_of_many(int number)
{
    static const char *const terminations[] = {"exit", "MPI_Abort", "signal SIGTERM"};
    return sample_single(number * 11 % MANY, 1 + number, terminations[number % 3]);
}

static void set_text(char **text, const char *value)
{
    free(*text);
    *text = value ? strdup(value) : NULL;
}

static struct profile_result *make_single(int rank, const char *program, const char *job)
{
    struct profile_result *result = sample_single(rank, 1, "exit");
    set_text(&result->program, program);
    set_text(&result->job, job);
    return result;
}

static void assert_programs(const struct profile_result *result, const char *const *paths,
                            const char *const *ranks, size_t count)
{
    const char **programs;
    assert_int_equal(profile_programs_list(result, &programs), count);
    for (size_t i = 0; i < count; i++) {
        char *text = profile_programs_ranks(result, programs[i]);
        assert_string_equal(programs[i], paths[i]);
        assert_string_equal(text, ranks[i]);
        free(text);
    }
    free(programs);
}

static void programs_of_one_job_fit(void **state)
{
    (void)state;
    static const struct {
        const char *job, *other_job, *program;
        bool fits;
    } cases[] = {{"j", "j", "/bin/ice", true},    {"j", "j", "/bin/ocean", true},
                 {"j", "k", "/bin/ocean", false}, {NULL, NULL, "/bin/ocean", true},
                 {NULL, NULL, "/bin/ice", false}, {"j", NULL, "/bin/ocean", true},
                 {NULL, "j", "/bin/ice", false}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct profile_result *result = make_single(0, "/bin/ocean", cases[i].job);
        struct profile_result *other = make_single(1, cases[i].program, cases[i].other_job);
        assert_int_equal(profile_merge_fits(result, other), cases[i].fits);
        profile_result_free(result);
        profile_result_free(other);
    }
}

/* The order in which the results are merged does not matter. */
static void the_program_is_that_of_the_lowest_rank(void **state)
{
    static const int orders[][5] = {
        {0, 1, 2, 3, 4}, {4, 3, 2, 1, 0}, {2, 0, 4, 1, 3}, {1, 2, 3, 4, 0}};
    static const char *const paths[] = {"/bin/ocean", "/bin/ice"};
    static const char *const ranks[] = {"ranks 0, 3", "ranks 1, 2, 4"};
    (void)state;
    for (size_t k = 0; k < sizeof orders / sizeof *orders; k++) {
        struct profile_result *result = NULL;
        for (int i = 0; i < 5; i++) {
            const int rank = orders[k][i];
            struct profile_result *other = make_single(rank, paths[rank != 0 && rank != 3], "j");
            if (result)
                assert_true(profile_merge_process(result, other));
            else
                result = other;
        }
        assert_string_equal(result->program, "/bin/ocean");
        assert_null(result->processes[0].program);
        assert_string_equal(result->processes[1].program, "/bin/ice");
        assert_true(profile_programs_are_several(result));
        assert_programs(result, paths, ranks, 2);
        profile_result_free(result);
    }
}

static void one_program_is_named_once(void **state)
{
    static const char *const paths[] = {"/bin/ocean"}, *const ranks[] = {"ranks 0-2"};
    (void)state;
    struct profile_result *result = make_single(0, "/bin/ocean", "j");
    for (int rank = 1; rank < 3; rank++)
        assert_true(profile_merge_process(result, make_single(rank, "/bin/ocean", "j")));
    assert_false(profile_programs_are_several(result));
    assert_programs(result, paths, ranks, 1);
    profile_result_free(result);
}

static void merging_in_a_tree_gives_the_same_result_as_one_after_the_other(void **state)
{
    (void)state;
    struct profile_result *expected = one_of_many(0);
    struct profile_merge_tree combination = {.count = 0};
    assert_true(profile_merge_tree_add(&combination, one_of_many(0)));
    for (int i = 1; i < MANY; i++) {
        struct profile_result *next = one_of_many(i);
        assert_true(profile_merge_tree_fits(&combination, next));
        assert_true(profile_merge_tree_add(&combination, next));
        assert_true(combination.count <= 6);
        next = one_of_many(i / 2); /* The tree already contains this rank. */
        assert_false(profile_merge_tree_fits(&combination, next));
        profile_result_free(next);
        assert_true(profile_merge_process(expected, one_of_many(i)));
    }
    assert_true(profile_merge_tree_finish(&combination));
    const struct profile_result *result = combination.parts[0];
    assert_int_equal(result->ranks, MANY);
    assert_string_equal(result->termination, "exit, MPI_Abort, signal SIGTERM");
    assert_string_equal(result->begin, expected->begin);
    assert_int_equal(result->function_count, expected->function_count);
    for (size_t i = 0; i < result->function_count; i++) {
        const struct profile_calls *mine = &result->functions[i].calls;
        const struct profile_calls *its = &find(expected, result->functions[i].name)->calls;
        assert_true(mine->calls == its->calls && mine->sent == its->sent);
        assert_true(fabs(mine->time.stddev - its->time.stddev) < 1e-12);
        assert_true(mine->time.min_rank == its->time.min_rank);
    }
    assert_int_equal(result->matrix_entry_count, MANY);
    for (int i = 0; i < MANY; i++)
        assert_true(result->processes[i].rank == i && result->matrix[i].from == i);
    profile_result_free(expected);
    profile_result_free(combination.parts[0]);
}

static void the_earliest_process_determines_which_times_fit(void **state)
{
    (void)state;
    struct profile_merge_tree combination = {.count = 0};
    struct profile_result *other;
    for (int i = 0; i < 3; i++) { /* the last one is a part by itself */
        static const char *const begins[] = {"2024-05-01T10:00:40Z", "2024-05-01T10:00:00Z",
                                             "2024-05-01T10:00:55Z"};
        other = sample_single(i, 1, "exit");
        assert_true(profile_merge_tree_add(&combination, with(other, &other->begin, begins[i])));
    }
    assert_int_equal(combination.count, 2);
    other = sample_single(5, 1, "exit");
    assert_true(
        profile_merge_tree_fits(&combination, with(other, &other->begin, "2024-05-01T09:59:01Z")));
    assert_false(
        profile_merge_tree_fits(&combination, with(other, &other->begin, "2024-05-01T10:01:00Z")));
    other->tool_id = 7;
    assert_false(
        profile_merge_tree_fits(&combination, with(other, &other->begin, "2024-05-01T10:00:00Z")));
    profile_result_free(other);
    assert_true(profile_merge_tree_finish(&combination));
    profile_result_free(combination.parts[0]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(figures_are_those_of_all_ranks_and_absent_calls_are_zeros),
        cmocka_unit_test(cells_of_the_same_two_ranks_are_added),
        cmocka_unit_test(only_processes_of_one_run_fit),
        cmocka_unit_test(programs_of_one_job_fit),
        cmocka_unit_test(the_program_is_that_of_the_lowest_rank),
        cmocka_unit_test(one_program_is_named_once),
        cmocka_unit_test(merging_in_a_tree_gives_the_same_result_as_one_after_the_other),
        cmocka_unit_test(the_earliest_process_determines_which_times_fit),
    };
    return cmocka_run_group_tests_name("profile_merge_process", tests, NULL, NULL);
}
