/* SPDX-License-Identifier: MIT */
/* Tests the grammar of configuration files. */
#include "unit.h"

#include "config/parse.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct qmpi_config config;

static int release(void **state)
{
    (void)state;
    qmpi_config_free(&config);
    return 0;
}

static void parse(const char *text)
{
    qmpi_config_free(&config);
    qmpi_config_parse(text, strlen(text), "/site", &config);
}

/* Parses a text that must have no problem. */
static void parse_good(const char *text)
{
    parse(text);
    assert_int_equal(config.problem_count, 0);
    for (int i = 0; i < config.tools.count; i++)
        assert_null(config.tools.entries[i].problem);
}

static const struct qmpi_tool_entry *tool(int index)
{
    assert_in_range(index, 0, config.tools.count - 1);
    return &config.tools.entries[index];
}

static const char *setting(const char *key)
{
    for (int i = 0; i < QMPI_CONFIG_SETTINGS; i++) {
        if (!strcmp(qmpi_config_names[i].key, key))
            return config.settings[i];
    }
    fail_msg("no setting %s", key);
    return NULL;
}

static void assert_option(const struct qmpi_tool_entry *entry, int index, const char *key,
                          const char *value)
{
    assert_in_range(index, 0, entry->option_count - 1);
    assert_string_equal(entry->options[index].key, key);
    assert_string_equal(entry->options[index].value, value);
}

/* Asserts that the text has one problem, in a line that belongs to no tool. */
static void assert_line_problem(const char *text, int line, const char *part)
{
    parse(text);
    assert_int_equal(config.problem_count, 1);
    assert_int_equal(config.problems[0].line, line);
    assert_non_null(strstr(config.problems[0].problem, part));
    assert_non_null(strstr(config.problems[0].problem, "\nhint: "));
}

/* Asserts that the last tool of the text has this problem. */
static void assert_tool_problem(const char *text, int line, const char *part)
{
    parse(text);
    assert_int_equal(config.problem_count, 0);
    const struct qmpi_tool_entry *entry = tool(config.tools.count - 1);
    assert_non_null(entry->problem);
    assert_null(entry->name);
    assert_int_equal(entry->line, line);
    assert_non_null(strstr(entry->problem, part));
    assert_non_null(strstr(entry->problem, "\nhint: "));
}

/* ---- Tools ----------------------------------------------------------------------------------- */

static void a_text_without_entries_is_an_empty_configuration(void **state)
{
    (void)state;
    parse_good("");
    assert_int_equal(config.tools.count, 0);
    parse_good("\n\n  \n\t\n# nothing\n   # nothing either");
    assert_int_equal(config.tools.count, 0);
}

static void each_line_is_a_tool_in_stack_order(void **state)
{
    (void)state;
    parse_good("a\nb\n\n# between\na\n");
    assert_int_equal(config.tools.count, 3);
    assert_string_equal(tool(0)->name, "a");
    assert_string_equal(tool(1)->name, "b");
    assert_string_equal(tool(2)->name, "a");
    assert_int_equal(tool(2)->line, 5);
    assert_int_equal(tool(2)->position, 3);
}

static void the_last_line_needs_no_end(void **state)
{
    (void)state;
    parse_good("a\nb");
    assert_string_equal(tool(1)->name, "b");
}

static void carriage_returns_and_a_byte_order_mark_are_ignored(void **state)
{
    (void)state;
    parse_good("\xef\xbb\xbf"
               "a\r\n  k = v\r\non-error = skip\r\n");
    assert_string_equal(tool(0)->name, "a");
    assert_option(tool(0), 0, "k", "v");
    assert_string_equal(setting("on-error"), "skip");
}

static void a_path_is_relative_to_the_files_folder(void **state)
{
    (void)state;
    parse_good("./a.so\ntools/b.so\n/c/d.so\n../e.so\nlibf.so\n");
    assert_string_equal(tool(0)->name, "/site/a.so");
    assert_string_equal(tool(1)->name, "/site/tools/b.so");
    assert_string_equal(tool(2)->name, "/c/d.so");
    assert_string_equal(tool(3)->name, "/site/../e.so");
    assert_string_equal(tool(4)->name, "libf.so");
}

