/* SPDX-License-Identifier: MIT */
/* Cases about control variables. */
#include "conform.h"

#include "library_names.h"

static MPI_T_cvar_handle open_cvar(const char *name, int expected)
{
    MPI_T_cvar_handle handle = MPI_T_CVAR_HANDLE_NULL;
    int count = -1;
    SUCCEEDS(T(cvar_handle_alloc)(conform_cvar(name), NULL, &handle, &count));
    IS(count, expected);
    return handle;
}

static void close_cvar(MPI_T_cvar_handle *handle)
{
    SUCCEEDS(T(cvar_handle_free)(handle));
    IS(*handle == MPI_T_CVAR_HANDLE_NULL, true);
}

static void indices_and_names_of_cvars_belong_together(void)
{
    int num = 0;
    SUCCEEDS(T(cvar_get_num)(&num));
    IS(num > 0, true);
    for (int i = 0; i < num; i++) {
        char name[300];
        int length = sizeof name, index = -1;
        if (!EXISTS(T(cvar_get_info)(i, name, &length, NULL, NULL, NULL, NULL, NULL, NULL, NULL)))
            continue;
        SUCCEEDS(T(cvar_get_index)(name, &index));
        IS(index, i);
    }
}

static void an_index_that_no_cvar_has_is_invalid(void)
{
    MPI_T_cvar_handle handle;
    int num = 0, count;
    SUCCEEDS(T(cvar_get_num)(&num));
    const int wrong[] = {-1, num, num + 1000};
    for (int i = 0; i < 3; i++) {
        IS(T(cvar_get_info)(wrong[i], NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL),
           MPI_T_ERR_INVALID_INDEX);
        IS(T(cvar_handle_alloc)(wrong[i], NULL, &handle, &count), MPI_T_ERR_INVALID_INDEX);
    }
}

static void a_name_that_no_cvar_has_is_invalid(void)
{
    int index = -7;
    IS(T(cvar_get_index)("no such variable", &index), MPI_T_ERR_INVALID_NAME);
    IS(T(cvar_get_index)("", &index), MPI_T_ERR_INVALID_NAME);
    IS(index, -7);
}

static void every_output_of_cvar_get_info_may_be_null(void)
{
    int num = 0;
    SUCCEEDS(T(cvar_get_num)(&num));
    for (int i = 0; i < num; i++)
        EXISTS(T(cvar_get_info)(i, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL));
}

static void info_of_cvars_is_in_the_standards_ranges(void)
{
    int num = 0;
    SUCCEEDS(T(cvar_get_num)(&num));
    for (int i = 0; i < num; i++) {
        int verbosity = -1, bind = -1, scope = -1;
        if (!EXISTS(
                T(cvar_get_info)(i, NULL, NULL, &verbosity, NULL, NULL, NULL, NULL, &bind, &scope)))
            continue;
        IS(verbosity >= MPI_T_VERBOSITY_USER_BASIC && verbosity <= MPI_T_VERBOSITY_MPIDEV_ALL,
           true);
        IS(bind >= MPI_T_BIND_NO_OBJECT && bind <= MPI_T_BIND_MPI_INFO, true);
        IS(scope >= MPI_T_SCOPE_CONSTANT && scope <= MPI_T_SCOPE_ALL_EQ, true);
    }
}

static void a_published_cvar_is_as_it_was_described(void)
{
    char name[100], desc[100];
    int name_len = sizeof name, desc_len = sizeof desc, verbosity, bind, scope;
    MPI_Datatype datatype;
    MPI_T_enum enumtype = (MPI_T_enum)(void *)name;
    SUCCEEDS(T(cvar_get_info)(conform_cvar("limit"), name, &name_len, &verbosity, &datatype,
                              &enumtype, desc, &desc_len, &bind, &scope));
    IS(strcmp(name, conform_name("limit")), 0);
    IS(strcmp(desc, "A number"), 0);
    IS(verbosity, MPI_T_VERBOSITY_USER_BASIC);
    IS(datatype == MPI_INT, true);
    IS(enumtype == MPI_T_ENUM_NULL, true);
    IS(bind, MPI_T_BIND_NO_OBJECT);
    IS(scope, MPI_T_SCOPE_ALL_EQ);
}

