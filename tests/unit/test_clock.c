/* SPDX-License-Identifier: MIT */
/* Tests the clock in situations for which a test cannot wait: runs that last for days, and clocks
 * that have drifted apart. Also tests that the clock leaves no floating-point flags. */
#include "clock/clock.c"
#include "clock/round_trips.c"

#include "unit.h"

#include <fenv.h>

qmpi_function *qmpi_pmpi_functions[QMPI_FUNCTION_COUNT]; /* The test makes no calls of MPI. */

/* Sets the clock as if it had been started `nanoseconds` ago, that is, `ticks` of the counter ago.
 */
static void begin_earlier(uint64_t nanoseconds, uint64_t ticks)
{
    const struct qmpi_clock_moment now = read_both_clocks();
    beginning.nanoseconds = now.nanoseconds - nanoseconds;
    beginning.ticks = now.ticks - ticks;
}

static void long_times_are_as_accurate_as_short_ones(void **state)
{
    const uint64_t day = UINT64_C(86400000000000);
    (void)state;
    qmpi_clock_start();
    if (!qmpi_clock_is_counter)
        return;
    const double tick = qmpi_clock_refine().nanoseconds;
    for (uint64_t days = 1; days < 100; days *= 3) {
        const uint64_t nanoseconds = days * day, ticks = (uint64_t)((double)nanoseconds / tick);
        begin_earlier(nanoseconds, ticks);
        const uint64_t found = qmpi_clock_nanoseconds(ticks);
        assert_in_range(found, nanoseconds - 1000, nanoseconds + 1000);
    }
}

/* If a process seems to have the same clock as another process, it takes over that process's
 * relation to the clock of rank 0. If the relation was found a second ago, the clocks of the other
 * process and of rank 0 may have drifted apart since then, and the bound must include this drift.
 */
static void a_relation_holds_for_the_moment_at_which_it_was_found(void **state)
{
    enum { SECOND = 1000000000, HALF = 500 };
    const struct measurement measurement = {.tick = {.nanoseconds = 1}};
    const uint64_t found = 10 * (uint64_t)SECOND, now = found + SECOND;
    struct trip trip = {.begin = now - HALF, .length = 2 * HALF};
    trip.reply = (struct reply){.now = now, .is_counter = qmpi_clock_is_counter, .valid = true};
    trip.reply.reference = (struct qmpi_clock_reference){.tick = 1};
    trip.reply.relation =
        (struct qmpi_clock_relation){.here = found, .there = found, .bound = HALF, .rate = 1};
    const struct qmpi_clock_relation relation = relate_to_reference(&measurement, &trip);
    const double bound_now = relation.bound + ticks_between(now, relation.here) * QMPI_RATES_DIFFER;
    (void)state;
    assert_true(relation.here == relation.there && !relation.is_reference);
    assert_true(bound_now >= SECOND * QMPI_RATES_DIFFER);
    trip.reply.relation.is_reference = true;
    assert_true(relate_to_reference(&measurement, &trip).here == now);
}

/* The program may read the floating-point flags, or may have enabled traps for them. */
static void readings_leave_no_flag_of_the_floating_point_environment(void **state)
{
    (void)state;
    qmpi_clock_start();
    begin_earlier(UINT64_C(1000000007), UINT64_C(2899000013));
    feclearexcept(FE_ALL_EXCEPT);
    feenableexcept(FE_ALL_EXCEPT);
    qmpi_clock_nanoseconds(UINT64_MAX / 3);
    qmpi_clock_refine();
    fedisableexcept(FE_ALL_EXCEPT);
    assert_int_equal(fetestexcept(FE_ALL_EXCEPT), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(long_times_are_as_accurate_as_short_ones),
        cmocka_unit_test(a_relation_holds_for_the_moment_at_which_it_was_found),
        cmocka_unit_test(readings_leave_no_flag_of_the_floating_point_environment),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
