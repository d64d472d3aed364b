/* SPDX-License-Identifier: MIT */
/* Tests the values of options: numbers, sizes, times, booleans, sets, lists of functions, lists of
 * patterns. */
#define _GNU_SOURCE
#include "unit.h"

#include "util/util.h"

#include <fenv.h>
#include <locale.h>
#include <qmpi/observer.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- Numbers --------------------------------------------------------------------------------- */

enum { NO = -1 };
#define WRONG UINT64_MAX

struct row {
    const char *text;
    uint64_t value; /* WRONG: the text is refused */
};

static void check_rows(const struct row *rows, size_t count,
                       bool (*read)(const char *text, uint64_t *value))
{
    for (size_t i = 0; i < count; i++) {
        uint64_t value = 4711;
        if (read(rows[i].text, &value) != (rows[i].value != WRONG))
            fail_msg("'%s'", rows[i].text);
        assert_int_equal(value, rows[i].value == WRONG ? 4711 : rows[i].value);
    }
}

static bool read_whole(const char *text, uint64_t *value)
{
    return qmpi_value_whole(text, 1, 100, value);
}

static void whole_numbers_have_limits(void **state)
{
    static const struct row rows[] = {
        {"1", 1},       {"100", 100},   {"007", 7},
        {" 12 ", 12},   {"+5", 5},      {"0", WRONG},
        {"101", WRONG}, {"", WRONG},    {"x", WRONG},
        {"-1", WRONG},  {"1x", WRONG},  {"0x10", WRONG},
        {"1.5", WRONG}, {"1e1", WRONG}, {"18446744073709551617", WRONG},
        {"1 2", WRONG}, {"5%", WRONG},  {"++5", WRONG},
        {"+ 5", WRONG}, {"nan", WRONG},
    };
    (void)state;
    check_rows(rows, sizeof rows / sizeof *rows, read_whole);
}

static void sizes_have_binary_and_decimal_units(void **state)
{
    static const struct row rows[] = {
        {"0", 0},
        {"4096", 4096},
        {"1B", 1},
        {"64k", 65536},
        {"64K", 65536},
        {"64KiB", 65536},
        {"64 kib", 65536},
        {"64KB", 64000},
        {"1.5MiB", 1572864},
        {"1M", 1048576},
        {"2MB", 2000000},
        {"2G", UINT64_C(2) << 30},
        {"2GiB", UINT64_C(2) << 30},
        {"2GB", 2000000000},
        {"1T", UINT64_C(1) << 40},
        {"1e3", 1000},
        {".5K", 512},
        {"0x10", 16},
        {"18446744073709551614", UINT64_MAX - 1},
        {"9007199254740993", UINT64_C(9007199254740993)},
        {"16777216T", WRONG},
        {"18446744073709551616", WRONG},
        {"1e30", WRONG},
        {"1e999", WRONG},
        {"", WRONG},
        {"K", WRONG},
        {"1Ki", WRONG},
        {"1q", WRONG},
        {"-1", WRONG},
        {"1K1", WRONG},
        {"inf", WRONG},
        {".", WRONG},
    };
    (void)state;
    check_rows(rows, sizeof rows / sizeof *rows, qmpi_value_size);
}

static void times_are_in_nanoseconds(void **state)
{
    static const struct row rows[] = {
        {"0", 0},
        {"5000ns", 5000},
        {"10us", 10000},
        {"20ms", 20000000},
        {"2s", 2000000000},
        {"2", 2000000000},
        {"2.5", 2500000000},
        {"0.002s", 2000000},
        {".5s", 500000000},
        {"1min", UINT64_C(60000000000)},
        {"2h", UINT64_C(7200000000000)},
        {"1e9", UINT64_C(1000000000000000000)},
        {" 20 us ", 20000},
        {"0.1ns", 1},
        {"0.0ns", 0},
        {"1.5ns", 2},
        {"9223372036854775807ns", INT64_MAX},
        {"9223372036854775808ns", WRONG},
        {"1e10", WRONG},
        {"", WRONG},
        {"s", WRONG},
        {"5m", WRONG},
        {"5S", WRONG},
        {"5sec", WRONG},
        {"-1s", WRONG},
        {"1s2", WRONG},
        {"1:30", WRONG},
        {"nans", WRONG},
    };
    const char *text = "10us-50us";
    uint64_t value;
    (void)state;
    check_rows(rows, sizeof rows / sizeof *rows, qmpi_value_time);
    assert_string_equal(qmpi_value_time_part(text, &value), "-50us");
    assert_int_equal(value, 10000);
    assert_null(qmpi_value_time_part("x", &value));
}