static void a_path_may_hold_an_equals_sign(void **state)
{
    (void)state;
    parse_good("/x=y/a.so\n");
    assert_string_equal(tool(0)->name, "/x=y/a.so");
}

static void a_quoted_name_may_contain_any_character(void **state)
{
    (void)state;
    parse_good("\"/a b,c:d=e#f \\\"g\\\" \\\\/h.so\"  # comment\n");
    assert_string_equal(tool(0)->name, "/a b,c:d=e#f \"g\" \\/h.so");
}

static void a_stack_on_one_line_is_wrong(void **state)
{
    (void)state;
    assert_tool_problem("a:b", 1, "unexpected text after the name of the tool");
    assert_tool_problem("\n/a.so,b", 2, "unexpected text after the name of the tool");
    assert_tool_problem("a b", 1, "unexpected text after the name of the tool");
    assert_tool_problem("a \"b\"", 1, "unexpected text after the name of the tool");
    assert_tool_problem("\"\"", 1, "has no name");
}

/* ---- Options --------------------------------------------------------------------------------- */

static void options_stand_indented_below_their_tool(void **state)
{
    (void)state;
    parse_good("a\n  x = 1\n\ty=2\n # comment\n\n   z  =  3 4  \nb\nc\n x=5");
    assert_int_equal(tool(0)->option_count, 3);
    assert_option(tool(0), 0, "x", "1");
    assert_option(tool(0), 1, "y", "2");
    assert_option(tool(0), 2, "z", "3 4");
    assert_int_equal(tool(1)->option_count, 0);
    assert_option(tool(2), 0, "x", "5");
}

/* Options that begin with @ are those of qmpi, not of the tool. */
static void options_of_qmpi_stand_below_a_tool_too(void **state)
{
    (void)state;
    parse_good("a\n @preload = no\n x = 1\nb\n \"@preload\" = \"yes\"\nc");
    assert_int_equal(tool(0)->option_count, 1);
    assert_string_equal(tool(0)->reserved[QMPI_RESERVED_PRELOAD], "no");
    assert_string_equal(tool(1)->reserved[QMPI_RESERVED_PRELOAD], "yes");
    assert_null(tool(2)->reserved[QMPI_RESERVED_PRELOAD]);
}

static void a_value_begins_behind_the_first_equals_sign(void **state)
{
    (void)state;
    parse_good("a\n  x = b=c:d,e\n  y =\n  z = a#b\n  w = c # comment\n  v = # comment");
    assert_option(tool(0), 0, "x", "b=c:d,e");
    assert_option(tool(0), 1, "y", "");
    assert_option(tool(0), 2, "z", "a#b");
    assert_option(tool(0), 3, "w", "c");
    assert_option(tool(0), 4, "v", "");
}

static void quotes_keep_blanks_and_comments(void **state)
{
    (void)state;
    parse_good("a\n  x = \" # \"  # comment\n  y = \"\"\n  \"k=l\" = \"\\\\ \\\"\"\n  z = a\"b\"");
    assert_option(tool(0), 0, "x", " # ");
    assert_option(tool(0), 1, "y", "");
    assert_option(tool(0), 2, "k=l", "\\ \"");
    assert_option(tool(0), 3, "z", "a\"b\"");
}

static void a_wrong_option_is_a_problem_of_its_tool(void **state)
{
    (void)state;
    assert_tool_problem("a\n  k\n", 2, "key = value");
    assert_tool_problem("a\n  = v\n", 2, "key = value");
    assert_tool_problem("a\n  k # = v\n", 2, "key = value");
    assert_tool_problem("a\n  k = 1\n  k = 2\n", 3, "'k' is given twice");
    assert_tool_problem("a\n  k = \"v\n", 2, "closing quote is missing");
    assert_tool_problem("a\n  k = \"v\\\n", 2, "invalid escape");
    assert_tool_problem("a\n  k = \"\\n\"\n", 2, "invalid escape");
    assert_tool_problem("a\n  k = \"v\" w\n", 2, "after the closing quote");
    assert_tool_problem("a\n  k = \"v\"#w\n", 2, "after the closing quote");
    assert_string_equal(tool(0)->text, "k = \"v\"#w");
}

