/* SPDX-License-Identifier: MIT */
/* Tests the messages of libqmpi, the choice of the processes that print them, and the helpers for
 * texts. */
#define _GNU_SOURCE
#include "unit.h"

#include "util/launcher.h"
#include "util/message.h"
#include "util/text.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char *const launcher_variables[] = {"PMI_RANK",
                                                 "PMI_ID",
                                                 "PMIX_RANK",
                                                 "OMPI_COMM_WORLD_RANK",
                                                 "MV2_COMM_WORLD_RANK",
                                                 "PALS_RANKID",
                                                 "ALPS_APP_PE",
                                                 "JSM_NAMESPACE_RANK",
                                                 "FLUX_TASK_RANK",
                                                 "SLURM_PROCID"};
enum { LAUNCHERS = sizeof launcher_variables / sizeof *launcher_variables };

static int clear_environment(void **state)
{
    (void)state;
    for (int i = 0; i < LAUNCHERS; i++)
        unsetenv(launcher_variables[i]);
    qmpi_launcher_forget();
    unsetenv("QMPI_DEBUG");
    qmpi_launcher_forget();
    unsetenv("QMPI_TEST");
    qmpi_launcher_forget();
    return 0;
}

/* ---- Captured stderr ------------------------------------------------------------------------- */

static int old_stderr;
static int captured;

static void capture(void)
{
    char name[] = "/tmp/qmpi-test-XXXXXX";
    captured = mkstemp(name);
    assert_true(captured >= 0);
    unlink(name);
    old_stderr = dup(STDERR_FILENO);
    assert_true(dup2(captured, STDERR_FILENO) >= 0);
}

/* Returns the text that was written to stderr since capture(). It is valid until the next call. */
static const char *released(void)
{
    static char text[200000];
    dup2(old_stderr, STDERR_FILENO);
    close(old_stderr);
    const ssize_t length = pread(captured, text, sizeof text - 1, 0);
    close(captured);
    assert_true(length >= 0);
    text[length] = '\0';
    return text;
}

static void every_line_of_a_message_has_the_prefix(void **state)
{
    (void)state;
    capture();
    qmpi_print("one\ntwo\n\nfour");
    assert_string_equal(released(), "qmpi: one\nqmpi: two\nqmpi: \nqmpi: four\n");
}

static void a_message_that_ends_with_a_newline_gets_no_second_one(void **state)
{
    (void)state;
    capture();
    qmpi_print("one\n");
    assert_string_equal(released(), "qmpi: one\n");
}

static void placeholders_in_a_message_are_replaced(void **state)
{
    (void)state;
    capture();
    qmpi_printf("%s %d%%", "at", 7);
    assert_string_equal(released(), "qmpi: at 7%\n");
}

static void a_very_long_message_is_written_whole(void **state)
{
    (void)state;
    char *text = malloc(100001);
    assert_non_null(text);
    memset(text, 'x', 100000);
    text[100000] = '\0';
    capture();
    qmpi_print(text);
    free(text);
    assert_int_equal(strlen(released()), strlen("qmpi: ") + 100000 + 1);
}

/* ---- Texts from outside ---------------------------------------------------------------------- */

static void check_shown(const char *text, const char *expected)
{
    char *shown = qmpi_message("%s", text);
    assert_string_equal(shown, expected);
    char *again = qmpi_message("%s", shown); /* A text that is escaped already does not change. */
    assert_string_equal(again, expected);
    free(again);
    free(shown);
}

static void control_characters_are_escaped(void **state)
{
    (void)state;
    check_shown("a\nb\tc\rd", "a\\nb\\tc\\rd");
    check_shown("\a\b\v\f", "\\a\\b\\v\\f");
    check_shown("\x1b[31mred\x7f\x01", "\\x1b[31mred\\x7f\\x01");
    check_shown("\xc2\x9b"
                "31m",
                "\\xc2\\x9b31m"); /* U+009B is equivalent to ESC [. */
}

