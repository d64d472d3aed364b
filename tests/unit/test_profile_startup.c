/* SPDX-License-Identifier: MIT */
/* Tests the finding about a rank that works alone at the start of the run, with runs that have it
 * and with similar runs that do not. */
#define _GNU_SOURCE
#include "unit.h"

#include "tools/profile/result/findings.h"
#include "tools/profile/result/profile_result.h"
#include "util/message.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { RANKS = 3, WINDOWS = 100 };

/* Makes windows from a string for each rank. In each window, the rank works ('w'), is in MPI ('m'),
 * is not profiled ('.'), or is in MPI for a number of tenths of the window (a digit). The last
 * character is repeated. */
static struct profile_result *make(const char *const *does)
{
    struct profile_result *result = qmpi_allocate(1, sizeof *result);
    const double width = 0.064, elapsed = width * WINDOWS;
    result->rank = -1;
    result->ranks = RANKS;
    result->application =
        (struct profile_spread){RANKS * elapsed, elapsed, elapsed, elapsed, 0, 0, 0};
    result->process_count = result->windows.rank_count = RANKS;
    result->processes = qmpi_allocate(RANKS, sizeof *result->processes);
    result->windows.width = width;
    result->windows.ranks = qmpi_allocate(RANKS, sizeof *result->windows.ranks);
    for (int i = 0; i < RANKS; i++) {
        struct profile_window_rank *rank = &result->windows.ranks[i];
        *rank = (struct profile_window_rank){.rank = i, .count = WINDOWS};
        result->processes[i] = (struct profile_process){
            .rank = i, .host = qmpi_copy("host"), .application = elapsed, .useful = elapsed};
        rank->mpi = qmpi_allocate(WINDOWS, 1);
        rank->profiled = qmpi_allocate(WINDOWS, 1);
        struct profile_windows_rounding rounding = {0, 0};
        for (size_t number = 0; number < WINDOWS; number++) {
            const size_t length = strlen(does[i]);
            const char it = does[i][number < length ? number : length - 1];
            const double part = it == 'm' ? 1 : it >= '0' && it <= '9' ? (it - '0') / 10.0 : 0;
            const double profiled = it == '.' ? 0 : width;
            profile_window_set(&rounding, rank, width, number,
                               (struct profile_window){profiled, part * profiled});
        }
    }
    return result;
}

/* Lets all ranks wait at call sites. `longest` has the seconds of the longest call at each site,
 * and ends with 0. */
static void add_callsites(struct profile_result *result, const char *name, const double *longest)
{
    result->callsites = qmpi_allocate(4, sizeof *result->callsites);
    for (; longest[result->callsite_count] > 0; result->callsite_count++) {
        struct profile_callsite *site = &result->callsites[result->callsite_count];
        site->name = qmpi_copy(name);
        site->calls.longest = longest[result->callsite_count];
        site->callers.count = RANKS;
        site->callers.all = qmpi_allocate(RANKS, sizeof *site->callers.all);
        for (int i = 0; i < RANKS; i++)
            site->callers.all[i] = (struct profile_rank_calls){.rank = i, .calls = 9, .time = 0.7};
    }
}

/* Asserts that the only finding is that `rank` works alone for `windows` windows, or that there is
 * no finding if `windows` is 0. Of the call sites, the finding names that whose longest call is
 * nearest to this time. */
static void assert_startup(const char *const *does, int rank, double windows)
{
    struct profile_result *result = make(does);
    struct profile_findings findings;
    add_callsites(result, "MPI_Bcast", (const double[]){0.1, 0.64, 2, 0});
    assert_true(profile_findings_find(result, &findings));
    assert_int_equal(findings.count, windows > 0);
    if (windows > 0) {
        assert_int_equal(findings.all[0].kind, FINDING_SERIAL_STARTUP);
        assert_int_equal(findings.all[0].rank, rank);
        assert_ptr_equal(findings.all[0].site, &result->callsites[1]);
        if (!(fabs(findings.all[0].seconds - windows * 0.064) < 0.001))
            fail_msg("%.6g s, not %.6g", findings.all[0].seconds, windows * 0.064);
    }
    profile_result_free(result);
}

