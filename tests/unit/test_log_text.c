/* SPDX-License-Identifier: MIT */
/* Tests how the tool log formats numbers, times and strings, and how it cuts lines. */
#define _GNU_SOURCE
#include "unit.h"

#include "tools/log/text.h"

#include <fenv.h>
#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Asserts the text that a call adds to an empty one. */
#define CHECK(call, expected)                                                                      \
    do {                                                                                           \
        struct text text = {.data = NULL};                                                         \
        call;                                                                                      \
        text_char(&text, '\0');                                                                    \
        assert_string_equal(text.data, expected);                                                  \
    } while (0)

static void numbers_are_formatted(void **state)
{
    const int small = 0x1234;
    (void)state;
    CHECK(text_number(&text, 0), "0");
    CHECK(text_number(&text, -32766), "-32766");
    CHECK(text_number(&text, LLONG_MIN), "-9223372036854775808");
    CHECK(text_real(&text, 1e-9), "0.000000001");
    CHECK(text_real(&text, -2.5), "-2.500000000");
    CHECK(text_real(&text, 1e300), "huge");
    CHECK(text_real(&text, strtod("nan", NULL)), "nan");
    CHECK(text_handle(&text, &small, sizeof small), "0x00001234");
    CHECK(text_pointer(&text, NULL), "NULL");
    CHECK(text_pointer(&text, (const void *)0xabc), "0xabc");
}

static void times_are_formatted(void **state)
{
    (void)state;
    CHECK(text_seconds(&text, 1234567890123), "1234.567890");
    CHECK(text_duration(&text, 0), "0 ns");
    CHECK(text_duration(&text, 999), "999 ns");
    CHECK(text_duration(&text, 1000), "1.00 us");
    CHECK(text_duration(&text, 12349), "12.3 us");
    CHECK(text_duration(&text, 999999), "999 us");
    CHECK(text_duration(&text, 5020000000), "5.02 s");
    CHECK(text_duration(&text, 360000000000), "360 s");
}

static void strings_are_quoted_and_escaped(void **state)
{
    (void)state;
    CHECK(text_quoted(&text, "a\"b\\c\n", 6, false), "\"a\\\"b\\\\c\\n\"");
    CHECK(text_quoted(&text, "\0011\001a", 4, true), "\"\\0011\\1a\"...");
    CHECK(text_quoted(&text, "\0", 1, false), "\"\\0\"");
    CHECK(text_quoted(&text, "ü", 2, false), "\"ü\"");
}

static void memory_for_a_long_line_grows(void **state)
{
    struct text text = {.data = NULL};
    (void)state;
    for (int i = 0; i < 5000; i++)
        text_string(&text, "abc");
    assert_int_equal(text.length, 15000);
    assert_memory_equal(text.data + 14997, "abc", 3);
}

static void fixed_lines_are_cut(void **state)
{
    char bytes[8];
    struct text text = {.data = bytes, .size = sizeof bytes, .is_fixed = true};
    (void)state;
    text_string(&text, "12345");
    text_string(&text, "67890");
    text_char(&text, 'x');
    assert_int_equal(text.length, sizeof bytes);
    assert_memory_equal(bytes, "12345678", sizeof bytes);
}

/* The program may read the floating-point flags, or may have enabled traps for them. */
static void a_real_number_leaves_no_flag_of_the_floating_point_environment(void **state)
{
    static const volatile double all[] = {0.1, -1e8 / 3, 1e300, INFINITY, NAN};
    struct text text = {.data = NULL};
    (void)state;
    feclearexcept(FE_ALL_EXCEPT);
    feenableexcept(FE_ALL_EXCEPT);
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        text_real(&text, all[i]);
    fedisableexcept(FE_ALL_EXCEPT);
    assert_int_equal(fetestexcept(FE_ALL_EXCEPT), 0);
    assert_memory_equal(text.data, "0.100000000-33333333.333333332hugehugenan", text.length);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(numbers_are_formatted),
        cmocka_unit_test(times_are_formatted),
        cmocka_unit_test(strings_are_quoted_and_escaped),
        cmocka_unit_test(memory_for_a_long_line_grows),
        cmocka_unit_test(fixed_lines_are_cut),
        cmocka_unit_test(a_real_number_leaves_no_flag_of_the_floating_point_environment)};
    return cmocka_run_group_tests_name("log_text", tests, NULL, NULL);
}