static void text_of_every_language_stays(void **state)
{
    (void)state;
    static const char *const texts[] = {"",     "plain \\n",        "é",       "…",
                                        "日本", "\xf0\x9f\x98\x80", "\xc2\xa0"};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        check_shown(texts[i], texts[i]);
}

static void bytes_that_are_not_utf_8_are_escaped(void **state)
{
    (void)state;
    check_shown("\xff\xfe", "\\xff\\xfe");
    check_shown("a\x80z", "a\\x80z");               /* a continuation byte alone */
    check_shown("\xc3", "\\xc3");                   /* cut at the end */
    check_shown("\xe2\x80", "\\xe2\\x80");          /* cut at the end */
    check_shown("\xc0\xaf", "\\xc0\\xaf");          /* an overlong form */
    check_shown("\xed\xa0\x80", "\\xed\\xa0\\x80"); /* a surrogate */
    check_shown("\xf4\x90\x80\x80", "\\xf4\\x90\\x80\\x80");
}

static void only_line_feeds_of_the_format_begin_lines(void **state)
{
    (void)state;
    char *problem = qmpi_message("no tool '%s'\nhint: %s", "a\nhint: b", "c");
    assert_string_equal(problem, "no tool 'a\\nhint: b'\nhint: c");
    capture();
    qmpi_printf("%s: %-s", "\x1b", problem);
    assert_string_equal(released(), "qmpi: \\x1b: no tool 'a\\nhint: b'\nqmpi: hint: c\n");
    free(problem);
}

static void printed_messages_contain_no_control_characters(void **state)
{
    (void)state;
    capture();
    qmpi_print("\x1b[2J\nb\r");
    assert_string_equal(released(), "qmpi: \\x1b[2J\nqmpi: b\\r\n");
}

static void other_conversions_are_those_of_printf(void **state)
{
    (void)state;
    char *text = qmpi_message("%d %5.2f %llu %zu %ld %02x %c %.*s|%.3s|%p%%", -7, 2.5, 1ull << 40,
                              (size_t)9, -3L, 10u, 'x', 2, "ab\n", "123456", (void *)0);
    assert_string_equal(text, "-7  2.50 1099511627776 9 -3 0a x ab|123|(nil)%");
    free(text);
}

static void a_shortened_text_is_escaped(void **state)
{
    (void)state;
    char *shown = qmpi_message_shorten("a\nb");
    assert_string_equal(shown, "a\\nb");
    free(shown);
}

/* ---- Processes that print -------------------------------------------------------------------- */

static void without_a_launcher_the_process_reports(void **state)
{
    (void)state;
    assert_int_equal(qmpi_launcher_rank(), -1);
    assert_true(qmpi_launcher_reports());
}

static void the_rank_is_known_with_each_launcher(void **state)
{
    (void)state;
    for (int i = 0; i < LAUNCHERS; i++) {
        setenv(launcher_variables[i], "0", 1);
        qmpi_launcher_forget();
        assert_int_equal(qmpi_launcher_rank(), 0);
        assert_true(qmpi_launcher_reports());
        setenv(launcher_variables[i], "17", 1);
        qmpi_launcher_forget();
        assert_int_equal(qmpi_launcher_rank(), 17);
        assert_false(qmpi_launcher_reports());
        unsetenv(launcher_variables[i]);
        qmpi_launcher_forget();
    }
}

static void a_rank_that_is_no_number_is_passed_over(void **state)
{
    (void)state;
    static const char *const values[] = {"", "x", "1x", "-1", "99999999999999999999", "2147483648"};
    for (size_t i = 0; i < sizeof values / sizeof *values; i++) {
        setenv("PMI_RANK", values[i], 1);
        qmpi_launcher_forget();
        assert_int_equal(qmpi_launcher_rank(), -1);
        setenv("SLURM_PROCID", "3", 1);
        qmpi_launcher_forget();
        assert_int_equal(qmpi_launcher_rank(), 3);
        unsetenv("SLURM_PROCID");
        qmpi_launcher_forget();
    }
}

/* ---- The environment ------------------------------------------------------------------------- */

