/* SPDX-License-Identifier: MIT */
/* Tests the search for libraries in lists of directories, such as LD_LIBRARY_PATH. test_ld_cache.c
 * tests the search in the dynamic loader's cache. */
#include "elf/search.c" /* for find_in_list, which is static */

#include "unit.h"

#include <stdlib.h>

static void assert_listed(const char *list, const char *separators, const char *expected)
{
    char *path = find_in_list(list, separators, "exe");
    if (expected)
        assert_string_equal(path, expected);
    else
        assert_null(path);
    free(path);
}

static void go_to_a_directory_with_the_file(void)
{
    assert_int_equal(chdir("/proc/self"), 0);
}

static void the_first_directory_that_contains_the_file_is_used(void **state)
{
    (void)state;
    assert_listed("/nonesuch:/proc/self:/nonesuch", ":", "/proc/self/exe");
    assert_listed("/proc/self//", ":", "/proc/self/exe");
    assert_listed("/nonesuch:/nonesuch", ":", NULL);
}

static void only_ld_library_path_may_have_semicolons(void **state)
{
    (void)state;
    assert_listed("/nonesuch;/proc/self", ":;", "/proc/self/exe");
    assert_listed("/nonesuch;/proc/self", ":", NULL);
}

static void an_empty_element_is_the_current_directory(void **state)
{
    (void)state;
    go_to_a_directory_with_the_file();
    assert_listed(":/nonesuch", ":", "./exe");
    assert_listed("/nonesuch::/nonesuch", ":", "./exe");
    assert_listed("/nonesuch:", ":", "./exe");
}

static void an_empty_list_has_no_element(void **state)
{
    (void)state;
    go_to_a_directory_with_the_file();
    assert_listed("", ":", NULL);
    assert_listed(NULL, ":", NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_first_directory_that_contains_the_file_is_used),
        cmocka_unit_test(only_ld_library_path_may_have_semicolons),
        cmocka_unit_test(an_empty_element_is_the_current_directory),
        cmocka_unit_test(an_empty_list_has_no_element),
    };
    return cmocka_run_group_tests_name("search", tests, NULL, NULL);
}
