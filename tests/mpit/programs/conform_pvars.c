/* SPDX-License-Identifier: MIT */
/* Cases about performance variables, and the values of each class. */
#include "conform.h"

static MPI_T_pvar_session session;

static MPI_T_pvar_handle open_pvar(const char *name, int var_class, int expected)
{
    MPI_T_pvar_handle handle = MPI_T_PVAR_HANDLE_NULL;
    int count = -1;
    SUCCEEDS(T(pvar_session_create)(&session));
    SUCCEEDS(T(pvar_handle_alloc)(session, conform_pvar(name, var_class), NULL, &handle, &count));
    IS(count, expected);
    return handle;
}

static void close_pvar(MPI_T_pvar_handle *handle)
{
    SUCCEEDS(T(pvar_handle_free)(session, handle));
    IS(*handle == MPI_T_PVAR_HANDLE_NULL, true);
    SUCCEEDS(T(pvar_session_free)(&session));
    IS(session == MPI_T_PVAR_SESSION_NULL, true);
}

static unsigned long long value_of(MPI_T_pvar_handle handle)
{
    unsigned long long value = 999999;
    SUCCEEDS(T(pvar_read)(session, handle, &value));
    return value;
}

static int int_of(MPI_T_pvar_handle handle)
{
    int value = 999999;
    SUCCEEDS(T(pvar_read)(session, handle, &value));
    return value;
}

/* ---- Names and information ------------------------------------------------------------------- */

static void indices_and_names_of_pvars_belong_together(void)
{
    int num = 0;
    SUCCEEDS(T(pvar_get_num)(&num));
    for (int i = 0; i < num; i++) {
        char name[300];
        int length = sizeof name, index = -1, var_class = -1;
        if (!EXISTS(T(pvar_get_info)(i, name, &length, NULL, &var_class, NULL, NULL, NULL, NULL,
                                     NULL, NULL, NULL, NULL)))
            continue;
        SUCCEEDS(T(pvar_get_index)(name, var_class, &index));
        IS(index, i);
    }
}

static void an_index_that_no_pvar_has_is_invalid(void)
{
    MPI_T_pvar_handle handle;
    int num = 0, count;
    SUCCEEDS(T(pvar_get_num)(&num));
    SUCCEEDS(T(pvar_session_create)(&session));
    const int wrong[] = {-1, num, num + 1000};
    for (int i = 0; i < 3; i++) {
        IS(T(pvar_get_info)(wrong[i], NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL,
                            NULL, NULL),
           MPI_T_ERR_INVALID_INDEX);
        IS(T(pvar_handle_alloc)(session, wrong[i], NULL, &handle, &count), MPI_T_ERR_INVALID_INDEX);
    }
    SUCCEEDS(T(pvar_session_free)(&session));
}

static void a_pvars_name_is_sought_within_its_class(void)
{
    int index = -7;
    IS(T(pvar_get_index)(conform_name("calls"), MPI_T_PVAR_CLASS_TIMER, &index),
       MPI_T_ERR_INVALID_NAME);
    IS(T(pvar_get_index)("no such variable", MPI_T_PVAR_CLASS_COUNTER, &index),
       MPI_T_ERR_INVALID_NAME);
    IS(T(pvar_get_index)("no such variable", 77777, &index), MPI_T_ERR_INVALID_NAME);
    IS(index, -7);
}

static void a_published_pvar_is_as_it_was_described(void)
{
    char name[100], desc[100];
    int name_len = sizeof name, desc_len = sizeof desc;
    int verbosity, var_class, bind, readonly, continuous, atomic;
    MPI_Datatype datatype;
    MPI_T_enum enumtype;
    const int calls = conform_pvar("calls", MPI_T_PVAR_CLASS_COUNTER);
    SUCCEEDS(T(pvar_get_info)(calls, name, &name_len, &verbosity, &var_class, &datatype, &enumtype,
                              desc, &desc_len, &bind, &readonly, &continuous, &atomic));
    IS(strcmp(name, conform_name("calls")), 0);
    IS(strcmp(desc, "Counts what its raw variable is raised by"), 0);
    IS(verbosity, MPI_T_VERBOSITY_USER_BASIC);
    IS(var_class, MPI_T_PVAR_CLASS_COUNTER);
    IS(datatype == MPI_UNSIGNED_LONG_LONG, true);
    IS(enumtype == MPI_T_ENUM_NULL, true);
    IS(bind, MPI_T_BIND_NO_OBJECT);
    IS(readonly * 100 + continuous * 10 + atomic, 1);
    const int time = conform_pvar("time", MPI_T_PVAR_CLASS_TIMER);
    SUCCEEDS(T(pvar_get_info)(time, NULL, NULL, &verbosity, NULL, &datatype, NULL, desc, &desc_len,
                              NULL, &readonly, &continuous, &atomic));
    IS(datatype == MPI_DOUBLE, true);
    IS(readonly * 100 + continuous * 10 + atomic, 110);
    SUCCEEDS(T(pvar_get_info)(time, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL,
                              NULL, NULL));
}