static void a_cvar_gets_the_long_name_if_the_library_has_its_bare_name(void)
{
    int library = -1, published = -1, alone = -1;
    SUCCEEDS(T(cvar_get_index)(TAKEN_NAME, &library));
    SUCCEEDS(T(cvar_get_index)(conform_name(TAKEN_NAME), &published));
    IS(library != published, true);
    SUCCEEDS(PMPI_T_cvar_get_index(TAKEN_NAME, &alone));
    IS(library, alone);
}

static void a_cvar_of_the_library_is_written_and_read(void)
{
    MPI_T_cvar_handle handle = open_cvar(LIBRARY_CVAR, 1);
    int before = -1, value = 4242, after = -1;
    SUCCEEDS(T(cvar_read)(handle, &before));
    SUCCEEDS(T(cvar_write)(handle, &value));
    SUCCEEDS(T(cvar_read)(handle, &after));
    IS(after, 4242);
    SUCCEEDS(T(cvar_write)(handle, &before));
    close_cvar(&handle);
}

static void a_published_cvar_is_written_and_read(void)
{
    MPI_T_cvar_handle handle = open_cvar("limit", 1), other = open_cvar("limit", 1);
    int value = -1;
    SUCCEEDS(T(cvar_read)(handle, &value));
    IS(value, 7);
    value = 8;
    SUCCEEDS(T(cvar_write)(handle, &value));
    SUCCEEDS(T(cvar_read)(other, &value));
    IS(value, 8);
    value = 7;
    SUCCEEDS(T(cvar_write)(other, &value));
    close_cvar(&other);
    close_cvar(&handle);
}

static void a_string_cvar_is_written_up_to_its_end(void)
{
    MPI_T_cvar_handle handle = open_cvar("text", 16);
    char text[16] = "?";
    SUCCEEDS(T(cvar_read)(handle, text));
    IS(strcmp(text, "as it was"), 0);
    SUCCEEDS(T(cvar_write)(handle, "new"));
    SUCCEEDS(T(cvar_read)(handle, text));
    IS(strcmp(text, "new"), 0);
    IS(T(cvar_write)(handle, "sixteen letters!"), MPI_T_ERR_INVALID);
    SUCCEEDS(T(cvar_write)(handle, "as it was"));
    close_cvar(&handle);
}

static void an_array_cvar_is_written_and_read_whole(void)
{
    MPI_T_cvar_handle handle = open_cvar("raw.array", 4);
    unsigned long long values[4] = {1, 2, 3, 4}, read[5] = {9, 9, 9, 9, 9};
    SUCCEEDS(T(cvar_write)(handle, values));
    SUCCEEDS(T(cvar_read)(handle, read));
    IS(memcmp(values, read, sizeof values), 0);
    IS(read[4], 9);
    memset(values, 0, sizeof values);
    SUCCEEDS(T(cvar_write)(handle, values));
    close_cvar(&handle);
}

static void constant_and_readonly_cvars_are_never_set(void)
{
    double real = 1;
    unsigned long number = 1;
    MPI_T_cvar_handle constant = open_cvar("constant", 1), readonly = open_cvar("readonly", 1);
    IS(T(cvar_write)(constant, &real), MPI_T_ERR_CVAR_SET_NEVER);
    IS(T(cvar_write)(readonly, &number), MPI_T_ERR_CVAR_SET_NEVER);
    SUCCEEDS(T(cvar_read)(constant, &real));
    SUCCEEDS(T(cvar_read)(readonly, &number));
    IS(real == 0.25, true);
    IS(number, 4096);
    close_cvar(&constant);
    close_cvar(&readonly);
}