static void numbers_are_the_same_in_each_locale(void **state)
{
    uint64_t value;
    (void)state;
    if (!setlocale(LC_NUMERIC, "de_DE.UTF-8"))
        return; /* The machine lacks this locale. */
    assert_true(qmpi_value_time("1.5s", &value));
    assert_int_equal(value, 1500000000);
    assert_false(qmpi_value_time("1,5s", &value));
    setlocale(LC_NUMERIC, "C");
}

static void numbers_leave_no_trace_in_the_floating_point_environment(void **state)
{
    uint64_t value;
    double real;
    (void)state;
    feclearexcept(FE_ALL_EXCEPT);
    feenableexcept(FE_INEXACT | FE_OVERFLOW | FE_UNDERFLOW | FE_INVALID);
    assert_true(qmpi_value_time("0.1us", &value));
    assert_false(qmpi_value_size("1e999", &value));
    assert_true(qmpi_value_real("1e-400", 1, &real));
    fedisableexcept(FE_ALL_EXCEPT);
    assert_int_equal(fetestexcept(FE_ALL_EXCEPT), 0);
}

static void real_numbers_and_percentages_have_limits(void **state)
{
    static const struct {
        const char *text;
        double real, percent; /* NO: the text is refused */
        int whole_percent;
    } rows[] = {
        {"0.25", 0.25, 0.25, NO}, {"1", 1, 1, 1},        {"0", 0, 0, NO},
        {"1e-3", 1e-3, 1e-3, NO}, {"10", NO, 10, 10},    {"10%", NO, 10, 10},
        {"2.5 %", NO, 2.5, NO},   {"100", NO, 100, 100}, {"101", NO, 101, NO},
        {"%", NO, NO, NO},        {"nan", NO, NO, NO},   {"inf", NO, NO, NO},
        {"-1", NO, NO, NO},       {"5%%", NO, NO, NO},   {"", NO, NO, NO},
    };
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        double real = NO, percent = NO;
        int whole = NO;
        assert_int_equal(qmpi_value_real(rows[i].text, 1, &real), rows[i].real != NO);
        assert_int_equal(qmpi_value_percent(rows[i].text, &percent), rows[i].percent != NO);
        assert_int_equal(qmpi_value_whole_percent(rows[i].text, &whole),
                         rows[i].whole_percent != NO);
        assert_true(real == rows[i].real && percent == rows[i].percent);
        assert_int_equal(whole, rows[i].whole_percent);
    }
}

static void booleans_have_several_words(void **state)
{
    static const char *const words[][4] = {{"no", "off", "false", "0"}, {"yes", "on", "true", "1"}};
    static const char *const wrong[] = {"", "maybe", "Yes", "y", "2", " yes"};
    bool yes;
    (void)state;
    for (int meaning = 0; meaning < 2; meaning++) {
        for (int i = 0; i < 4; i++) {
            assert_true(qmpi_value_boolean(words[meaning][i], &yes));
            assert_int_equal(yes, meaning);
            assert_int_equal(qmpi_value_is_yes(words[meaning][i]), meaning);
        }
    }
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        assert_false(qmpi_value_boolean(wrong[i], &yes));
        assert_false(qmpi_value_is_yes(wrong[i]));
    }
    assert_false(qmpi_value_is_yes(NULL));
}

/* ---- Sets of numbers ------------------------------------------------------------------------- */

static void a_set_has_numbers_ranges_and_steps(void **state)
{
    static const struct {
        const char *text;
        const char *has; /* those of the numbers 0 to 9 that are in the set */
    } sets[] = {
        {"3", "3"},          {"2-4", "234"},      {"7-", "789"},
        {"every 4", "048"},  {"1;5-6;9", "1569"}, {" 1 ; 3 - 4 ", "134"},
        {"0;every 5", "05"}, {"4-4", "4"},        {"every1", "0123456789"},
        {"100-;2", "2"},     {"9;8;9", "89"},     {"1,3-4", "134"},
        {";1;;2;", "12"},    {"8-,0", "089"},     {"18446744073709551615;1", "1"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof sets / sizeof *sets; i++) {
        struct qmpi_value_set set;
        char has[11] = "";
        assert_true(qmpi_value_set_read(sets[i].text, &set));
        for (int number = 0, count = 0; number < 10; number++) {
            if (qmpi_value_set_has(&set, (uint64_t)number))
                has[count++] = (char)('0' + number);
        }
        assert_string_equal(has, sets[i].has);
        free(set.ranges);
    }
}

static void an_invalid_set_is_refused(void **state)
{
    static const char *const wrong[] = {"",        ";",   " ;, ",  "-3",  "3-1",
                                        "every 0", "x",   "every", "1.5", "every -1",
                                        "1-2-3",   "0x1", "1;x",   "1 2", "18446744073709551616"};
    (void)state;
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        struct qmpi_value_set set;
        assert_false(qmpi_value_set_read(wrong[i], &set));
        assert_null(set.ranges);
        assert_int_equal(set.count, 0);
    }
}