/* ---- Counters, aggregates and timers --------------------------------------------------------- */

static void a_counter_counts_while_it_is_started(void)
{
    conform_set_counter(1000);
    MPI_T_pvar_handle handle = open_pvar("calls", MPI_T_PVAR_CLASS_COUNTER, 1);
    IS(value_of(handle), 0);
    conform_set_counter(1005);
    IS(value_of(handle), 0);
    SUCCEEDS(T(pvar_start)(session, handle));
    conform_set_counter(1008);
    IS(value_of(handle), 3);
    SUCCEEDS(T(pvar_stop)(session, handle));
    conform_set_counter(1050);
    IS(value_of(handle), 3);
    SUCCEEDS(T(pvar_start)(session, handle));
    conform_set_counter(1051);
    IS(value_of(handle), 4);
    SUCCEEDS(T(pvar_start)(session, handle)); /* has no effect, because the handle is started */
    IS(value_of(handle), 4);
    close_pvar(&handle);
}

static void a_counter_is_reset_and_written_for_its_handle(void)
{
    conform_set_counter(100);
    MPI_T_pvar_handle handle = open_pvar("calls", MPI_T_PVAR_CLASS_COUNTER, 1);
    unsigned long long value = 70;
    SUCCEEDS(T(pvar_start)(session, handle));
    conform_set_counter(110);
    SUCCEEDS(T(pvar_reset)(session, handle));
    IS(value_of(handle), 0);
    SUCCEEDS(T(pvar_write)(session, handle, &value));
    conform_set_counter(111);
    IS(value_of(handle), 71);
    SUCCEEDS(T(pvar_stop)(session, handle));
    SUCCEEDS(T(pvar_reset)(session, handle));
    IS(value_of(handle), 0);
    SUCCEEDS(T(pvar_write)(session, handle, &value));
    SUCCEEDS(T(pvar_start)(session, handle));
    IS(value_of(handle), 70);
    close_pvar(&handle);
}

static void a_continuous_counter_counts_from_the_publishers_start(void)
{
    conform_set_counter(500);
    MPI_T_pvar_handle handle = open_pvar("total", MPI_T_PVAR_CLASS_COUNTER, 1);
    IS(value_of(handle), 500);
    conform_set_counter(501);
    IS(value_of(handle), 501);
    SUCCEEDS(T(pvar_reset)(session, handle));
    conform_set_counter(503);
    IS(value_of(handle), 2);
    close_pvar(&handle);
}

static void a_continuous_pvar_cannot_be_started_or_stopped(void)
{
    MPI_T_pvar_handle handle = open_pvar("total", MPI_T_PVAR_CLASS_COUNTER, 1);
    IS(T(pvar_start)(session, handle), MPI_T_ERR_PVAR_NO_STARTSTOP);
    IS(T(pvar_stop)(session, handle), MPI_T_ERR_PVAR_NO_STARTSTOP);
    close_pvar(&handle);
}

static void readreset_returns_the_value_and_resets_it(void)
{
    unsigned long long value = 0;
    conform_set_counter(10);
    MPI_T_pvar_handle handle = open_pvar("total", MPI_T_PVAR_CLASS_COUNTER, 1);
    SUCCEEDS(T(pvar_readreset)(session, handle, &value));
    IS(value, 10);
    conform_set_counter(14);
    SUCCEEDS(T(pvar_readreset)(session, handle, &value));
    IS(value, 4);
    IS(value_of(handle), 0);
    close_pvar(&handle);
    handle = open_pvar("bytes", MPI_T_PVAR_CLASS_AGGREGATE, 1);
    IS(T(pvar_readreset)(session, handle, &value), MPI_T_ERR_PVAR_NO_ATOMIC);
    close_pvar(&handle);
}

static void a_readonly_pvar_cannot_be_written_or_reset(void)
{
    double value = 1;
    MPI_T_pvar_handle handle = open_pvar("time", MPI_T_PVAR_CLASS_TIMER, 1);
    IS(T(pvar_write)(session, handle, &value), MPI_T_ERR_PVAR_NO_WRITE);
    IS(T(pvar_reset)(session, handle), MPI_T_ERR_PVAR_NO_WRITE);
    close_pvar(&handle);
}

