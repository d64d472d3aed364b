/* SPDX-License-Identifier: MIT */
/* Tests the grammar of QMPI_TOOLS. */
#include "unit.h"

#include "config/tool_list.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct qmpi_tool_list list;

static int release(void **state)
{
    (void)state;
    qmpi_tool_list_free(&list);
    return 0;
}

static void parse(const char *text)
{
    qmpi_tool_list_free(&list);
    qmpi_tool_list_parse(text, &list);
}

/* Returns the only entry of a text, which must have no problem. */
static const struct qmpi_tool_entry *parse_one(const char *text)
{
    parse(text);
    assert_int_equal(list.count, 1);
    assert_null(list.entries[0].problem);
    return &list.entries[0];
}

/* Returns the problem of the only entry of a text. */
static const char *problem_of(const char *text)
{
    parse(text);
    assert_int_equal(list.count, 1);
    assert_non_null(list.entries[0].problem);
    return list.entries[0].problem;
}

static void assert_names(const char *text, const char *const *names, int count)
{
    parse(text);
    assert_int_equal(list.count, count);
    for (int i = 0; i < count; i++) {
        assert_null(list.entries[i].problem);
        assert_string_equal(list.entries[i].name, names[i]);
        assert_int_equal(list.entries[i].position, i + 1);
    }
}

static void assert_option(const struct qmpi_tool_entry *entry, int index, const char *key,
                          const char *value)
{
    assert_in_range(index, 0, entry->option_count - 1);
    assert_string_equal(entry->options[index].key, key);
    assert_string_equal(entry->options[index].value, value);
}

#define assert_says(problem, part) assert_non_null(strstr((problem), (part)))

/* ---- entries --------------------------------------------------------------------------------- */

static void an_unset_or_empty_text_is_an_empty_list(void **state)
{
    (void)state;
    parse(NULL);
    assert_int_equal(list.count, 0);
    parse("");
    assert_int_equal(list.count, 0);
}

static void entries_keep_their_order(void **state)
{
    (void)state;
    assert_names("a:b:a", (const char *[]){"a", "b", "a"}, 3);
}

static void empty_entries_are_skipped_and_not_counted(void **state)
{
    (void)state;
    parse(":");
    assert_int_equal(list.count, 0);
    parse("::::");
    assert_int_equal(list.count, 0);
    assert_names("::a:::b::", (const char *[]){"a", "b"}, 2);
}

static void a_path_is_taken_as_it_is(void **state)
{
    (void)state;
    assert_names("./a.so:/b c/libd.so.1", (const char *[]){"./a.so", "/b c/libd.so.1"}, 2);
}

static void spaces_and_other_bytes_are_ordinary(void **state)
{
    (void)state;
    assert_names(" a :\xc3\xa4\t;|'\"", (const char *[]){" a ", "\xc3\xa4\t;|'\""}, 2);
}

static void the_text_of_an_entry_is_kept_as_written(void **state)
{
    (void)state;
    assert_string_equal(parse_one("::a\\:b,k=\\,v:")->text, "a\\:b,k=\\,v");
    problem_of(":a,b");
    assert_string_equal(list.entries[0].text, "a,b");
}

/* ---- escapes --------------------------------------------------------------------------------- */

static void every_special_character_can_be_escaped_in_a_name(void **state)
{
    (void)state;
    assert_string_equal(parse_one("a\\:b")->name, "a:b");
    assert_string_equal(parse_one("a\\,b")->name, "a,b");
    assert_string_equal(parse_one("a\\=b")->name, "a=b");
    assert_string_equal(parse_one("a\\\\b")->name, "a\\b");
    assert_string_equal(parse_one("\\:\\,\\=\\\\")->name, ":,=\\");
}

static void an_escaped_backslash_does_not_escape_the_next_character(void **state)
{
    (void)state;
    assert_names("a\\\\:b", (const char *[]){"a\\", "b"}, 2);
    const struct qmpi_tool_entry *entry = parse_one("a\\\\,k=v");
    assert_string_equal(entry->name, "a\\");
    assert_option(entry, 0, "k", "v");
}

static void escapes_work_in_keys_and_values(void **state)
{
    (void)state;
    const struct qmpi_tool_entry *entry = parse_one("t,a\\=b=c\\,d,e\\:f=g\\:h\\\\");
    assert_int_equal(entry->option_count, 2);
    assert_option(entry, 0, "a=b", "c,d");
    assert_option(entry, 1, "e:f", "g:h\\");
}

static void a_backslash_at_the_end_is_wrong(void **state)
{
    (void)state;
    assert_says(problem_of("a\\"), "backslash");
    assert_says(problem_of("\\"), "backslash");
    assert_says(problem_of("a,k=v\\"), "hint:");
    assert_null(list.entries[0].name);
}

static void a_backslash_before_another_character_is_wrong(void **state)
{
    (void)state;
    assert_says(problem_of("a\\n"), "'\\n' is not an escape");
    assert_says(problem_of("a,k=\\ "), "hint:");
}

static void a_colon_after_a_backslash_does_not_end_the_entry(void **state)
{
    (void)state;
    assert_string_equal(parse_one("a\\:b\\:c")->name, "a:b:c");
}

