/* SPDX-License-Identifier: MIT */
/* Cases about the interface itself, strings and enumerations. */
#include "conform.h"

static void initializations_are_counted(void)
{
    int provided = -1, num;
    for (int i = 0; i < 3; i++)
        SUCCEEDS(T(init_thread)(MPI_THREAD_SINGLE, &provided));
    for (int i = 0; i < 3; i++) {
        SUCCEEDS(T(cvar_get_num)(&num));
        SUCCEEDS(T(finalize)());
    }
    SUCCEEDS(T(cvar_get_num)(&num));
}

static void the_provided_thread_level_is_at_most_the_required_one(void)
{
    static const int levels[] = {MPI_THREAD_SINGLE, MPI_THREAD_FUNNELED, MPI_THREAD_SERIALIZED,
                                 MPI_THREAD_MULTIPLE};
    for (int i = 0; i < 4; i++) {
        const int level = levels[i];
        int provided = -1;
        SUCCEEDS(T(init_thread)(level, &provided));
        IS(provided <= level && provided >= MPI_THREAD_SINGLE, true);
        SUCCEEDS(T(finalize)());
    }
}

static void an_unknown_thread_level_is_refused_or_initializes(void)
{
    int provided = -1, num;
    if (T(init_thread)(MPI_THREAD_MULTIPLE + 77, &provided) != MPI_SUCCESS)
        return;
    SUCCEEDS(T(cvar_get_num)(&num));
    SUCCEEDS(T(finalize)());
    SUCCEEDS(T(cvar_get_num)(&num));
}

static void a_place_for_the_provided_level_is_required(void)
{
    if (is_open_mpi()) /* version 4.1.4 crashes in the first initialization, and accepts later ones
                        */
        return;
    IS(T(init_thread)(MPI_THREAD_SINGLE, NULL), MPI_T_ERR_INVALID);
}

static void errors_reach_no_error_handler(void)
{
    /* The default error handler, MPI_ERRORS_ARE_FATAL, would end the process. */
    int num, index;
    IS(T(cvar_get_index)("no such variable", &index), MPI_T_ERR_INVALID_NAME);
    IS(T(category_get_info)(100000, NULL, NULL, NULL, NULL, &num, NULL, NULL),
       MPI_T_ERR_INVALID_INDEX);
}

/* ---- Strings --------------------------------------------------------------------------------- */

static int name_of(int index, char *name, int *length)
{
    return T(cvar_get_info)(index, name, length, NULL, NULL, NULL, NULL, NULL, NULL, NULL);
}

static int some_cvar(void)
{
    int num = 0;
    SUCCEEDS(T(cvar_get_num)(&num));
    return num - 1;
}

static void a_string_that_fits_is_whole_and_its_length_includes_the_end(void)
{
    char name[300];
    int length = sizeof name;
    SUCCEEDS(name_of(some_cvar(), name, &length));
    IS(length, strlen(name) + 1);
    int exact = length;
    SUCCEEDS(name_of(some_cvar(), name, &exact));
    IS(exact, length);
    IS(strlen(name) + 1, length);
}

static void a_string_that_does_not_fit_is_cut_and_its_length_returned(void)
{
    char whole[300], name[300];
    int length = sizeof whole, five = 5, one = 1;
    SUCCEEDS(name_of(some_cvar(), whole, &length));
    memset(name, '?', sizeof name);
    SUCCEEDS(name_of(some_cvar(), name, &five));
    IS(five, length);
    IS(strlen(name), 4);
    IS(strncmp(name, whole, 4), 0);
    IS(name[5], '?');
    SUCCEEDS(name_of(some_cvar(), name, &one));
    IS(one, length);
    IS(name[0], '\0');
}

static void without_a_buffer_or_a_size_only_the_length_is_returned(void)
{
    char name[4] = "abc";
    int length = 0, whole = 300;
    SUCCEEDS(name_of(some_cvar(), NULL, &whole));
    SUCCEEDS(name_of(some_cvar(), name, &length));
    IS(length, whole);
    IS(whole > 1, true);
    IS(strcmp(name, "abc"), 0);
}