static void a_counter_of_32_bits_survives_an_overflow(void)
{
    unsigned raw = 0xfffffffeU, value = 0;
    conform_write("raw.small", &raw);
    MPI_T_pvar_handle handle = open_pvar("small", MPI_T_PVAR_CLASS_COUNTER, 1);
    SUCCEEDS(T(pvar_start)(session, handle));
    raw = 3;
    conform_write("raw.small", &raw);
    SUCCEEDS(T(pvar_read)(session, handle, &value));
    IS(value, 5);
    close_pvar(&handle);
}

static void aggregates_and_timers_are_sums_of_doubles(void)
{
    double raw = 1.5, value = -1;
    conform_write("raw.real", &raw);
    MPI_T_pvar_handle handle = open_pvar("bytes", MPI_T_PVAR_CLASS_AGGREGATE, 1);
    SUCCEEDS(T(pvar_start)(session, handle));
    raw = 4;
    conform_write("raw.real", &raw);
    SUCCEEDS(T(pvar_read)(session, handle, &value));
    IS(value == 2.5, true);
    SUCCEEDS(T(pvar_stop)(session, handle));
    close_pvar(&handle);
    handle = open_pvar("time", MPI_T_PVAR_CLASS_TIMER, 1);
    SUCCEEDS(T(pvar_read)(session, handle, &value));
    IS(value == 4, true);
    close_pvar(&handle);
}

static void each_element_of_an_array_is_counted_separately(void)
{
    unsigned long long raw[4] = {1, 2, 3, 4}, value[5] = {9, 9, 9, 9, 9};
    conform_write("raw.array", raw);
    MPI_T_pvar_handle handle = open_pvar("array", MPI_T_PVAR_CLASS_COUNTER, 4);
    SUCCEEDS(T(pvar_start)(session, handle));
    for (int i = 0; i < 4; i++)
        raw[i] += 10 * (unsigned long long)i;
    conform_write("raw.array", raw);
    SUCCEEDS(T(pvar_read)(session, handle, value));
    for (int i = 0; i < 5; i++)
        IS(value[i], i < 4 ? 10 * i : 9);
    close_pvar(&handle);
}

/* ---- Watermarks ------------------------------------------------------------------------------ */

static void set_level(unsigned long long level)
{
    conform_write("raw.level", &level);
}

static void a_high_watermark_keeps_the_highest_level_since_its_start(void)
{
    unsigned long long value = 0;
    set_level(80);
    MPI_T_pvar_handle handle = open_pvar("high", MPI_T_PVAR_CLASS_HIGHWATERMARK, 1);
    set_level(40);
    SUCCEEDS(T(pvar_start)(session, handle));
    IS(value_of(handle), 40);
    set_level(60);
    set_level(10); /* no value is read in between */
    IS(value_of(handle), 60);
    SUCCEEDS(T(pvar_stop)(session, handle));
    set_level(90);
    IS(value_of(handle), 60);
    SUCCEEDS(T(pvar_reset)(session, handle));
    IS(value_of(handle), 90);
    SUCCEEDS(T(pvar_start)(session, handle));
    set_level(20);
    SUCCEEDS(T(pvar_readreset)(session, handle, &value));
    IS(value, 90);
    IS(value_of(handle), 20);
    close_pvar(&handle);
}

static void a_low_watermark_keeps_the_lowest_level_since_it_was_allocated(void)
{
    set_level(30);
    MPI_T_pvar_handle handle = open_pvar("low", MPI_T_PVAR_CLASS_LOWWATERMARK, 1);
    IS(value_of(handle), 30);
    set_level(5);
    set_level(70);
    IS(value_of(handle), 5);
    SUCCEEDS(T(pvar_reset)(session, handle));
    IS(value_of(handle), 70);
    close_pvar(&handle);
    handle = open_pvar("low", MPI_T_PVAR_CLASS_LOWWATERMARK, 1);
    IS(value_of(handle), 70); /* the memory of a freed handle is reused without its old value */
    close_pvar(&handle);
}