static void without_ranges_a_set_has_all_numbers(void **state)
{
    (void)state;
    assert_true(qmpi_value_set_has(&(struct qmpi_value_set){NULL, 0}, 17));
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
        const char *lists; /* the indices in `functions` of those that the list contains; + follows
                              if the list gives the name in full */
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
        char *item = qmpi_value_read_functions(lists[i].text, FUNCTIONS, describe, listed);
        assert_null(item);
        for (int number = 0; number < FUNCTIONS; number++) {
            if (listed[number])
                snprintf(found + strlen(found), sizeof found - strlen(found), "%d%s", number,
                         listed[number] & QMPI_VALUE_NAMED ? "+" : "");
        }
        assert_string_equal(found, lists[i].lists);
    }
}

/* Describes a function for each group: function N has bit N of QMPIX_GROUP_…. */
static bool describe_by_group(int number, const char **name, unsigned *group)
{
    *name = "MPI_X";
    *group = 1U << number;
    return true;
}

static void every_group_has_a_word_and_a_name(void **state)
{
    int number = 0;
    (void)state;
    for (const char *words = QMPI_VALUE_GROUPS; *words; number++) {
        const size_t length = strcspn(words, ",");
        char *word = qmpi_copy_part(words, length);
        const char *const texts[] = {word, qmpi_value_group_name(1U << number)};
        for (int k = 0; k < 2; k++) {
            unsigned char listed[32];
            assert_null(qmpi_value_read_functions(texts[k], 32, describe_by_group, listed));
            for (int i = 0; i < 32; i++)
                assert_int_equal(listed[i] != 0, i == number);
        }
        free(word);
        words += length + strspn(words + length, ", ");
    }
    assert_int_equal(1U << (number - 1), QMPIX_GROUP_TOOL_INFORMATION);
    assert_string_equal(qmpi_value_group_name(1U << number), "");
    assert_string_equal(qmpi_value_group_name(0), "");
    assert_string_equal(qmpi_value_group_name(3), "");
}

static void an_item_that_matches_nothing_is_named(void **state)
{
    static const char *const wrong[][2] = {{"MPI_Send;MPI_Sned", "MPI_Sned"},
                                           {"!MPI_Sned", "!MPI_Sned"},
                                           {"completion", "completion"},
                                           {"", ""},
                                           {" ;; ", ""},
                                           {"!*", ""},
                                           {"!MPI_*", ""},
                                           {"MPI_Send;!point-to-point", ""},
                                           {"!", "!"}};
    (void)state;
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        unsigned char listed[FUNCTIONS];
        char *item = qmpi_value_read_functions(wrong[i][0], FUNCTIONS, describe, listed);
        assert_string_equal(item, wrong[i][1]);
        char *problem = qmpi_value_refuse_functions("functions=", item);
        assert_non_null(strstr(problem, "\nhint: "));
        free(problem);
        free(item);
    }
}

/* ---- Lists of patterns ----------------------------------------------------------------------- */

static void one_of_the_patterns_must_match(void **state)
{
    (void)state;
    assert_true(qmpi_value_matches_patterns("a*;b", "abc", false));
    assert_true(qmpi_value_matches_patterns("a*;;b", "b", false));
    assert_true(qmpi_value_matches_patterns("[a-c]?", "b1", false));
    assert_false(qmpi_value_matches_patterns("a*;b", "bc", false));
    assert_false(qmpi_value_matches_patterns("", "", false));
    assert_false(qmpi_value_matches_patterns("Node*", "node1", false));
    assert_true(qmpi_value_matches_patterns("Node*", "node1", true));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(whole_numbers_have_limits),
        cmocka_unit_test(sizes_have_binary_and_decimal_units),
        cmocka_unit_test(times_are_in_nanoseconds),
        cmocka_unit_test(numbers_are_the_same_in_each_locale),
        cmocka_unit_test(numbers_leave_no_trace_in_the_floating_point_environment),
        cmocka_unit_test(real_numbers_and_percentages_have_limits),
        cmocka_unit_test(booleans_have_several_words),
        cmocka_unit_test(a_set_has_numbers_ranges_and_steps),
        cmocka_unit_test(an_invalid_set_is_refused),
        cmocka_unit_test(without_ranges_a_set_has_all_numbers),
        cmocka_unit_test(a_list_adds_and_removes_in_order),
        cmocka_unit_test(every_group_has_a_word_and_a_name),
        cmocka_unit_test(an_item_that_matches_nothing_is_named),
        cmocka_unit_test(one_of_the_patterns_must_match),
    };
    return cmocka_run_group_tests_name("option_values", tests, NULL, NULL);
}
