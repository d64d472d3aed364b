/* SPDX-License-Identifier: MIT */
/* Tests the conditions of an entry in a list of tools: on which ranks and nodes, in which programs
 * and with which variables of the environment they hold. */
#define _GNU_SOURCE
#include "unit.h"

#include "config/config.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static struct qmpi_tool_list list;

static int release(void **state)
{
    (void)state;
    qmpi_tool_list_free(&list);
    return 0;
}

static const struct qmpi_tool_entry *parse(const char *text)
{
    qmpi_tool_list_free(&list);
    qmpi_tool_list_parse(text, &list);
    assert_int_equal(list.count, 1);
    if (list.entries[0].problem)
        fail_msg("%s: %s", text, list.entries[0].problem);
    return &list.entries[0];
}

/* Asserts that `unmet` is the first condition that does not hold or, if `unmet` is NULL, that all
 * conditions hold. */
static void assert_unmet(const char *text, const struct qmpi_condition_place *place,
                         const char *unmet)
{
    char *found = qmpi_condition_unmet(parse(text), place);
    if (unmet)
        assert_string_equal(found, unmet);
    else
        assert_null(found);
    free(found);
}

static const struct qmpi_condition_place nowhere = {.rank = -1};
static const struct qmpi_condition_place rank_5 = {.rank = 5};

static void ranks_are_compared_with_the_set(void **state)
{
    (void)state;
    assert_unmet("a,@ranks=0-3;5", &rank_5, NULL);
    assert_unmet("a,@ranks=0-3", &rank_5, "@ranks=0-3");
    assert_unmet("a,@ranks=0-3", &nowhere, NULL); /* The rank is unknown. */
}

static void all_values_of_a_condition_must_hold(void **state)
{
    (void)state;
    assert_unmet("a,@ranks=0-7,@ranks=every 5", &rank_5, NULL);
    assert_unmet("a,@ranks=0-7,x=1,@ranks=every 2", &rank_5, "@ranks=every 2");
    assert_unmet("a,@enabled=yes,@enabled=no,@enabled=yes", &rank_5, "@enabled=no");
}

static void nodes_are_compared_without_case_and_with_or_without_the_domain(void **state)
{
    char name[256] = "", text[600];
    (void)state;
    gethostname(name, sizeof name - 1);
    snprintf(text, sizeof text, "a,@nodes=none;%s", name);
    assert_unmet(text, &nowhere, NULL);
    name[strcspn(name, ".")] = '\0';
    name[0] = (char)(name[0] ^ (name[0] >= 'a' ? 0x20 : 0));
    snprintf(text, sizeof text, "a,@nodes=%s", name);
    assert_unmet(text, &nowhere, NULL);
    assert_unmet("a,@nodes=none;no*thing", &nowhere, "@nodes=none;no*thing");
}

static void programs_are_compared_by_name_or_path(void **state)
{
    static const struct qmpi_condition_place place = {0, "/opt/lammps/bin/lmp_mpi", "lmp", false};
    (void)state;
    assert_unmet("a,@program=lmp", &place, NULL);
    assert_unmet("a,@program=lmp_*", &place, NULL);
    assert_unmet("a,@program=xhpl;/opt/*", &place, NULL);
    assert_unmet("a,@program=LMP", &place, "@program=LMP");
    assert_unmet("a,@program=bin", &place, "@program=bin");
    assert_unmet("a,@program=*lammps*", &place, "@program=*lammps*");
    assert_unmet("a,@program=*bin*;*opt*", &place, "@program=*bin*;*opt*");
    assert_unmet("a,@program=*lammps/*", &place, NULL);
    assert_unmet("a,@program=xhpl;*_mpi", &place, NULL);
    assert_unmet("a,@program=xhpl", &nowhere, NULL);
}

static void a_variable_must_be_set_and_not_empty(void **state)
{
    (void)state;
    setenv("QMPI_UNIT_TEST", "1", 1);
    assert_unmet("a,@if-env=QMPI_UNIT_TEST", &nowhere, NULL);
    setenv("QMPI_UNIT_TEST", "", 1);
    assert_unmet("a,@if-env=QMPI_UNIT_TEST", &nowhere, "@if-env=QMPI_UNIT_TEST");
    unsetenv("QMPI_UNIT_TEST");
    assert_unmet("a,@if-env=QMPI_UNIT_TEST", &nowhere, "@if-env=QMPI_UNIT_TEST");
}

static void functions_and_other_options_switch_nothing_off(void **state)
{
    (void)state;
    assert_unmet("a,@functions=MPI_Send,@preload=no,@optional=yes,ranks=9", &rank_5, NULL);
    assert_false(qmpi_condition_may_be_unmet(parse("a,@functions=io,@optional=yes")));
    assert_true(qmpi_condition_may_be_unmet(parse("a,@enabled=yes")));
}

static void the_program_of_this_process_is_known(void **state)
{
    (void)state;
    const struct qmpi_condition_place here = qmpi_condition_place_here(3);
    assert_int_equal(here.rank, 3);
    assert_unmet("a,@program=test_conditions", &here, NULL);
    assert_unmet("a,@program=*/test_*", &here, NULL);
}

/* A tool whose wrappers communicate must be in the stack of every rank, so its entry must not have
 * a condition that may hold on some ranks only. */
static void conditions_that_may_differ_between_ranks_are_refused(void **state)
{
    static const char *const varying[] = {"@ranks", "@nodes", "@program", "@if-env"};
    (void)state;
    for (size_t i = 0; i < sizeof varying / sizeof *varying; i++) {
        char text[32];
        snprintf(text, sizeof text, "a,@enabled=no,%s=1", varying[i]);
        if (!strcmp(varying[i], "@if-env"))
            strcpy(text, "a,@if-env=HOME");
        assert_string_equal(qmpi_condition_that_varies(parse(text)), varying[i]);
        char *problem = qmpi_condition_refuse_communicating(&list.entries[0], "tool");
        assert_non_null(strstr(problem, "'tool' communicates in its wrappers"));
        assert_non_null(strstr(problem, varying[i]));
        assert_non_null(strstr(problem, "\nhint: "));
        free(problem);
    }
    assert_null(qmpi_condition_that_varies(parse("a,@enabled=no,@functions=io,@optional=yes")));
    assert_null(qmpi_condition_refuse_communicating(&list.entries[0], "tool"));
}

static void count(void *data, enum qmpi_tool_reserved option, const char *value)
{
    char *text = data;
    strcat(text, qmpi_tool_reserved_name(option));
    strcat(strcat(text, value), " ");
}

static void each_condition_is_passed_to_the_callback_once(void **state)
{
    char text[256] = "";
    (void)state;
    qmpi_condition_each(parse("a,@functions=io,@ranks=1-,@optional=no,@ranks=2"), count, text);
    assert_string_equal(text, "@ranks1- @ranks2 @functionsio ");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ranks_are_compared_with_the_set),
        cmocka_unit_test(all_values_of_a_condition_must_hold),
        cmocka_unit_test(nodes_are_compared_without_case_and_with_or_without_the_domain),
        cmocka_unit_test(programs_are_compared_by_name_or_path),
        cmocka_unit_test(a_variable_must_be_set_and_not_empty),
        cmocka_unit_test(functions_and_other_options_switch_nothing_off),
        cmocka_unit_test(the_program_of_this_process_is_known),
        cmocka_unit_test(conditions_that_may_differ_between_ranks_are_refused),
        cmocka_unit_test(each_condition_is_passed_to_the_callback_once),
    };
    return cmocka_run_group_tests_name("conditions", tests, NULL, release);
}