static void the_first_wrong_line_of_a_tool_is_reported(void **state)
{
    (void)state;
    assert_tool_problem("a\n  k\n  = v\n  l = w\n", 2, "key = value");
    assert_string_equal(tool(0)->text, "k");
}

static void a_wrong_tool_leaves_the_others_alone(void **state)
{
    (void)state;
    parse("a\n  k\nb\n  k = v\n");
    assert_non_null(tool(0)->problem);
    assert_null(tool(1)->problem);
    assert_option(tool(1), 0, "k", "v");
}

static void an_option_without_a_tool_is_wrong(void **state)
{
    (void)state;
    assert_line_problem("  k = v\n", 1, "no tool precedes");
    assert_line_problem("a\ndebug = all\n  k = v\n", 3, "no tool precedes");
    assert_string_equal(config.problems[0].text, "k = v");
}

/* ---- Settings -------------------------------------------------------------------------------- */

static void settings_stand_at_the_margin(void **state)
{
    (void)state;
    parse_good("tool-path = /a:b:./c\non-error=skip\ndebug = load,find # why\ninternal = 1\n");
    assert_string_equal(setting("tool-path"), "/a:/site/b:/site/c");
    assert_string_equal(setting("on-error"), "skip");
    assert_string_equal(setting("debug"), "load,find");
    assert_string_equal(setting("internal"), "1");
}

static void settings_may_stand_between_tools(void **state)
{
    (void)state;
    parse_good("a\non-error = stop\nb\n  k = v\n");
    assert_int_equal(config.tools.count, 2);
    assert_option(tool(1), 0, "k", "v");
    assert_null(setting("debug"));
}

static void every_setting_has_a_variable(void **state)
{
    (void)state;
    for (int i = 0; i < QMPI_CONFIG_SETTINGS; i++)
        assert_int_equal(strncmp(qmpi_config_names[i].variable, "QMPI_", 5), 0);
}

static void a_wrong_setting_is_a_problem_of_its_line(void **state)
{
    (void)state;
    assert_line_problem("colour = red\n", 1, "tool-path, on-error, debug, internal, clock");
    assert_line_problem("count output = x\n", 1, "unknown setting 'count output'");
    assert_line_problem("on-error = maybe\n", 1, "invalid value for 'on-error': 'maybe'");
    assert_line_problem("internal = maybe\n", 1, "yes or no");
    assert_line_problem("debug = load,,nonsense\n", 1, "unknown topic 'nonsense'");
    parse_good("debug = load, find\n");
    assert_line_problem("debug = load\n\ndebug = find\n", 3, "first in line 1");
    assert_line_problem("= v\n", 1, "key = value");
    assert_line_problem("debug = \"x\n", 1, "closing quote is missing");
}

static void an_option_at_the_margin_is_a_problem_of_its_line(void **state)
{
    (void)state;
    static const char *const lines[] = {"@required", "@required = yes"};
    for (int i = 0; i < 2; i++) {
        char text[64];
        snprintf(text, sizeof text, "a\n%s\n  k = v\n", lines[i]);
        assert_line_problem(text, 2, "hint: indent it");
        assert_int_equal(config.tools.count, 1);
        assert_null(tool(0)->problem);
        assert_option(tool(0), 0, "k", "v");
    }
    parse_good("\"@tool\"\n");
    assert_string_equal(tool(0)->name, "@tool");
}

/* ---- Sections and invalid texts -------------------------------------------------------------- */

static void sections_hold_tools_and_their_on_error(void **state)
{
    (void)state;
    parse_good(
        "a\n[above] # comment\non-error = stop\nb\n[stack  io ]\nc\n  k = v\n[ below ]\ndelta\n"
        "[above]\ne\n[stack none]\n");
    static const int sections[] = {QMPI_SECTION_MIDDLE, QMPI_SECTION_TOP, QMPI_SECTION_STACKS,
                                   QMPI_SECTION_BOTTOM, QMPI_SECTION_TOP};
    for (int i = 0; i < 5; i++)
        assert_int_equal(tool(i)->section, sections[i]);
    assert_int_equal(config.section_count, QMPI_SECTION_STACKS + 2);
    assert_string_equal(config.sections[QMPI_SECTION_STACKS].name, "io");
    assert_int_equal(config.sections[QMPI_SECTION_STACKS].line, 5);
    assert_string_equal(config.sections[QMPI_SECTION_STACKS + 1].name, "none");
    assert_string_equal(config.sections[QMPI_SECTION_TOP].on_error, "stop");
    assert_null(config.settings[QMPI_SETTING_ON_ERROR]);
    assert_option(tool(2), 0, "k", "v");
}

