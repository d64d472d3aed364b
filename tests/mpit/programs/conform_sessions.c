/* SPDX-License-Identifier: MIT */
/* Cases about sessions and handles of performance variables. */
#include "conform.h"

#include <stdint.h>

static MPI_T_pvar_handle open_in(MPI_T_pvar_session session, const char *name, int var_class)
{
    MPI_T_pvar_handle handle = MPI_T_PVAR_HANDLE_NULL;
    int count;
    SUCCEEDS(T(pvar_handle_alloc)(session, conform_pvar(name, var_class), NULL, &handle, &count));
    return handle;
}

static unsigned long long value_in(MPI_T_pvar_session session, MPI_T_pvar_handle handle)
{
    unsigned long long value = 999999;
    SUCCEEDS(T(pvar_read)(session, handle, &value));
    return value;
}

static void a_freed_session_is_null(void)
{
    MPI_T_pvar_session session = MPI_T_PVAR_SESSION_NULL;
    SUCCEEDS(T(pvar_session_create)(&session));
    IS(session != MPI_T_PVAR_SESSION_NULL, true);
    SUCCEEDS(T(pvar_session_free)(&session));
    IS(session == MPI_T_PVAR_SESSION_NULL, true);
    IS(T(pvar_session_free)(&session), MPI_T_ERR_INVALID_SESSION);
}

static void sessions_do_not_touch_each_other(void)
{
    MPI_T_pvar_session one, two;
    conform_set_counter(10);
    SUCCEEDS(T(pvar_session_create)(&one));
    SUCCEEDS(T(pvar_session_create)(&two));
    MPI_T_pvar_handle first = open_in(one, "calls", MPI_T_PVAR_CLASS_COUNTER);
    MPI_T_pvar_handle second = open_in(two, "calls", MPI_T_PVAR_CLASS_COUNTER);
    SUCCEEDS(T(pvar_start)(one, first));
    SUCCEEDS(T(pvar_start)(two, second));
    conform_set_counter(15);
    SUCCEEDS(T(pvar_reset)(one, first));
    IS(value_in(one, first), 0);
    IS(value_in(two, second), 5);
    SUCCEEDS(T(pvar_stop)(one, first));
    conform_set_counter(16);
    IS(value_in(one, first), 0);
    IS(value_in(two, second), 6);
    SUCCEEDS(T(pvar_session_free)(&one));
    IS(value_in(two, second), 6);
    SUCCEEDS(T(pvar_session_free)(&two));
}

static void handles_of_one_session_do_not_touch_each_other(void)
{
    MPI_T_pvar_session session;
    conform_set_counter(10);
    SUCCEEDS(T(pvar_session_create)(&session));
    MPI_T_pvar_handle first = open_in(session, "total", MPI_T_PVAR_CLASS_COUNTER);
    MPI_T_pvar_handle second = open_in(session, "total", MPI_T_PVAR_CLASS_COUNTER);
    SUCCEEDS(T(pvar_reset)(session, first));
    IS(value_in(session, first), 0);
    IS(value_in(session, second), 10);
    SUCCEEDS(T(pvar_session_free)(&session));
}

static void a_handle_of_another_session_is_invalid(void)
{
    MPI_T_pvar_session one, two;
    unsigned long long value = 1;
    SUCCEEDS(T(pvar_session_create)(&one));
    SUCCEEDS(T(pvar_session_create)(&two));
    MPI_T_pvar_handle handle = open_in(one, "calls", MPI_T_PVAR_CLASS_COUNTER);
    IS(T(pvar_start)(two, handle), MPI_T_ERR_INVALID_HANDLE);
    IS(T(pvar_stop)(two, handle), MPI_T_ERR_INVALID_HANDLE);
    IS(T(pvar_read)(two, handle, &value), MPI_T_ERR_INVALID_HANDLE);
    IS(T(pvar_write)(two, handle, &value), MPI_T_ERR_INVALID_HANDLE);
    IS(T(pvar_reset)(two, handle), MPI_T_ERR_INVALID_HANDLE);
    IS(T(pvar_readreset)(two, handle, &value), MPI_T_ERR_INVALID_HANDLE);
    IS(T(pvar_handle_free)(two, &handle), MPI_T_ERR_INVALID_HANDLE);
    IS(handle != MPI_T_PVAR_HANDLE_NULL, true);
    SUCCEEDS(T(pvar_handle_free)(one, &handle));
    SUCCEEDS(T(pvar_session_free)(&one));
    SUCCEEDS(T(pvar_session_free)(&two));
}