/* ---- options --------------------------------------------------------------------------------- */

static void options_belong_to_their_entry(void **state)
{
    (void)state;
    parse("a,x=1,y=2:b:c,x=3");
    assert_int_equal(list.count, 3);
    assert_int_equal(list.entries[0].option_count, 2);
    assert_option(&list.entries[0], 0, "x", "1");
    assert_option(&list.entries[0], 1, "y", "2");
    assert_int_equal(list.entries[1].option_count, 0);
    assert_option(&list.entries[2], 0, "x", "3");
}

static void a_value_may_be_empty(void **state)
{
    (void)state;
    assert_option(parse_one("a,k="), 0, "k", "");
}

static void a_value_may_contain_equals_signs(void **state)
{
    (void)state;
    assert_option(parse_one("a,k=b=c=="), 0, "k", "b=c==");
}

static void an_option_without_equals_is_wrong(void **state)
{
    (void)state;
    const char *problem = problem_of("a,k");
    assert_says(problem, "'k'");
    assert_says(problem, "key=value");
    assert_says(problem, "hint:");
    problem_of("a,k\\=v");
}

static void the_hint_for_an_option_of_qmpi_without_equals_is_valid(void **state)
{
    (void)state;
    assert_says(problem_of("a,@"), "unknown option '@'\nhint: use one of qmpi's own options");
    assert_says(problem_of("a,@rank"), "did you mean '@ranks'");
    assert_says(problem_of("a,@ranks"), "hint: write @ranks=VALUE, and give");
    assert_says(problem_of("a,@force"), "hint: write @force=yes ");
}

static void an_option_without_a_key_is_wrong(void **state)
{
    (void)state;
    assert_says(problem_of("a,=v"), "'=v'");
}

static void an_empty_option_is_wrong(void **state)
{
    (void)state;
    problem_of("a,,k=v");
}

static void a_comma_at_the_end_is_wrong(void **state)
{
    (void)state;
    problem_of("a,");
    problem_of("a,k=v,");
}

static void an_option_given_twice_is_wrong(void **state)
{
    (void)state;
    assert_says(problem_of("a,k=1,l=2,k=3"), "'k' is given twice");
    assert_says(problem_of("a,k=1,k=1"), "twice");
    assert_says(problem_of("a,k\\==1,k\\==2"), "'k=' is given twice");
}

/* Options that begin with @ are those of qmpi, not of the tool. */
static void options_of_qmpi_stand_beside_those_of_the_tool(void **state)
{
    (void)state;
    const struct qmpi_tool_entry *entry = parse_one("a,x=1,@preload=no,y=2");
    assert_int_equal(entry->option_count, 2);
    assert_option(entry, 0, "x", "1");
    assert_option(entry, 1, "y", "2");
    assert_string_equal(entry->reserved[QMPI_RESERVED_PRELOAD], "no");
    assert_string_equal(parse_one("a,@preload=yes")->reserved[QMPI_RESERVED_PRELOAD], "yes");
    assert_null(parse_one("@preload,preload=no")
                    ->reserved[QMPI_RESERVED_PRELOAD]); /* A name may begin with @. */
}

static void messages_about_wrong_options_of_qmpi_name_the_mistake(void **state)
{
    (void)state;
    assert_non_null(strstr(problem_of("a,@nonesuch=1"), "'@nonesuch'\nhint: "));
    assert_non_null(strstr(problem_of("a,@nonesuch=1"), "@preload"));
    assert_non_null(strstr(problem_of("a,@=1"), "'@'"));
    assert_non_null(strstr(problem_of("a,@preload=never"), "'never'\nhint: give yes or no"));
    assert_non_null(strstr(problem_of("a,@preload=no,@preload=yes"), "'@preload' is given twice"));
}

static void conditions_may_be_given_several_times(void **state)
{
    (void)state;
    const struct qmpi_tool_entry *entry = parse_one("a,@ranks=0-3;7,@if-env=HOME,@ranks=every 2");
    assert_string_equal(entry->reserved[QMPI_RESERVED_RANKS], "0-3;7\nevery 2");
    assert_string_equal(entry->reserved[QMPI_RESERVED_IF_ENV], "HOME");
    /* @optional is no condition. */
    assert_non_null(strstr(problem_of("a,@optional=no,@optional=no"), "is given twice"));
}