static void the_content_of_a_wrong_section_is_ignored(void **state)
{
    (void)state;
    assert_line_problem("a\n[abvoe]\nb\n  k = v\ndebug = all\n  \"\n[below]\nc\n", 2,
                        "unknown section 'abvoe'");
    assert_int_equal(config.tools.count, 2);
    assert_int_equal(tool(1)->section, QMPI_SECTION_BOTTOM);
    assert_string_equal(config.problems[0].without, "this section");
}

static void a_text_with_a_null_byte_is_refused(void **state)
{
    (void)state;
    static const char bytes[] = "a\n\0b\n";
    qmpi_config_parse(bytes, sizeof bytes - 1, "/site", &config);
    assert_int_equal(config.tools.count, 0);
    assert_int_equal(config.problem_count, 1);
    assert_int_equal(config.problems[0].line, 0);
    assert_non_null(strstr(config.problems[0].problem, "not a text file"));
}

static void thousands_of_wrong_lines_are_not_all_reported(void **state)
{
    (void)state;
    static char text[4 * 10000 + 1];
    for (int i = 0; i < 10000; i++)
        memcpy(text + 4 * i, "a=b\n", 4);
    parse(text);
    assert_int_equal(config.problem_count, 20);
}

static void ten_thousand_tools_and_options_are_all_read(void **state)
{
    (void)state;
    static char text[10 * 10000 + 1];
    for (int i = 0; i < 10000; i++)
        memcpy(text + 10 * i, "tool\n k=v\n", 10);
    parse_good(text);
    assert_int_equal(config.tools.count, 10000);
    assert_option(tool(9999), 0, "k", "v");
    assert_int_equal(tool(9999)->line, 19999);
}

static void freeing_leaves_an_empty_configuration(void **state)
{
    (void)state;
    parse("a\n k\ndebug = x\ny = z\n");
    qmpi_config_free(&config);
    assert_int_equal(config.tools.count, 0);
    assert_int_equal(config.problem_count, 0);
    qmpi_config_free(&config);
}

int main(void)
{
#define TEST(function) cmocka_unit_test_teardown(function, release)
    const struct CMUnitTest tests[] = {
        TEST(a_text_without_entries_is_an_empty_configuration),
        TEST(each_line_is_a_tool_in_stack_order),
        TEST(the_last_line_needs_no_end),
        TEST(carriage_returns_and_a_byte_order_mark_are_ignored),
        TEST(a_path_is_relative_to_the_files_folder),
        TEST(a_path_may_hold_an_equals_sign),
        TEST(a_quoted_name_may_contain_any_character),
        TEST(a_stack_on_one_line_is_wrong),
        TEST(options_stand_indented_below_their_tool),
        TEST(options_of_qmpi_stand_below_a_tool_too),
        TEST(a_value_begins_behind_the_first_equals_sign),
        TEST(quotes_keep_blanks_and_comments),
        TEST(a_wrong_option_is_a_problem_of_its_tool),
        TEST(the_first_wrong_line_of_a_tool_is_reported),
        TEST(a_wrong_tool_leaves_the_others_alone),
        TEST(an_option_without_a_tool_is_wrong),
        TEST(settings_stand_at_the_margin),
        TEST(settings_may_stand_between_tools),
        TEST(every_setting_has_a_variable),
        TEST(a_wrong_setting_is_a_problem_of_its_line),
        TEST(an_option_at_the_margin_is_a_problem_of_its_line),
        TEST(sections_hold_tools_and_their_on_error),
        TEST(the_content_of_a_wrong_section_is_ignored),
        TEST(a_text_with_a_null_byte_is_refused),
        TEST(thousands_of_wrong_lines_are_not_all_reported),
        TEST(ten_thousand_tools_and_options_are_all_read),
        TEST(freeing_leaves_an_empty_configuration),
    };
    return cmocka_run_group_tests_name("config", tests, NULL, NULL);
}
