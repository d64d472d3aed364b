/* SPDX-License-Identifier: MIT */
/* Tests tables as text: units, widths, and names that must not break the tables. */
#define _GNU_SOURCE
#include "unit.h"

#include "profile_sample.h"
#include "tools/profile/result/columns.h"
#include "tools/profile/result/profile.h"
#include "tools/profile/result/units.h"
#include "util/message.h"

#include <stdlib.h>
#include <string.h>

static void values_have_about_three_digits_and_a_unit(void **state)
{
    (void)state;
    static const struct {
        double value;
        const char *text;
    } times[] = {{0, "0"},
                 {1e-9, "1.0 ns"},
                 {17e-9, "17 ns"},
                 {999.6e-9, "1.00 us"},
                 {1.234e-6, "1.23 us"},
                 {12.34e-6, "12.3 us"},
                 {0.0009996, "1.00 ms"},
                 {0.34, "340 ms"},
                 {1, "1.00 s"},
                 {99.96, "100 s"},
                 {86400, "86400 s"},
                 {-0.5, "-500 ms"}},
      bytes[] = {{0, "0"},
                 {1, "1 B"},
                 {1023, "1023 B"},
                 {1024, "1.00 KiB"},
                 {1536, "1.50 KiB"},
                 {10240, "10.0 KiB"},
                 {1048575, "1.00 MiB"},
                 {1024.0 * 1024 * 1024 * 1024, "1.00 TiB"},
                 {9223372036854775808.0, "8.00 EiB"},
                 {8192.0 * 1152921504606846976.0, "8192 EiB"}};
    for (size_t i = 0; i < sizeof times / sizeof *times; i++)
        assert_string_equal(units_time(times[i].value), times[i].text);
    for (size_t i = 0; i < sizeof bytes / sizeof *bytes; i++)
        assert_string_equal(units_bytes(bytes[i].value), bytes[i].text);
    assert_string_equal(units_percent(1, 8), "12.5");
    assert_string_equal(units_percent(0, 0), "-");
}

static char *print_columns(struct columns *columns, int width)
{
    char *text;
    size_t length;
    FILE *stream = open_memstream(&text, &length);
    assert_true(columns_print(columns, stream, width));
    fclose(stream);
    return text;
}

static void columns_are_as_wide_as_their_content(void **state)
{
    (void)state;
    struct columns columns;
    columns_start(&columns, "lrl");
    columns_add_all(&columns, (const char *const[]){"name", "n", "", NULL});
    columns_add(&columns, "\xc3\xa4");
    columns_add(&columns, "%d", 100);
    columns_add(&columns, "x");
    columns_add_line(&columns, "a note as it is");
    columns_add_all(&columns, (const char *const[]){"b\x1b[1m\n\xff", "2", "", NULL});
    char *text = print_columns(&columns, 80);
    assert_string_equal(text, "name       n\n"
                              "\xc3\xa4        100  x\n"
                              "a note as it is\n"
                              "b?[1m??    2\n");
    free(text);
}

static void a_name_that_is_too_long_gets_a_line_of_its_own(void **state)
{
    (void)state;
    char name[121];
    memset(name, 'n', sizeof name - 1);
    name[sizeof name - 1] = '\0';
    struct columns columns;
    columns_start(&columns, "lr");
    columns_add(&columns, "%s", name);
    columns_add(&columns, "12");
    char *text = print_columns(&columns, 80);
    assert_int_equal(strcspn(text, "\n"), 120);
    assert_int_equal(strlen(text), 120 + 1 + 80 + 1);
    free(text);
}

static void columns_are_left_out_in_their_order_if_a_line_is_too_short(void **state)
{
    (void)state;
    static const struct {
        int width;
        const char *heading;
    } cases[] = {{26, "name  aaaa  bbb  ccc  dddd"},
                 {25, "name aaaa bbb ccc dddd"},
                 {22, "name aaaa bbb ccc dddd"},
                 {21, "name  aaaa  dddd"},
                 {15, "name aaaa dddd"},
                 {13, "name  dddd"},
                 {10, "name  dddd"},
                 {9, "name dddd"}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct columns columns;
        columns_start(&columns, "llrrr");
        columns_set_optional(&columns, ".211.");
        columns_add_all(&columns,
                        (const char *const[]){"name", "aaaa", "bbb", "ccc", "dddd", NULL});
        char *text = print_columns(&columns, cases[i].width);
        assert_int_equal(strcspn(text, "\n"), strlen(cases[i].heading));
        assert_memory_equal(text, cases[i].heading, strlen(cases[i].heading));
        free(text);
    }
}

static char *print_text(const struct profile_result *result, unsigned sections, int top)
{
    char *text;
    size_t length;
    FILE *stream = open_memstream(&text, &length);
    const struct profile_layout layout = {top, PROFILE_TEXT_WIDTH};
    assert_true(profile_text_print(stream, result, sections, &layout));
    fclose(stream);
    return text;
}

static void every_table_is_printed_without_control_characters(void **state)
{
    (void)state;
    static const char *const titles[] = {
        "\nFunctions: ", "\nCall sites: ",  "\nCalls by size", "\nCommunication between",
        "\nWaiting",     "\nCommunicators", "\nFiles",         "\nRegions",
        "\nProcesses",
    };
    struct profile_result *result = sample_full();
    char *text = print_text(result, PROFILE_EVERYTHING, 0);
    for (size_t i = 0; i < sizeof titles / sizeof *titles; i++) {
        assert_non_null(strstr(text, titles[i]));
        char *one = print_text(result, 1u << i, 0);
        for (size_t k = 0; k < sizeof titles / sizeof *titles; k++)
            assert_int_equal(strstr(one, titles[k]) != NULL, i == k);
        free(one);
    }
    for (const char *at = text; *at; at++)
        assert_true(*at == '\n' || (unsigned char)*at >= ' ');
    assert_non_null(strstr(text, "out ?[31m.dat"));
    free(text);
    profile_result_free(result);
}

/* The tool puts "qmpi: " in front of each line, so the sentence must be shorter by these
 * characters. */
static void the_sentence_about_processors_fits_into_a_line(void **state)
{
    (void)state;
    struct profile_result *result = sample_run();
    for (int rank = 0; rank < SAMPLE_RANKS; rank++)
        result->processes[rank].queued = result->processes[rank].application;
    char *text = print_text(result, PROFILE_EVERYTHING, 0);
    const char *line = strstr(text, "These figures include the 100.0 % of the time");
    assert_non_null(line);
    assert_true(strcspn(line, "\n") <= PROFILE_TEXT_WIDTH - strlen("qmpi: "));
    free(text);
    profile_result_free(result);
}

static void an_empty_result_is_printed_too(void **state)
{
    (void)state;
    struct profile_result *result = qmpi_allocate(1, sizeof *result);
    result->ranks = 1;
    result->rank = -1;
    char *text = print_text(result, PROFILE_EVERYTHING, 20);
    assert_non_null(strstr(text, "(no calls)"));
    free(text);
    profile_result_free(result);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(values_have_about_three_digits_and_a_unit),
        cmocka_unit_test(columns_are_as_wide_as_their_content),
        cmocka_unit_test(a_name_that_is_too_long_gets_a_line_of_its_own),
        cmocka_unit_test(columns_are_left_out_in_their_order_if_a_line_is_too_short),
        cmocka_unit_test(every_table_is_printed_without_control_characters),
        cmocka_unit_test(the_sentence_about_processors_fits_into_a_line),
        cmocka_unit_test(an_empty_result_is_printed_too),
    };
    return cmocka_run_group_tests_name("profile_text", tests, NULL, NULL);
}