static void watermarks_of_doubles_go_by_their_values(void)
{
    static const double levels[] = {-2, -3, 0.5, -1};
    double raw = -2, high = 99, low = 99;
    conform_write("raw.real", &raw);
    MPI_T_pvar_handle peak = open_pvar("peak", MPI_T_PVAR_CLASS_HIGHWATERMARK, 1);
    MPI_T_pvar_handle trough = MPI_T_PVAR_HANDLE_NULL;
    int count;
    SUCCEEDS(T(pvar_handle_alloc)(session, conform_pvar("trough", MPI_T_PVAR_CLASS_LOWWATERMARK),
                                  NULL, &trough, &count));
    SUCCEEDS(T(pvar_start)(session, MPI_T_PVAR_ALL_HANDLES));
    for (int i = 0; i < 4; i++) {
        conform_write("raw.real", &levels[i]);
        SUCCEEDS(T(pvar_read)(session, peak, &high));
        SUCCEEDS(T(pvar_read)(session, trough, &low));
    }
    IS(high == 0.5, true);
    IS(low == -3, true);
    SUCCEEDS(T(pvar_handle_free)(session, &trough));
    close_pvar(&peak);
}

/* If the publisher's callback refuses, the handle keeps its old value. */
static void a_watermark_of_many_elements_is_read_by_a_callback(void)
{
    const int lost = -1, idle = 0;
    unsigned long long value[41] = {[40] = 9};
    MPI_T_pvar_handle none = MPI_T_PVAR_HANDLE_NULL;
    int count;
    conform_write("raw.state", &idle);
    set_level(10);
    MPI_T_pvar_handle handle = open_pvar("wide", MPI_T_PVAR_CLASS_HIGHWATERMARK, 40);
    SUCCEEDS(T(pvar_start)(session, handle));
    set_level(30);
    set_level(20); /* no value is read in between */
    conform_write("raw.state", &lost);
    set_level(90);
    set_level(5);
    IS(T(pvar_read)(session, handle, value), MPI_T_ERR_INVALID);
    IS(T(pvar_handle_alloc)(session, conform_pvar("wide", MPI_T_PVAR_CLASS_HIGHWATERMARK), NULL,
                            &none, &count),
       MPI_T_ERR_INVALID);
    IS(none == MPI_T_PVAR_HANDLE_NULL, true);
    IS(T(pvar_stop)(session, MPI_T_PVAR_ALL_HANDLES), MPI_T_ERR_PVAR_NO_STARTSTOP);
    IS(T(pvar_reset)(session, MPI_T_PVAR_ALL_HANDLES), MPI_T_ERR_PVAR_NO_WRITE);
    conform_write("raw.state", &idle);
    SUCCEEDS(T(pvar_read)(session, handle, value));
    for (int i = 0; i < 41; i++)
        IS(value[i], i < 40 ? 30 + i : 9);
    close_pvar(&handle);
}

/* ---- Levels, states, sizes, percentages and generic variables -------------------------------- */

static void levels_and_states_have_the_present_value_while_started(void)
{
    static const struct {
        const char *raw, *name;
        int var_class;
    } both[] = {{"raw.depth", "depth", MPI_T_PVAR_CLASS_LEVEL},
                {"raw.state", "state", MPI_T_PVAR_CLASS_STATE}};
    for (int i = 0; i < 2; i++) {
        int raw = 5;
        conform_write(both[i].raw, &raw);
        MPI_T_pvar_handle handle = open_pvar(both[i].name, both[i].var_class, 1);
        IS(int_of(handle), 5);
        SUCCEEDS(T(pvar_start)(session, handle));
        raw = -1;
        conform_write(both[i].raw, &raw);
        IS(int_of(handle), -1);
        SUCCEEDS(T(pvar_stop)(session, handle));
        raw = 0;
        conform_write(both[i].raw, &raw);
        IS(int_of(handle), -1);
        SUCCEEDS(T(pvar_reset)(session, handle));
        IS(int_of(handle), 0);
        close_pvar(&handle);
    }
}

static void sizes_and_percentages_are_read(void)
{
    unsigned long size = 0;
    double part = 0;
    MPI_T_pvar_handle handle = open_pvar("size", MPI_T_PVAR_CLASS_SIZE, 1);
    SUCCEEDS(T(pvar_read)(session, handle, &size));
    IS(size, 4096);
    close_pvar(&handle);
    handle = open_pvar("part", MPI_T_PVAR_CLASS_PERCENTAGE, 1);
    SUCCEEDS(T(pvar_read)(session, handle, &part));
    IS(part == 0.25, true);
    close_pvar(&handle);
}

static void a_generic_pvar_is_written_and_reset_to_its_first_value(void)
{
    const int start[3] = {1, 2, 3}, other[3] = {7, 8, 9};
    int value[3] = {0};
    MPI_T_pvar_handle handle = open_pvar("generic", MPI_T_PVAR_CLASS_GENERIC, 3);
    SUCCEEDS(T(pvar_write)(session, handle, other));
    SUCCEEDS(T(pvar_read)(session, handle, value));
    IS(memcmp(value, other, sizeof other), 0);
    SUCCEEDS(T(pvar_readreset)(session, handle, value));
    IS(memcmp(value, other, sizeof other), 0);
    SUCCEEDS(T(pvar_read)(session, handle, value));
    IS(memcmp(value, start, sizeof start), 0);
    SUCCEEDS(T(pvar_write)(session, handle, other));
    SUCCEEDS(T(pvar_reset)(session, handle));
    SUCCEEDS(T(pvar_read)(session, handle, value));
    IS(memcmp(value, start, sizeof start), 0);
    close_pvar(&handle);
}