static void messages_about_wrong_conditions_have_hints(void **state)
{
    static const char *const wrong[][2] = {
        {"a,@ranks=x", "'x'\nhint: give numbers"},
        {"a,@ranks=1,@ranks=", "''\nhint: give numbers"},
        {"a,@nodes=", "''\nhint: give names of nodes"},
        {"a,@nodes=a\nb", "'a\\nb'\nhint: give names of nodes"},
        {"a,@program= ;", "' ;'\nhint: give names of programs"},
        {"a,@if-env=1X", "'1X'\nhint: give the name"},
        {"a,@if-env=A=B", "'A=B'\nhint: give the name"},
        {"a,@enabled=On", "'On'\nhint: give yes or no"},
        {"a,@functions=;", "';'\nhint: give functions"},
        {"a,@optional=On", "'On'\nhint: give yes or no"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
        assert_says(problem_of(wrong[i][0]), wrong[i][1]);
}

static void many_options_are_kept(void **state)
{
    (void)state;
    enum { MANY = 100 };
    char text[32 * MANY] = "a";
    for (int i = 0; i < MANY; i++)
        snprintf(text + strlen(text), 32, ",k%d=v%d", i, i);
    const struct qmpi_tool_entry *entry = parse_one(text);
    assert_int_equal(entry->option_count, MANY);
    assert_option(entry, 0, "k0", "v0");
    assert_option(entry, MANY - 1, "k99", "v99");
}

static void options_without_a_name_are_wrong(void **state)
{
    (void)state;
    assert_says(problem_of(",k=v"), "no name");
}

static void a_wrong_entry_leaves_the_others_alone(void **state)
{
    (void)state;
    parse("a,x=1:b,wrong:c");
    assert_int_equal(list.count, 3);
    assert_null(list.entries[0].problem);
    assert_non_null(list.entries[1].problem);
    assert_int_equal(list.entries[1].position, 2);
    assert_null(list.entries[2].problem);
    assert_string_equal(list.entries[2].name, "c");
}

/* ---- size ------------------------------------------------------------------------------------ */

static char *repeated(const char *part, size_t count, const char *end)
{
    const size_t length = strlen(part);
    char *text = malloc(length * count + strlen(end) + 1);
    assert_non_null(text);
    for (size_t i = 0; i < count; i++)
        memcpy(text + i * length, part, length);
    strcpy(text + length * count, end);
    return text;
}

static void ten_thousand_entries_are_all_read(void **state)
{
    (void)state;
    char *text = repeated("tool,k=v:", 10000, "");
    parse(text);
    free(text);
    assert_int_equal(list.count, 10000);
    for (int i = 0; i < list.count; i++) {
        assert_null(list.entries[i].problem);
        assert_int_equal(list.entries[i].position, i + 1);
        assert_string_equal(list.entries[i].name, "tool");
        assert_option(&list.entries[i], 0, "k", "v");
    }
}

static void a_very_long_name_is_kept_whole(void **state)
{
    (void)state;
    char *text = repeated("n", 100000, "");
    assert_int_equal(strlen(parse_one(text)->name), 100000);
    free(text);
}

static void the_problem_of_a_very_long_option_is_short(void **state)
{
    (void)state;
    char *text = repeated("n", 100000, "");
    text[1] = ',';
    const char *problem = problem_of(text);
    assert_true(strlen(problem) < 1000);
    assert_says(problem, "(99998 bytes)");
    free(text);
}

static void freeing_leaves_an_empty_list(void **state)
{
    (void)state;
    parse("a,k=v:b,wrong");
    qmpi_tool_list_free(&list);
    assert_int_equal(list.count, 0);
    assert_null(list.entries);
    qmpi_tool_list_free(&list);
}

int main(void)
{
#define TEST(function) cmocka_unit_test_teardown(function, release)
    const struct CMUnitTest tests[] = {
        TEST(an_unset_or_empty_text_is_an_empty_list),
        TEST(entries_keep_their_order),
        TEST(empty_entries_are_skipped_and_not_counted),
        TEST(a_path_is_taken_as_it_is),
        TEST(spaces_and_other_bytes_are_ordinary),
        TEST(the_text_of_an_entry_is_kept_as_written),
        TEST(every_special_character_can_be_escaped_in_a_name),
        TEST(an_escaped_backslash_does_not_escape_the_next_character),
        TEST(escapes_work_in_keys_and_values),
        TEST(a_backslash_at_the_end_is_wrong),
        TEST(a_backslash_before_another_character_is_wrong),
        TEST(a_colon_after_a_backslash_does_not_end_the_entry),
        TEST(options_belong_to_their_entry),
        TEST(a_value_may_be_empty),
        TEST(a_value_may_contain_equals_signs),
        TEST(an_option_without_equals_is_wrong),
        TEST(the_hint_for_an_option_of_qmpi_without_equals_is_valid),
        TEST(an_option_without_a_key_is_wrong),
        TEST(an_empty_option_is_wrong),
        TEST(a_comma_at_the_end_is_wrong),
        TEST(an_option_given_twice_is_wrong),
        TEST(options_of_qmpi_stand_beside_those_of_the_tool),
        TEST(messages_about_wrong_options_of_qmpi_name_the_mistake),
        TEST(conditions_may_be_given_several_times),
        TEST(messages_about_wrong_conditions_have_hints),
        TEST(many_options_are_kept),
        TEST(options_without_a_name_are_wrong),
        TEST(a_wrong_entry_leaves_the_others_alone),
        TEST(ten_thousand_entries_are_all_read),
        TEST(a_very_long_name_is_kept_whole),
        TEST(the_problem_of_a_very_long_option_is_short),
        TEST(freeing_leaves_an_empty_list),
    };
    return cmocka_run_group_tests_name("tool_list", tests, NULL, NULL);
}
