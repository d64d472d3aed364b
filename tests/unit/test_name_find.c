/* SPDX-License-Identifier: MIT */
/* Tests how the number of a function is found by its name in the generated table. */
#include "unit.h"

#include "functions/functions.h"

#include <string.h>

static void every_name_has_its_own_number(void **state)
{
    (void)state;
    assert_true(qmpi_name_count >= 634);
    for (int number = 0; number < qmpi_name_count; number++)
        assert_int_equal(qmpi_function_find(qmpi_names[number].name), number);
}

static void the_hash_table_has_every_number_once_and_no_long_runs(void **state)
{
    (void)state;
    int entries = 0, run = 0, longest = 0;
    for (int place = 0; place < QMPI_NAMES_HASHED; place++) {
        entries += qmpi_names_hashed[place] != 0;
        run = qmpi_names_hashed[place] ? run + 1 : 0;
        longest = run > longest ? run : longest;
    }
    assert_int_equal(entries, qmpi_name_count);
    assert_in_range(longest, 1, 12);
}

/* Returns the hash of a name as in a DT_GNU_HASH table. */
static uint32_t gnu_hash(const char *name)
{
    uint32_t hash = 5381;
    for (; *name; name++)
        hash = hash * 33 + (unsigned char)*name;
    return hash;
}

static void every_pmpi_name_has_its_hash(void **state)
{
    (void)state;
    for (int number = 0; number < qmpi_name_count; number++) {
        const char *name = qmpi_names[number].name;
        assert_int_equal(name[-1], 'P');
        assert_int_equal(qmpi_names[number].pmpi_hash, gnu_hash(name - 1));
    }
}

/* The search for objects that name MPI functions relies on this. */
static void every_name_begins_with_mpi(void **state)
{
    (void)state;
    for (int number = 0; number < qmpi_name_count; number++)
        assert_memory_equal(qmpi_names[number].name, "MPI", 3);
}

static void names_that_are_no_functions_are_not_found(void **state)
{
    (void)state;
    static const char *const others[] = {
        "",          "MPI",       "MPI_",      "MPI_Sen", "MPI_Sendx", "MPI_SEND",  "mpi_send",
        "PMPI_Send", "MPI_Send ", " MPI_Send", "AAAA",    "zzzz",      "MPI_SEND_T"};
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        assert_int_equal(qmpi_function_find(others[i]), -1);
}

static void functions_of_this_mpi_exist(void **state)
{
    (void)state;
    static const char *const some[] = {"MPI_Init", "MPI_Send", "MPI_T_init_thread", "MPI_File_open",
                                       "MPI_Pcontrol"};
    for (size_t i = 0; i < sizeof some / sizeof *some; i++) {
        const int number = qmpi_function_find(some[i]);
        assert_in_range(number, 0, qmpi_name_count - 1);
        assert_int_equal(qmpi_names[number].exists, 1);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_name_has_its_own_number),
        cmocka_unit_test(the_hash_table_has_every_number_once_and_no_long_runs),
        cmocka_unit_test(every_pmpi_name_has_its_hash),
        cmocka_unit_test(every_name_begins_with_mpi),
        cmocka_unit_test(names_that_are_no_functions_are_not_found),
        cmocka_unit_test(functions_of_this_mpi_exist),
    };
    return cmocka_run_group_tests_name("name_find", tests, NULL, NULL);
}
