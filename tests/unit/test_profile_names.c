/* SPDX-License-Identifier: MIT */
/* Tests that long names of functions are shortened where a reader loses least. */
#include "unit.h"

#include "tools/profile/result/names.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

static void assert_short(const char *name, size_t most, const char *wanted)
{
    char *text = names_shorten(name, most);
    assert_non_null(text);
    assert_string_equal(text, wanted);
    assert_true(strlen(text) <= most);
    free(text);
}

static void a_name_with_room_stays_whole(void **state)
{
    (void)state;
    const char *name = "grid::halo<double, 3>::exchange(std::vector<double> const&)";
    assert_short(name, SIZE_MAX, name);
    assert_short(name, strlen(name), name);
    assert_short("", 0, "");
}

static void arguments_of_templates_are_left_out_first(void **state)
{
    (void)state;
    assert_short("grid::halo<std::map<int, std::vector<double> > >::exchange(std::vector<double> "
                 "const&, A<1>)",
                 70, "grid::halo<...>::exchange(std::vector<...> const&, A<1>)");
    assert_short("<heat::Solver as heat::Step>::run", 12, "<...>::run");
    assert_short("f<decltype(g()->size())>::h()", 20, "f<...>::h()");
}

static void operators_are_no_templates(void **state)
{
    (void)state;
    assert_short("bool operator< <std::string>(A<std::string>)", 40,
                 "bool operator< <...>(A<...>)");
    assert_short("A<std::string>::operator->() const", 30, "A<...>::operator->() const");
    assert_short("std::ostream& operator<<(std::ostream&, B<std::string, int> const&)", 60,
                 "std::ostream& operator<<(std::ostream&, B<...> const&)");
    assert_short("C<&D::operator> >::run(std::string)", 24, "C<...>::run(std::string)");
    assert_short("my_operator<std::string>()", 20, "my_operator<...>()");
}

/* If a name is still too long without the arguments of templates, its end is left out. */
static void the_end_of_a_name_is_left_out_next(void **state)
{
    (void)state;
    assert_short("a_very_long_name_of_a_function", 12, "a_very_lo...");
    assert_short("A<std::string>::a_very_long_name()", 16, "A<...>::a_ver...");
    assert_short("f<std::string, unclosed", 12, "f<std::st...");
    assert_short("function", 2, "fu");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_name_with_room_stays_whole),
        cmocka_unit_test(arguments_of_templates_are_left_out_first),
        cmocka_unit_test(operators_are_no_templates),
        cmocka_unit_test(the_end_of_a_name_is_left_out_next),
    };
    return cmocka_run_group_tests_name("profile_names", tests, NULL, NULL);
}