static void one_rank_works_and_the_others_wait(void **state)
{
    (void)state;
    assert_startup((const char *const[]){"wwwwwwwwwww", "mmmmmmmmmmw", "mmmmmmmmmmw"}, 0, 10);
    assert_startup((const char *const[]){"mmmmmmmmmmw", "mmmmmmmmmmw", "wwwwwwwwwww"}, 2, 10);
}

static void parts_of_windows_at_the_beginning_and_the_end_count(void **state)
{
    (void)state;
    assert_startup((const char *const[]){"wwwwwwwwwww", "4mmmmmmmmm5w", "4mmmmmmmmm3w"}, 0, 9.7);
}

static void a_short_interruption_does_not_end_the_finding(void **state)
{
    (void)state;
    assert_startup((const char *const[]){"wwwwwwwwwww", "mmmm00mmmmw", "mmmmmmmmmmw"}, 0, 8);
}

/* No finding: the waiting is short or late, or it is not clear that exactly one rank works. */
static void short_late_or_unclear_waiting_is_no_finding(void **state)
{
    (void)state;
    assert_startup((const char *const[]){"w", "mmmmw", "mmmmw"}, 0, 0);
    assert_startup((const char *const[]){"w", "wwwwwwwmmmmmmmmmmw", "wwwwwwwmmmmmmmmmmw"}, 0, 0);
    assert_startup((const char *const[]){"w", "w", "mmmmmmmmmmw"}, 0, 0);
    assert_startup((const char *const[]){"w", "6666666666w", "6666666666w"}, 0, 0);
    assert_startup((const char *const[]){"mmmmmmmmmmw", "mmmmmmmmmmw", "mmmmmmmmmmw"}, 0, 0);
    assert_startup((const char *const[]){"w", "mmmmmmmmmmw", "..........w"}, 0, 0);
}

/* No finding: the others wait until the end of the run, or again later. */
static void waiting_during_the_whole_run_is_no_finding(void **state)
{
    (void)state;
    assert_startup((const char *const[]){"w", "m", "m"}, 0, 0);
    assert_startup((const char *const[]){"w", "mmmmmmmmmm9", "mmmmmmmmmm9"}, 0, 0);
    assert_startup((const char *const[]){"w", "mmmmmmmmmmwwwwwwwwwwmmmmmmmmmmw",
                                         "mmmmmmmmmmwwwwwwwwwwmmmmmmmmmmw"},
                   0, 0);
}

/* No finding: the others wait in MPI_Init, or in many short calls. */
static void waiting_in_mpi_init_or_in_many_short_calls_is_no_finding(void **state)
{
    static const struct {
        const char *name;
        double longest[2];
    } cases[] = {{"MPI_Bcast", {0.3}}, {"MPI_Init", {0.64}}, {"MPI_Init_thread", {0.64}}};
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct profile_findings findings;
        struct profile_result *result =
            make((const char *const[]){"w", "mmmmmmmmmmw", "mmmmmmmmmmw"});
        add_callsites(result, cases[i].name, cases[i].longest);
        assert_true(profile_findings_find(result, &findings));
        assert_int_equal(findings.count, 0);
        profile_result_free(result);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_rank_works_and_the_others_wait),
        cmocka_unit_test(parts_of_windows_at_the_beginning_and_the_end_count),
        cmocka_unit_test(a_short_interruption_does_not_end_the_finding),
        cmocka_unit_test(short_late_or_unclear_waiting_is_no_finding),
        cmocka_unit_test(waiting_in_mpi_init_or_in_many_short_calls_is_no_finding),
        cmocka_unit_test(waiting_during_the_whole_run_is_no_finding),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