static void a_publisher_may_refuse_to_be_set_now(void)
{
    MPI_T_cvar_handle handle = open_cvar("locked", 1);
    const int value = 1;
    IS(T(cvar_write)(handle, &value), MPI_T_ERR_CVAR_SET_NOT_NOW);
    close_cvar(&handle);
}

static void a_bound_cvar_has_a_count_and_values_for_each_object(void)
{
    MPI_T_cvar_handle handle;
    MPI_Comm world = MPI_COMM_WORLD, self = MPI_COMM_SELF, null = MPI_COMM_NULL;
    int bind = -1, count = -1, values[2] = {-1, -1};
    const int index = conform_cvar("bound");
    SUCCEEDS(T(cvar_get_info)(index, NULL, NULL, NULL, NULL, NULL, NULL, NULL, &bind, NULL));
    IS(bind, MPI_T_BIND_MPI_COMM);
    SUCCEEDS(T(cvar_handle_alloc)(index, &world, &handle, &count));
    IS(count, 2);
    world = MPI_COMM_NULL; /* the handle of the communicator has been copied */
    SUCCEEDS(T(cvar_read)(handle, values));
    IS(values[0] * 1000 + values[1], 100101);
    close_cvar(&handle);
    SUCCEEDS(T(cvar_handle_alloc)(index, &self, &handle, &count));
    IS(count, 1);
    SUCCEEDS(T(cvar_read)(handle, values));
    IS(values[0], 200);
    close_cvar(&handle);
    IS(T(cvar_handle_alloc)(index, &null, &handle, &count), MPI_T_ERR_INVALID_HANDLE);
    IS(T(cvar_handle_alloc)(index, NULL, &handle, &count), MPI_T_ERR_INVALID);
}

static void a_freed_cvar_handle_is_invalid(void)
{
    int value;
    MPI_T_cvar_handle handle = open_cvar("limit", 1), copy = handle;
    close_cvar(&handle);
    IS(T(cvar_read)(handle, &value), MPI_T_ERR_INVALID_HANDLE);
    IS(T(cvar_read)(copy, &value), MPI_T_ERR_INVALID_HANDLE);
    IS(T(cvar_write)(copy, &value), MPI_T_ERR_INVALID_HANDLE);
    IS(T(cvar_handle_free)(&copy), MPI_T_ERR_INVALID_HANDLE);
}

/* ---- Variables of libqmpi -------------------------------------------------------------------- */

static void the_stack_is_a_constant_string(void)
{
    MPI_T_cvar_handle handle;
    char text[1000] = "";
    int index = -1, count = -1;
    SUCCEEDS(T(cvar_get_index)("qmpi.stack", &index));
    SUCCEEDS(T(cvar_handle_alloc)(index, NULL, &handle, &count));
    SUCCEEDS(T(cvar_read)(handle, text));
    IS(count > (int)strlen(text), true);
    IS(strstr(text, "publisher") != NULL, true);
    IS(T(cvar_write)(handle, text), MPI_T_ERR_CVAR_SET_NEVER);
    close_cvar(&handle);
}

static void a_layer_is_switched_off_and_on_by_its_cvar(void)
{
    MPI_T_cvar_handle handle = open_cvar("enabled", 1);
    int value = -1;
    SUCCEEDS(T(cvar_read)(handle, &value));
    IS(value, 1);
    for (int enabled = 0; enabled <= 1; enabled++) {
        SUCCEEDS(T(cvar_write)(handle, &enabled));
        SUCCEEDS(T(cvar_read)(handle, &value));
        IS(value, enabled);
    }
    close_cvar(&handle);
}

static void every_value_but_0_switches_a_layer_on_and_is_read_back(void)
{
    const int values[] = {123, -1, 0, 123, 1, 0, 1};
    MPI_T_cvar_handle handle = open_cvar("enabled", 1);
    for (size_t i = 0; i < sizeof values / sizeof *values; i++) {
        int value = 456;
        SUCCEEDS(T(cvar_write)(handle, &values[i]));
        SUCCEEDS(T(cvar_read)(handle, &value));
        IS(value, values[i]);
    }
    close_cvar(&handle);
}