/* A handle that is not started keeps the value that it had when it was stopped, or that it got by a
 * later write or reset. */
static void generic_pvars_of_chars_and_doubles_are_read_and_reset(void)
{
    static const double halves[2] = {0.5, -1.5}, thirds[2] = {1. / 3, -2. / 3};
    const struct {
        const char *name;
        int count;
        size_t size;
        const void *start, *other;
    } all[] = {{"letters", 4, 4, "abc", "xyz"}, {"halves", 2, sizeof halves, halves, thirds}};
    for (int i = 0; i < 2; i++) {
        char value[sizeof halves];
        MPI_T_pvar_handle handle = open_pvar(all[i].name, MPI_T_PVAR_CLASS_GENERIC, all[i].count);
        for (int started = 0; started <= 1; started++) {
            if (started)
                SUCCEEDS(T(pvar_start)(session, handle));
            SUCCEEDS(T(pvar_write)(session, handle, all[i].other));
            SUCCEEDS(T(pvar_read)(session, handle, value));
            IS(memcmp(value, all[i].other, all[i].size), 0);
            memset(value, 0, sizeof value);
            SUCCEEDS(T(pvar_readreset)(session, handle, value));
            IS(memcmp(value, all[i].other, all[i].size), 0);
            SUCCEEDS(T(pvar_read)(session, handle, value));
            IS(memcmp(value, all[i].start, all[i].size), 0);
        }
        close_pvar(&handle);
    }
}

static void callbacks_read_write_and_reset(void)
{
    const int seven = 7;
    MPI_T_pvar_handle handle = open_pvar("called", MPI_T_PVAR_CLASS_GENERIC, 1);
    SUCCEEDS(T(pvar_start)(session, handle));
    SUCCEEDS(T(pvar_write)(session, handle, &seven));
    IS(int_of(handle), 7);
    SUCCEEDS(T(pvar_reset)(session, handle));
    IS(int_of(handle), 42);
    close_pvar(&handle);
}

const struct conform_case conform_pvars[] = {
    CASE(indices_and_names_of_pvars_belong_together, LIBRARY),
    /* The next two cases need a publisher only because MPICH 4.0.2 alone crashes in them. */
    CASE(an_index_that_no_pvar_has_is_invalid, PUBLISHER),
    CASE(a_pvars_name_is_sought_within_its_class, PUBLISHER),
    CASE(a_published_pvar_is_as_it_was_described, PUBLISHER),
    CASE(a_counter_counts_while_it_is_started, PUBLISHER),
    CASE(a_counter_is_reset_and_written_for_its_handle, PUBLISHER),
    CASE(a_continuous_counter_counts_from_the_publishers_start, PUBLISHER),
    CASE(a_continuous_pvar_cannot_be_started_or_stopped, PUBLISHER),
    CASE(readreset_returns_the_value_and_resets_it, PUBLISHER),
    CASE(a_readonly_pvar_cannot_be_written_or_reset, PUBLISHER),
    CASE(a_counter_of_32_bits_survives_an_overflow, PUBLISHER),
    CASE(aggregates_and_timers_are_sums_of_doubles, PUBLISHER),
    CASE(each_element_of_an_array_is_counted_separately, PUBLISHER),
    CASE(a_high_watermark_keeps_the_highest_level_since_its_start, PUBLISHER),
    CASE(a_low_watermark_keeps_the_lowest_level_since_it_was_allocated, PUBLISHER),
    CASE(watermarks_of_doubles_go_by_their_values, PUBLISHER),
    CASE(a_watermark_of_many_elements_is_read_by_a_callback, PUBLISHER),
    CASE(levels_and_states_have_the_present_value_while_started, PUBLISHER),
    CASE(sizes_and_percentages_are_read, PUBLISHER),
    CASE(a_generic_pvar_is_written_and_reset_to_its_first_value, PUBLISHER),
    CASE(generic_pvars_of_chars_and_doubles_are_read_and_reset, PUBLISHER),
    CASE(callbacks_read_write_and_reset, PUBLISHER),
    {NULL, NULL, LIBRARY},
};