static void without_a_length_no_string_is_returned(void)
{
    char name[4] = "abc";
    SUCCEEDS(name_of(some_cvar(), name, NULL));
    IS(strcmp(name, "abc"), 0);
}

/* ---- Enumerations ---------------------------------------------------------------------------- */

static MPI_T_enum states(void)
{
    MPI_T_enum found = MPI_T_ENUM_NULL;
    SUCCEEDS(T(pvar_get_info)(conform_pvar("state", MPI_T_PVAR_CLASS_STATE), NULL, NULL, NULL, NULL,
                              NULL, &found, NULL, NULL, NULL, NULL, NULL, NULL));
    IS(found != MPI_T_ENUM_NULL, true);
    return found;
}

static void an_enumeration_has_its_name_and_items(void)
{
    static const char *const names[] = {"idle", "busy", "lost"};
    static const int values[] = {0, 5, -1};
    char name[100];
    int num = -1, length = sizeof name;
    SUCCEEDS(T(enum_get_info)(states(), &num, name, &length));
    IS(num, 3);
    IS(strcmp(name, conform_name("states")), 0);
    IS(length, strlen(name) + 1);
    for (int i = 0; i < 3; i++) {
        int value = -99;
        length = sizeof name;
        SUCCEEDS(T(enum_get_item)(states(), i, &value, name, &length));
        IS(value, values[i]);
        IS(strcmp(name, names[i]), 0);
    }
    SUCCEEDS(T(enum_get_info)(states(), NULL, NULL, NULL));
    SUCCEEDS(T(enum_get_item)(states(), 0, NULL, NULL, NULL));
}

static void an_item_that_an_enumeration_lacks_is_an_invalid_index(void)
{
    int value;
    IS(T(enum_get_item)(states(), 3, &value, NULL, NULL), MPI_T_ERR_INVALID_INDEX);
    IS(T(enum_get_item)(states(), -1, &value, NULL, NULL), MPI_T_ERR_INVALID_INDEX);
}

static void an_enumeration_is_the_same_for_all_its_variables(void)
{
    MPI_T_enum other = MPI_T_ENUM_NULL;
    SUCCEEDS(T(cvar_get_info)(conform_cvar("raw.state"), NULL, NULL, NULL, NULL, &other, NULL, NULL,
                              NULL, NULL));
    IS(other == states(), true);
}

/* ---- Events of the library ------------------------------------------------------------------- */

#if MPI_VERSION >= 4
static void events_and_sources_are_those_of_the_library(void)
{
    int num = -1, mine = -1;
    SUCCEEDS(T(event_get_num)(&num));
    SUCCEEDS(PMPI_T_event_get_num(&mine));
    IS(num, mine);
    SUCCEEDS(T(source_get_num)(&num));
    SUCCEEDS(PMPI_T_source_get_num(&mine));
    IS(num, mine);
}
#endif

const struct conform_case conform_general[] = {
    CASE(initializations_are_counted, LIBRARY),
    CASE(the_provided_thread_level_is_at_most_the_required_one, LIBRARY),
    CASE(an_unknown_thread_level_is_refused_or_initializes, LIBRARY),
    CASE(a_place_for_the_provided_level_is_required, LIBRARY),
    CASE(errors_reach_no_error_handler, LIBRARY),
    CASE(a_string_that_fits_is_whole_and_its_length_includes_the_end, LIBRARY),
    CASE(a_string_that_does_not_fit_is_cut_and_its_length_returned, LIBRARY),
    CASE(without_a_buffer_or_a_size_only_the_length_is_returned, LIBRARY),
    CASE(without_a_length_no_string_is_returned, LIBRARY),
    CASE(an_enumeration_has_its_name_and_items, PUBLISHER),
    CASE(an_item_that_an_enumeration_lacks_is_an_invalid_index, PUBLISHER),
    CASE(an_enumeration_is_the_same_for_all_its_variables, PUBLISHER),
#if MPI_VERSION >= 4
    CASE(events_and_sources_are_those_of_the_library, LIBRARY),
#endif
    {NULL, NULL, LIBRARY},
};