static void an_empty_variable_counts_as_unset(void **state)
{
    (void)state;
    assert_null(qmpi_getenv("QMPI_TEST"));
    setenv("QMPI_TEST", "", 1);
    qmpi_launcher_forget();
    assert_null(qmpi_getenv("QMPI_TEST"));
    setenv("QMPI_TEST", "value", 1);
    qmpi_launcher_forget();
    assert_string_equal(qmpi_getenv("QMPI_TEST"), "value");
}

/* ---- QMPI_DEBUG: topics stay on, so the order of these tests matters ------------------------- */

static void nothing_is_traced_unless_asked_for(void **state)
{
    (void)state;
    capture();
    qmpi_message_debug_start(getenv("QMPI_DEBUG"));
    qmpi_debug(QMPI_TOPIC_LOAD, "hidden");
    assert_string_equal(released(), "");
    for (int topic = 0; topic < QMPI_TOPIC_COUNT; topic++)
        assert_false(qmpi_message_debugs((enum qmpi_message_topic)topic));
}

static void unknown_topics_are_reported_and_the_known_ones_traced(void **state)
{
    (void)state;
    setenv("QMPI_DEBUG", "load,wrong,,chains,chain", 1);
    qmpi_launcher_forget();
    capture();
    qmpi_message_debug_start(getenv("QMPI_DEBUG"));
    const char *text = released();
    assert_non_null(strstr(text, "unknown topic 'wrong'"));
    assert_non_null(strstr(text, "unknown topic 'chains'"));
    assert_null(strstr(text, "unknown topic 'load'"));
    assert_null(strstr(text, "unknown topic ''"));
    assert_non_null(strstr(text, "parse, find, load, base, chain or all"));
    assert_true(qmpi_message_debugs(QMPI_TOPIC_LOAD));
    assert_true(qmpi_message_debugs(QMPI_TOPIC_CHAIN));
    assert_false(qmpi_message_debugs(QMPI_TOPIC_PARSE));
}

static void only_the_process_that_prints_messages_reports_unknown_topics(void **state)
{
    (void)state;
    setenv("QMPI_DEBUG", "wrong", 1);
    qmpi_launcher_forget();
    setenv("PMI_RANK", "1", 1);
    qmpi_launcher_forget();
    capture();
    qmpi_message_debug_start(getenv("QMPI_DEBUG"));
    assert_string_equal(released(), "");
}

static void a_trace_names_its_topic_and_the_rank(void **state)
{
    (void)state;
    capture();
    qmpi_debug(QMPI_TOPIC_LOAD, "layer %d", 2);
    assert_string_equal(released(), "qmpi: load: layer 2\n");
    setenv("PMI_RANK", "5", 1);
    qmpi_launcher_forget();
    capture();
    qmpi_debug(QMPI_TOPIC_LOAD, "layer %d", 2);
    assert_string_equal(released(), "qmpi: rank 5: load: layer 2\n");
}

static void all_means_every_topic(void **state)
{
    (void)state;
    setenv("QMPI_DEBUG", "all", 1);
    qmpi_launcher_forget();
    capture();
    qmpi_message_debug_start(getenv("QMPI_DEBUG"));
    assert_string_equal(released(), "");
    for (int topic = 0; topic < QMPI_TOPIC_COUNT; topic++)
        assert_true(qmpi_message_debugs((enum qmpi_message_topic)topic));
}

/* ---- Texts ----------------------------------------------------------------------------------- */

static void a_text_that_fits_is_not_shortened(void **state)
{
    (void)state;
    char text[121];
    memset(text, 'x', sizeof text - 1);
    text[120] = '\0';
    char *shown = qmpi_message_shorten(text);
    assert_string_equal(shown, text);
    free(shown);
    shown = qmpi_message_shorten("");
    assert_string_equal(shown, "");
    free(shown);
}

static void a_longer_text_is_cut_and_its_length_told(void **state)
{
    (void)state;
    char text[122];
    memset(text, 'x', sizeof text - 1);
    text[121] = '\0';
    char *shown = qmpi_message_shorten(text);
    assert_memory_equal(shown, text, 120);
    assert_string_equal(shown + 120, "… (121 bytes)");
    free(shown);
}