static void calls_without_a_session_are_refused(void)
{
    MPI_T_pvar_session session;
    MPI_T_pvar_handle handle;
    unsigned long long value;
    int count;
    const int index = conform_pvar("calls", MPI_T_PVAR_CLASS_COUNTER);
    IS(T(pvar_handle_alloc)(MPI_T_PVAR_SESSION_NULL, index, NULL, &handle, &count),
       MPI_T_ERR_INVALID_SESSION);
    SUCCEEDS(T(pvar_session_create)(&session));
    handle = open_in(session, "calls", MPI_T_PVAR_CLASS_COUNTER);
    IS(T(pvar_read)(MPI_T_PVAR_SESSION_NULL, handle, &value), MPI_T_ERR_INVALID_SESSION);
    IS(T(pvar_start)(MPI_T_PVAR_SESSION_NULL, MPI_T_PVAR_ALL_HANDLES), MPI_T_ERR_INVALID_SESSION);
    SUCCEEDS(T(pvar_session_free)(&session));
}

static void a_pvar_handle_is_invalid_once_it_or_its_session_is_freed(void)
{
    MPI_T_pvar_session session, copy;
    unsigned long long value;
    SUCCEEDS(T(pvar_session_create)(&session));
    MPI_T_pvar_handle handle = open_in(session, "calls", MPI_T_PVAR_CLASS_COUNTER), old = handle;
    MPI_T_pvar_handle other = open_in(session, "total", MPI_T_PVAR_CLASS_COUNTER);
    SUCCEEDS(T(pvar_handle_free)(session, &handle));
    IS(T(pvar_read)(session, handle, &value), MPI_T_ERR_INVALID_HANDLE);
    IS(T(pvar_read)(session, old, &value), MPI_T_ERR_INVALID_HANDLE);
    IS(T(pvar_handle_free)(session, &old), MPI_T_ERR_INVALID_HANDLE);
    copy = session;
    SUCCEEDS(T(pvar_session_free)(&session));
    IS(T(pvar_read)(copy, other, &value), MPI_T_ERR_INVALID_HANDLE);
}

static void all_handles_are_started_stopped_and_reset_together(void)
{
    MPI_T_pvar_session session, bystander;
    conform_set_counter(10);
    SUCCEEDS(T(pvar_session_create)(&session));
    SUCCEEDS(T(pvar_session_create)(&bystander));
    MPI_T_pvar_handle outside = open_in(bystander, "calls", MPI_T_PVAR_CLASS_COUNTER);
    MPI_T_pvar_handle calls = open_in(session, "calls", MPI_T_PVAR_CLASS_COUNTER);
    MPI_T_pvar_handle total = open_in(session, "total", MPI_T_PVAR_CLASS_COUNTER);
    open_in(session, "time", MPI_T_PVAR_CLASS_TIMER); /* read-only and continuous, so that it is not
                                                         affected */
    SUCCEEDS(T(pvar_start)(session, MPI_T_PVAR_ALL_HANDLES));
    conform_set_counter(12);
    IS(value_in(session, calls), 2);
    IS(value_in(session, total), 12);
    IS(value_in(bystander, outside), 0);
    SUCCEEDS(T(pvar_reset)(session, MPI_T_PVAR_ALL_HANDLES));
    conform_set_counter(13);
    IS(value_in(session, calls), 1);
    IS(value_in(session, total), 1);
    SUCCEEDS(T(pvar_stop)(session, MPI_T_PVAR_ALL_HANDLES));
    conform_set_counter(20);
    IS(value_in(session, calls), 1);
    IS(value_in(session, total), 8);
    SUCCEEDS(T(pvar_session_free)(&session));
    SUCCEEDS(T(pvar_session_free)(&bystander));
}

static void all_handles_cannot_be_read_written_or_freed(void)
{
    MPI_T_pvar_session session;
    MPI_T_pvar_handle all = MPI_T_PVAR_ALL_HANDLES;
    unsigned long long value = 0;
    SUCCEEDS(T(pvar_session_create)(&session));
    IS(T(pvar_read)(session, all, &value), MPI_T_ERR_INVALID_HANDLE);
    IS(T(pvar_write)(session, all, &value), MPI_T_ERR_INVALID_HANDLE);
    IS(T(pvar_readreset)(session, all, &value), MPI_T_ERR_INVALID_HANDLE);
    IS(T(pvar_handle_free)(session, &all), MPI_T_ERR_INVALID_HANDLE);
    SUCCEEDS(T(pvar_session_free)(&session));
}

