/* SPDX-License-Identifier: MIT */
/* The values of options: sets of numbers, lists of functions, lists of patterns. */
#include "unit.h"

#include "util/util.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- Sets of numbers ------------------------------------------------------------------------- */

static void a_set_has_numbers_ranges_and_steps(void **state)
{
    static const struct {
        const char *text;
        const char *has; /* of the numbers 0 to 9 */
    } sets[] = {
        {"3", "3"},          {"2-4", "234"},      {"7-", "789"},
        {"every 4", "048"},  {"1;5-6;9", "1569"}, {" 1 ; 3 - 4 ", "134"},
        {"0;every 5", "05"}, {"4-4", "4"},        {"every1", "0123456789"},
        {"100-;2", "2"},     {"9;8;9", "89"},     {"18446744073709551615;1", "1"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof sets / sizeof *sets; i++) {
        struct qmpi_number_set set;
        char has[11] = "";
        assert_true(qmpi_number_set_read(sets[i].text, &set));
        for (int number = 0, count = 0; number < 10; number++) {
            if (qmpi_number_set_has(&set, (uint64_t)number))
                has[count++] = (char)('0' + number);
        }
        assert_string_equal(has, sets[i].has);
        free(set.ranges);
    }
}

static void what_is_no_set_is_refused(void **state)
{
    static const char *const wrong[] = {"",        ";",   "1;",    "-3",  "3-1",
                                        "every 0", "x",   "every", "1,2", "every -1",
                                        "1-2-3",   "0x1", "+1",    "1 2", "18446744073709551616"};
    (void)state;
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        struct qmpi_number_set set;
        assert_false(qmpi_number_set_read(wrong[i], &set));
        assert_null(set.ranges);
        assert_int_equal(set.count, 0);
    }
}

static void without_ranges_a_set_has_all_numbers(void **state)
{
    (void)state;
    assert_true(qmpi_number_set_has(&(struct qmpi_number_set){NULL, 0}, 17));
}

/* ---- Lists of functions ---------------------------------------------------------------------- */

static const struct {
    const char *name;
    unsigned group;
} functions[] = {{"MPI_Send", 1 << 0},
                 {"MPI_Isend", 1 << 0},
                 {NULL, 0},
                 {"MPI_Bcast", 1 << 2},
                 {"MPI_File_open", 1 << 4}};
enum { FUNCTIONS = sizeof functions / sizeof *functions };

static bool describe(int number, const char **name, unsigned *group)
{
    *name = functions[number].name;
    *group = functions[number].group;
    return *name != NULL;
}

static void a_list_adds_and_removes_in_order(void **state)
{
    static const struct {
        const char *text;
        const char *lists; /* by index; where the name is given in full, with a + behind it */
    } lists[] = {
        {"MPI_Send", "0+"},
        {"mpi_send;MPI_B*", "0+3"},
        {"point-to-point", "01"},
        {"POINT-TO-POINT;!MPI_Send", "1"},
        {"I/O;collective", "34"},
        {"!io", "013"},
        {"!io;MPI_File_open", "0134+"},
        {" ; MPI_Bcast ;", "3+"},
        {"*", "0134"},
        {"MPI_?send;MPI_Isend;", "1+"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof lists / sizeof *lists; i++) {
        unsigned char listed[FUNCTIONS];
        char found[16] = "";
        char *item = qmpi_function_list_read(lists[i].text, FUNCTIONS, describe, listed);
        assert_null(item);
        for (int number = 0; number < FUNCTIONS; number++) {
            if (listed[number])
                snprintf(found + strlen(found), sizeof found - strlen(found), "%d%s", number,
                         listed[number] & QMPI_FUNCTION_NAMED ? "+" : "");
        }
        assert_string_equal(found, lists[i].lists);
    }
}

static void an_item_that_matches_nothing_is_named(void **state)
{
    static const char *const wrong[][2] = {{"MPI_Send;MPI_Sned", "MPI_Sned"},
                                           {"!MPI_Sned", "!MPI_Sned"},
                                           {"completion", "completion"},
                                           {"", ""},
                                           {" ;; ", ""},
                                           {"!", "!"}};
    (void)state;
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        unsigned char listed[FUNCTIONS];
        char *item = qmpi_function_list_read(wrong[i][0], FUNCTIONS, describe, listed);
        assert_string_equal(item, wrong[i][1]);
        char *problem = qmpi_function_list_refuse("functions=", item);
        assert_non_null(strstr(problem, "\nhint: "));
        free(problem);
        free(item);
    }
}

/* ---- Lists of patterns ----------------------------------------------------------------------- */

static void one_of_the_patterns_must_match(void **state)
{
    (void)state;
    assert_true(qmpi_patterns_match("a*;b", "abc", false));
    assert_true(qmpi_patterns_match("a*;;b", "b", false));
    assert_true(qmpi_patterns_match("[a-c]?", "b1", false));
    assert_false(qmpi_patterns_match("a*;b", "bc", false));
    assert_false(qmpi_patterns_match("", "", false));
    assert_false(qmpi_patterns_match("Node*", "node1", false));
    assert_true(qmpi_patterns_match("Node*", "node1", true));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_set_has_numbers_ranges_and_steps),
        cmocka_unit_test(what_is_no_set_is_refused),
        cmocka_unit_test(without_ranges_a_set_has_all_numbers),
        cmocka_unit_test(a_list_adds_and_removes_in_order),
        cmocka_unit_test(an_item_that_matches_nothing_is_named),
        cmocka_unit_test(one_of_the_patterns_must_match),
    };
    return cmocka_run_group_tests_name("option_values", tests, NULL, NULL);
}