static void a_copied_part_has_the_given_length(void **state)
{
    (void)state;
    char *part = qmpi_copy_part("abcdef", 3);
    assert_string_equal(part, "abc");
    free(part);
    part = qmpi_copy_part("abcdef", 0);
    assert_string_equal(part, "");
    free(part);
}

static void memory_is_zeroed_and_an_empty_block_is_not_null(void **state)
{
    (void)state;
    unsigned char *memory = qmpi_allocate(100, 3);
    for (int i = 0; i < 300; i++)
        assert_int_equal(memory[i], 0);
    free(memory);
    memory = qmpi_allocate(0, 0);
    assert_non_null(memory);
    free(memory);
}

/* ---- CSV ------------------------------------------------------------------------------------- */

static void fields_of_csv_are_text_in_quotes_if_needed(void **state)
{
    static const char *const fields[][2] = {
        {"", ""},
        {"MPI_COMM_WORLD", "MPI_COMM_WORLD"},
        {"semi;colon: plain", "semi;colon: plain"},
        {"a,b", "\"a,b\""},
        {"a \"b\"", "\"a \"\"b\"\"\""},
        {"two\r\nlines", "\"two\r\nlines\""},
        {"tab\tstop", "\"tab\tstop\""},
        {"\xc3\xa9t\xc3\xa9 \xe2\x82\xac", "\xc3\xa9t\xc3\xa9 \xe2\x82\xac"},
        {"\xff\xfe bad", "\xef\xbf\xbd\xef\xbf\xbd bad"},
        {"cut \xe2\x82", "cut \xef\xbf\xbd\xef\xbf\xbd"},
        {"\x1b[31mred\x7f", "\xef\xbf\xbd[31mred\xef\xbf\xbd"},
        {"C1 \xc2\x9b", "C1 \xef\xbf\xbd"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof fields / sizeof *fields; i++) {
        char *text = NULL;
        size_t size;
        FILE *stream = open_memstream(&text, &size);
        qmpi_text_put_csv(stream, fields[i][0]);
        fclose(stream);
        assert_string_equal(text, fields[i][1]);
        free(text);
    }
}

int main(void)
{
#define TEST(function)                                                                             \
    cmocka_unit_test_setup_teardown(function, clear_environment, clear_environment)
    const struct CMUnitTest tests[] = {
        TEST(every_line_of_a_message_has_the_prefix),
        TEST(a_message_that_ends_with_a_newline_gets_no_second_one),
        TEST(placeholders_in_a_message_are_replaced),
        TEST(a_very_long_message_is_written_whole),
        TEST(control_characters_are_escaped),
        TEST(text_of_every_language_stays),
        TEST(bytes_that_are_not_utf_8_are_escaped),
        TEST(only_line_feeds_of_the_format_begin_lines),
        TEST(printed_messages_contain_no_control_characters),
        TEST(other_conversions_are_those_of_printf),
        TEST(a_shortened_text_is_escaped),
        TEST(without_a_launcher_the_process_reports),
        TEST(the_rank_is_known_with_each_launcher),
        TEST(a_rank_that_is_no_number_is_passed_over),
        TEST(an_empty_variable_counts_as_unset),
        TEST(nothing_is_traced_unless_asked_for),
        TEST(unknown_topics_are_reported_and_the_known_ones_traced),
        TEST(only_the_process_that_prints_messages_reports_unknown_topics),
        TEST(a_trace_names_its_topic_and_the_rank),
        TEST(all_means_every_topic),
        TEST(a_text_that_fits_is_not_shortened),
        TEST(a_longer_text_is_cut_and_its_length_told),
        TEST(a_copied_part_has_the_given_length),
        TEST(memory_is_zeroed_and_an_empty_block_is_not_null),
        TEST(fields_of_csv_are_text_in_quotes_if_needed),
    };
    return cmocka_run_group_tests_name("message", tests, NULL, NULL);
}
