/* SPDX-License-Identifier: MIT */
/* Tests suggestions for misspelt words. */
#include "unit.h"

#include "util/text.h"

static const char *const words[] = {"count", "profile", "log", "on-error", "rr", NULL};

static void a_misspelt_word_is_found(void **state)
{
    static const char *const wrong[][2] = {
        {"cuont", "count"},    {"coun", "count"},        {"counts", "count"},
        {"COUNT", "count"},    {"porfile", "profile"},   {"profiler", "profile"},
        {"lgo", "log"},        {"on_error", "on-error"}, {"onerror", "on-error"},
        {"profle", "profile"}, {"on-eror", "on-error"},  {"r", NULL}, /* too short for an error */
    };
    (void)state;
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        const char *found = qmpi_text_suggest_word(wrong[i][0], words);
        if (wrong[i][1])
            assert_string_equal(found, wrong[i][1]);
        else
            assert_null(found);
    }
}

static void words_that_are_not_similar_are_not_found(void **state)
{
    static const char *const others[] = {
        "",        "x",       "top",
        "darshan", "library", "a-name-that-is-much-longer-than-any-tool-has-and-still-goes-on"};
    (void)state;
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        assert_null(qmpi_text_suggest_word(others[i], words));
}

static void the_nearest_word_is_taken(void **state)
{
    static const char *const similar[] = {"alpha1", "alpha2", "alpha", NULL};
    (void)state;
    assert_string_equal(qmpi_text_suggest_word("alpah2", similar), "alpha2");
    assert_string_equal(qmpi_text_suggest_word("alhpa", similar), "alpha");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_misspelt_word_is_found),
        cmocka_unit_test(words_that_are_not_similar_are_not_found),
        cmocka_unit_test(the_nearest_word_is_taken),
    };
    return cmocka_run_group_tests_name("suggest", tests, NULL, NULL);
}