static void starting_no_handles_is_no_error(void)
{
    MPI_T_pvar_session session;
    SUCCEEDS(T(pvar_session_create)(&session));
    SUCCEEDS(T(pvar_start)(session, MPI_T_PVAR_ALL_HANDLES));
    SUCCEEDS(T(pvar_stop)(session, MPI_T_PVAR_ALL_HANDLES));
    SUCCEEDS(T(pvar_reset)(session, MPI_T_PVAR_ALL_HANDLES));
    SUCCEEDS(T(pvar_session_free)(&session));
}

static void a_session_that_pmpi_created_may_be_used(void)
{
    MPI_T_pvar_session session;
    conform_set_counter(33);
    SUCCEEDS(PMPI_T_pvar_session_create(&session));
    MPI_T_pvar_handle handle = open_in(session, "total", MPI_T_PVAR_CLASS_COUNTER);
    IS(value_in(session, handle), 33);
    SUCCEEDS(T(pvar_handle_free)(session, &handle));
    SUCCEEDS(PMPI_T_pvar_session_free(&session));
}

static void a_bound_pvar_has_a_count_and_values_for_each_object(void)
{
    MPI_T_pvar_session session;
    MPI_T_pvar_handle handle;
    MPI_Comm world = MPI_COMM_WORLD, null = MPI_COMM_NULL;
    int count = -1, values[2] = {-1, -1}, zero = 0;
    const int index = conform_pvar("publisher_bound", MPI_T_PVAR_CLASS_LEVEL);
    conform_write("raw.depth", &zero);
    SUCCEEDS(T(pvar_session_create)(&session));
    SUCCEEDS(T(pvar_handle_alloc)(session, index, &world, &handle, &count));
    IS(count, 2);
    SUCCEEDS(T(pvar_start)(session, handle));
    SUCCEEDS(T(pvar_read)(session, handle, values));
    IS(values[0] * 1000 + values[1], 100101);
    IS(T(pvar_handle_alloc)(session, index, &null, &handle, &count), MPI_T_ERR_INVALID_HANDLE);
    IS(T(pvar_handle_alloc)(session, index, NULL, &handle, &count), MPI_T_ERR_INVALID);
    SUCCEEDS(T(pvar_session_free)(&session));
}

static void a_publisher_may_free_the_handle_that_it_is_called_for(void)
{
    MPI_T_pvar_session session;
    MPI_T_pvar_handle handle;
    MPI_Comm world = MPI_COMM_WORLD;
    int count, values[2];
    const int index = conform_pvar("publisher_bound", MPI_T_PVAR_CLASS_LEVEL);
    SUCCEEDS(T(pvar_session_create)(&session));
    SUCCEEDS(T(pvar_handle_alloc)(session, index, &world, &handle, &count));
    const unsigned long long freed[2] = {(uintptr_t)session, (uintptr_t)handle};
    conform_write("freed", freed);
    SUCCEEDS(T(pvar_start)(session, MPI_T_PVAR_ALL_HANDLES));
    IS(T(pvar_read)(session, handle, values), MPI_T_ERR_INVALID_HANDLE);
    SUCCEEDS(T(pvar_session_free)(&session));
}

static void a_pvar_gets_its_bare_name_if_no_other_has_it(void)
{
    int index;
    SUCCEEDS(T(pvar_get_index)("publisher_bound", MPI_T_PVAR_CLASS_LEVEL, &index));
}

const struct conform_case conform_sessions[] = {
    CASE(a_freed_session_is_null, LIBRARY),
    CASE(sessions_do_not_touch_each_other, PUBLISHER),
    CASE(handles_of_one_session_do_not_touch_each_other, PUBLISHER),
    CASE(a_handle_of_another_session_is_invalid, PUBLISHER),
    CASE(calls_without_a_session_are_refused, PUBLISHER),
    CASE(a_pvar_handle_is_invalid_once_it_or_its_session_is_freed, PUBLISHER),
    CASE(all_handles_are_started_stopped_and_reset_together, PUBLISHER),
    /* The next case needs a publisher only because MPICH 4.0.2 alone crashes in it. */
    CASE(all_handles_cannot_be_read_written_or_freed, PUBLISHER),
    CASE(starting_no_handles_is_no_error, LIBRARY),
    CASE(a_session_that_pmpi_created_may_be_used, PUBLISHER),
    CASE(a_bound_pvar_has_a_count_and_values_for_each_object, PUBLISHER),
    CASE(a_publisher_may_free_the_handle_that_it_is_called_for, PUBLISHER),
    CASE(a_pvar_gets_its_bare_name_if_no_other_has_it, PUBLISHER),
    {NULL, NULL, LIBRARY},
};