/* Writes, reads and restores each variable of libqmpi, as MPICH's own tests do with all variables
 * that are not bound to an object. Like these tests, skips a string that does not fit into the
 * buffer, such as `qmpi.stack`, which cannot be written. */
static void every_variable_of_libqmpi_returns_the_value_written_to_it(void)
{
    enum { ROOM = 512 };
    int num = 0, checked = 0;
    SUCCEEDS(T(cvar_get_num)(&num));
    for (int i = 0; i < num; i++) {
        char name[300], old[ROOM], in[ROOM] = "something else", out[ROOM] = "";
        int length = sizeof name, bind = -1, count = 0;
        const int number = 123;
        MPI_Datatype datatype;
        MPI_T_cvar_handle handle;
        if (!EXISTS(
                T(cvar_get_info)(i, name, &length, NULL, &datatype, NULL, NULL, NULL, &bind, NULL)))
            continue;
        const bool switches = strlen(name) > 8 && !strcmp(name + strlen(name) - 8, ".enabled");
        if (strncmp(name, "qmpi.", 5) != 0 || (!switches && strcmp(name, "qmpi.stack") != 0))
            continue;
        IS(bind, MPI_T_BIND_NO_OBJECT);
        SUCCEEDS(T(cvar_handle_alloc)(i, NULL, &handle, &count));
        if (count == 1 || (datatype == MPI_CHAR && count < ROOM)) {
            const size_t size = datatype == MPI_CHAR ? strlen(in) + 1 : sizeof number;
            T(cvar_read)(handle, old);
            T(cvar_write)(handle, datatype == MPI_CHAR ? (const void *)in : &number);
            T(cvar_read)(handle, out);
            T(cvar_write)(handle, old);
            IS(memcmp(out, datatype == MPI_CHAR ? (const void *)in : &number, size), 0);
            checked++;
        }
        close_cvar(&handle);
    }
    IS(checked > 0, true);
}

const struct conform_case conform_cvars[] = {
    CASE(indices_and_names_of_cvars_belong_together, LIBRARY),
    CASE(an_index_that_no_cvar_has_is_invalid, LIBRARY),
    CASE(a_name_that_no_cvar_has_is_invalid, LIBRARY),
    CASE(every_output_of_cvar_get_info_may_be_null, LIBRARY),
    CASE(info_of_cvars_is_in_the_standards_ranges, LIBRARY),
    CASE(a_published_cvar_is_as_it_was_described, PUBLISHER),
    CASE(a_cvar_gets_the_long_name_if_the_library_has_its_bare_name, PUBLISHER),
    CASE(a_cvar_of_the_library_is_written_and_read, LIBRARY),
    CASE(a_published_cvar_is_written_and_read, PUBLISHER),
    CASE(a_string_cvar_is_written_up_to_its_end, PUBLISHER),
    CASE(an_array_cvar_is_written_and_read_whole, PUBLISHER),
    CASE(constant_and_readonly_cvars_are_never_set, PUBLISHER),
    CASE(a_publisher_may_refuse_to_be_set_now, PUBLISHER),
    CASE(a_bound_cvar_has_a_count_and_values_for_each_object, PUBLISHER),
    CASE(a_freed_cvar_handle_is_invalid, PUBLISHER),
    CASE(the_stack_is_a_constant_string, PUBLISHER),
    CASE(a_layer_is_switched_off_and_on_by_its_cvar, PUBLISHER),
    CASE(every_value_but_0_switches_a_layer_on_and_is_read_back, PUBLISHER),
    CASE(every_variable_of_libqmpi_returns_the_value_written_to_it, PUBLISHER),
    {NULL, NULL, LIBRARY},
};
