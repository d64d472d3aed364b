/* SPDX-License-Identifier: MIT */
/* Tests the numbers by which processes with different stacks know which of their layers are the
 * same. */
#include "job/job.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

enum { MOST = 8 };

static int length_of(const char *const *stack)
{
    int length = 0;
    while (stack[length])
        length++;
    return length;
}

/* Numbers the layers, and asserts that the numbers ascend in each stack, so that processes never
 * wait for each other in a circle. */
static int **number(const char *const *const *stacks, int count)
{
    int **numbers = qmpi_job_number_layers(stacks, count);
    for (int i = 0; i < count; i++) {
        for (int k = 1; k < length_of(stacks[i]); k++)
            assert_true(numbers[i][k] > numbers[i][k - 1]);
    }
    return numbers;
}

static void release(int **numbers, int count)
{
    for (int i = 0; i < count; i++)
        free(numbers[i]);
    free(numbers);
}

static void equal_layers_of_equal_stacks_have_the_same_number(void **state)
{
    const char *const one[] = {"a", "b", "a", NULL}, *const two[] = {"a", "b", "a", NULL};
    const char *const *const stacks[] = {one, two};
    int **numbers = number(stacks, 2);
    (void)state;
    for (int k = 0; k < 3; k++)
        assert_int_equal(numbers[0][k], numbers[1][k]);
    release(numbers, 2);
}

static void other_layers_match_if_one_stack_lacks_a_layer(void **state)
{
    const char *const one[] = {"a", "b", "c", NULL}, *const two[] = {"a", "c", NULL},
                      *const three[] = {NULL};
    const char *const *const stacks[] = {three, one, two};
    int **numbers = number(stacks, 3);
    (void)state;
    assert_int_equal(numbers[1][0], numbers[2][0]);
    assert_int_equal(numbers[1][2], numbers[2][1]);
    release(numbers, 3);
}

static void stacks_that_are_parts_of_another_one_share_its_numbers(void **state)
{
    const char *const one[] = {"b", "c", NULL}, *const two[] = {"a", "c", NULL},
                      *const whole[] = {"a", "b", "c", NULL};
    const char *const *const stacks[] = {one, two, whole};
    int **numbers = number(stacks, 3);
    (void)state;
    assert_int_equal(numbers[0][0], numbers[2][1]);
    assert_int_equal(numbers[0][1], numbers[2][2]);
    assert_int_equal(numbers[1][0], numbers[2][0]);
    assert_int_equal(numbers[1][1], numbers[2][2]);
    release(numbers, 3);
}

/* If two stacks have two layers in opposite orders, only one layer has the same number in both. */
static void of_two_layers_in_opposite_orders_only_one_matches(void **state)
{
    const char *const one[] = {"a", "b", NULL}, *const two[] = {"b", "a", NULL};
    const char *const *const stacks[] = {one, two};
    int **numbers = number(stacks, 2);
    (void)state;
    const bool a_is_one = numbers[0][0] == numbers[1][1], b_is_one = numbers[0][1] == numbers[1][0];
    assert_true(a_is_one != b_is_one);
    release(numbers, 2);
}

static void other_options_make_another_layer(void **state)
{
    const char *const one[] = {"a,x=1", "b", NULL}, *const two[] = {"a,x=2", "b", NULL};
    const char *const *const stacks[] = {one, two};
    int **numbers = number(stacks, 2);
    (void)state;
    assert_int_not_equal(numbers[0][0], numbers[1][0]);
    assert_int_equal(numbers[0][1], numbers[1][1]);
    release(numbers, 2);
}

/* In random stacks of few tools, numbers ascend, and layers with equal numbers are equal. */
static void numbers_are_consistent_in_random_stacks(void **state)
{
    static const char *const names[] = {"a", "b", "c", "d"};
    uint32_t seed = 1;
    (void)state;
    for (int round = 0; round < 2000; round++) {
        const char *lists[MOST][MOST + 1];
        const char *const *stacks[MOST];
        const int count = 1 + round % MOST;
        for (int i = 0; i < count; i++) {
            int length = (int)((seed = seed * 1664525U + 1013904223U) >> 28) % MOST;
            stacks[i] = (const char *const *)lists[i];
            lists[i][length] = NULL;
            while (length--)
                lists[i][length] = names[(seed = seed * 1664525U + 1013904223U) >> 30];
        }
        int **numbers = number(stacks, count);
        for (int i = 0; i < count; i++)
            for (int j = 0; j < count; j++)
                for (int k = 0; stacks[i][k]; k++)
                    for (int l = 0; stacks[j][l]; l++)
                        if (numbers[i][k] == numbers[j][l])
                            assert_string_equal(stacks[i][k], stacks[j][l]);
        release(numbers, count);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(equal_layers_of_equal_stacks_have_the_same_number),
        cmocka_unit_test(other_layers_match_if_one_stack_lacks_a_layer),
        cmocka_unit_test(stacks_that_are_parts_of_another_one_share_its_numbers),
        cmocka_unit_test(of_two_layers_in_opposite_orders_only_one_matches),
        cmocka_unit_test(other_options_make_another_layer),
        cmocka_unit_test(numbers_are_consistent_in_random_stacks),
    };
    return cmocka_run_group_tests_name("job_layers", tests, NULL, NULL);
}
