/* SPDX-License-Identifier: MIT */
/* Tests the names of output files, and how a process chooses among names if some are in use. */
#define _GNU_SOURCE
#include "unit.h"

#include "toolkit/output.h"
#include "toolkit/run.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

static char folder[] = "/tmp/qmpi-output-claim-XXXXXX";

/* Times in seconds before now. The run began at RUN. A file from EARLIER is of an earlier run; a
 * file from BEFORE is of this run, but older than this process. */
enum { RUN = 1000, EARLIER = 2000, BEFORE = 500, NOW = 0 };

static struct timespec first_file; /* This is the time of a file written after tool_run_find. */

/* The run began before this process, as if a script had started several programs. */
static int enter(void **state)
{
    char note[64];
    (void)state;
    snprintf(note, sizeof note, "%lld.000000000-1", (long long)time(NULL) - RUN);
    if (setenv("QMPI_RUN", note, 1) || !mkdtemp(folder))
        return -1;
    tool_run_find();
    struct stat status;
    const int file = open(folder, O_TMPFILE | O_WRONLY, 0600);
    if (file < 0 || write(file, "", 1) != 1 || fstat(file, &status) || close(file))
        return -1;
    first_file = status.st_mtim;
    return chdir(folder);
}

static int leave(void **state)
{
    (void)state;
    return chdir("/") == 0 && rmdir(folder) == 0 ? 0 : -1;
}

/* Makes a file that was changed `ago` seconds ago. */
static void make_file(const char *name, const char *content, int ago)
{
    FILE *stream = fopen(name, "w");
    assert_non_null(stream);
    fputs(content, stream);
    fclose(stream);
    const struct timespec times[2] = {{time(NULL) - ago, 0}, {time(NULL) - ago, 0}};
    if (ago)
        assert_int_equal(utimensat(AT_FDCWD, name, times, 0), 0);
}

static struct tool_output make_output(const char *pattern, int rank, bool is_of_process)
{
    struct tool_output output;
    const struct tool_output_names names = {
        .pattern = pattern, .tool_id = 1, .rank = rank, .is_of_process = is_of_process};
    assert_true(tool_output_make(&output, &names));
    return output;
}

static void assert_claims(const char *pattern, int rank, bool is_of_process, const char *expected)
{
    struct tool_output output = make_output(pattern, rank, is_of_process);
    assert_string_equal(tool_output_claim(&output, false), expected);
    tool_output_clear(&output);
}

/* ---- Names ----------------------------------------------------------------------------------- */

static void assert_suffix(const char *pattern, const char *suffix)
{
    assert_string_equal(pattern + tool_output_name_suffix(pattern), suffix);
}

static void a_suffix_begins_at_the_last_dot_and_is_no_number_or_placeholder(void **state)
{
    (void)state;
    assert_suffix("out.json", ".json");
    assert_suffix("a.b/out", "");
    assert_suffix("out", "");
    assert_suffix(".out", "");
    assert_suffix("a/.out", "");
    assert_suffix("out.tar.gz", ".gz");
    assert_suffix("out.1", "");
    assert_suffix("out-1.2", "");
    assert_suffix("%h.json", ".json");
    assert_suffix("out.%h", "");
    assert_suffix("out.a%%b", "");
    assert_suffix("out.", "");
}

static void the_rank_is_in_front_of_the_suffix(void **state)
{
    (void)state;
    assert_claims("out.json", 3, true, "out.3.json");
    assert_claims("out", 3, true, "out.3");
    assert_claims("out.%r.json", 3, true, "out.3.json");
    assert_claims("%r-out.json", 3, true, "3-out.json");
    assert_claims("out.json", 3, false, "out.json");
}

static void placeholders_name_program_job_user_and_date(void **state)
{
    char date[16], *expected;
    const time_t begin = time(NULL) - RUN;
    (void)state;
    strftime(date, sizeof date, "%Y-%m-%d", localtime(&begin));
    unsetenv("SLURM_JOB_ID");
    setenv("PBS_JOBID", "17/a.host", 1);
    setenv("LOGNAME", "ann", 1);
    char *name = tool_output_name("%x-%j-%u-%d%%", 1, 0);
    assert_true(asprintf(&expected, "%s-17_a.host-ann-%s%%", program_invocation_short_name, date) >
                0);
    assert_string_equal(name, expected);
    free(name);
    free(expected);
    unsetenv("PBS_JOBID");
    name = tool_output_name("%j", 1, 0);
    assert_string_equal(name, "0");
    free(name);
    assert_null(tool_output_name("%q", 1, 0));
    assert_null(tool_output_name("%", 1, 0));
}

static void assert_name(const char *pattern, const char *expected)
{
    char *name = tool_output_name(pattern, 1, 7);
    assert_non_null(name);
    assert_string_equal(name, expected);
    free(name);
}

static void a_name_contains_the_values_of_variables(void **state)
{
    (void)state;
    setenv("QMPI_SCRATCH_1", "/scratch/a%r", 1);
    setenv("QMPI_EMPTY", "", 1);
    unsetenv("QMPI_UNSET");
    assert_name("${QMPI_SCRATCH_1}/%r.json", "/scratch/a%r/7.json");
    assert_name("a${QMPI_SCRATCH_1}${QMPI_SCRATCH_1}", "a/scratch/a%r/scratch/a%r");
    assert_name("$QMPI_SCRATCH_1 $ %${QMPI_UNSET}", "$QMPI_SCRATCH_1 $ ${QMPI_UNSET}");
    assert_claims("out-${QMPI_SCRATCH_1}.json", 3, true, "out-/scratch/a%r.3.json");
    assert_null(tool_output_name("${QMPI_UNSET}", 1, 0));
    assert_null(tool_output_name("${QMPI_EMPTY}/x", 1, 0));
    assert_null(tool_output_name("${QMPI_SCRATCH_1", 1, 0));
    assert_null(tool_output_name("${1QMPI}", 1, 0));
    assert_null(tool_output_name("${}", 1, 0));
    assert_null(tool_output_name("${", 1, 0));
}

/* ---- Claims ---------------------------------------------------------------------------------- */

/* The kernel knows the start of this process only to the next 10 ms, and the time of a file to the
 * preceding tick of the clock. */
static void a_file_that_is_written_when_the_process_has_just_begun_is_not_complete(void **state)
{
    (void)state;
    assert_false(tool_output_is_complete(&first_file));
}

static void a_file_of_an_earlier_run_is_replaced(void **state)
{
    (void)state;
    make_file("out.json", "earlier", EARLIER);
    assert_claims("out.json", 0, false, "out.json");
    unlink("out.json");
}

static void a_file_of_this_run_is_left_alone(void **state)
{
    (void)state;
    make_file("out.json", "first", BEFORE);
    assert_claims("out.json", 0, false, "out.2.json");
    make_file("out.2.json", "second", NOW);
    assert_claims("out.json", 0, false, "out.3.json");
    make_file("out.2.json", "second, of an earlier run", EARLIER);
    assert_claims("out.json", 0, false, "out.2.json");
    unlink("out.json");
    unlink("out.2.json");
}

/* Two programs begin at the same time. */
static void a_file_of_an_earlier_run_is_replaced_once(void **state)
{
    (void)state;
    struct tool_output mine = make_output("out.json", 0, false);
    struct tool_output its = make_output("out.json", 0, false);
    make_file("out.json", "earlier", EARLIER);
    assert_string_equal(tool_output_claim(&mine, false), "out.json");
    assert_string_equal(tool_output_claim(&its, false), "out.2.json");
    assert_string_equal(tool_output_claim(&mine, false), "out.json");
    assert_string_equal(tool_output_claim(&its, false), "out.2.json");
    tool_output_clear(&mine);
    tool_output_clear(&its);
    unlink("out.json");
}

static void an_empty_file_that_was_made_for_the_output_is_used(void **state)
{
    (void)state;
    make_file("out.json", "", BEFORE);
    assert_claims("out.json", 0, false, "out.json");
    unlink("out.json");
}

static void a_file_that_is_opened_at_once_is_created(void **state)
{
    (void)state;
    struct tool_output mine = make_output("out", 0, false), its = make_output("out", 0, false);
    assert_string_equal(tool_output_claim(&mine, true), "out");
    assert_int_equal(access("out", F_OK), 0);
    assert_string_equal(tool_output_claim(&its, true), "out.2");
    tool_output_clear(&mine);
    tool_output_clear(&its);
    unlink("out");
    unlink("out.2");
}

static void a_file_that_appears_meanwhile_is_not_replaced(void **state)
{
    (void)state;
    struct tool_output output = make_output("out", 0, false);
    assert_string_equal(tool_output_claim(&output, false), "out");
    assert_int_not_equal(access("out", F_OK), 0);
    make_file("new", "mine", NOW);
    make_file("out", "its", NOW);
    assert_int_equal(tool_output_rename("new", "out", true), EEXIST);
    tool_output_pass(&output);
    assert_string_equal(tool_output_claim(&output, false), "out.2");
    assert_int_equal(tool_output_rename("new", "out.2", true), 0);
    assert_int_not_equal(access("new", F_OK), 0);
    tool_output_clear(&output);
    unlink("out");
    unlink("out.2");
}

/* Only rank 0 of the first program has written a file. Although the name of rank 1 is free, rank 1
 * of the second program must choose the same number as rank 0 of its program. */
static void all_ranks_of_a_program_have_the_same_number(void **state)
{
    (void)state;
    make_file("out.0.json", "of the first program", BEFORE);
    assert_claims("out.json", 0, true, "out.2.0.json");
    assert_claims("out.json", 1, true, "out.2.1.json");
    make_file("out.2.0.json", "of this program", NOW);
    assert_claims("out.json", 1, true, "out.2.1.json");
    unlink("out.0.json");
    unlink("out.2.0.json");
    make_file("out.0", "of this program, in an empty directory", NOW);
    assert_claims("out.%r", 1, true, "out.1");
    unlink("out.0");
}

/* Before MPI_Init, rank 0 of this program may have written a file before rank 1 began. */
static void a_file_of_another_rank_is_no_sign_of_an_earlier_program_before_mpi_init(void **state)
{
    (void)state;
    for (int ranks = 1; ranks <= 2; ranks++) {
        struct tool_output output = make_output("out", 1, true);
        make_file("out.0", "of this or the first program", BEFORE);
        if (ranks == 2)
            make_file("out.1", "of the first program", BEFORE);
        output.is_early = true;
        assert_string_equal(tool_output_claim(&output, false), ranks == 1 ? "out.1" : "out.2.1");
        tool_output_clear(&output);
    }
    unlink("out.0");
    unlink("out.1");
}

static void files_stay_where_the_program_began(void **state)
{
    (void)state;
    struct tool_output output;
    char *expected;
    const struct tool_output_names names = {.pattern = "out.json", .tool_id = 1, .folder = folder};
    assert_true(tool_output_make(&output, &names));
    assert_string_equal(tool_output_claim(&output, false), "out.json");
    assert_int_equal(chdir("/"), 0);
    assert_true(asprintf(&expected, "%s/out.json", folder) > 0);
    assert_string_equal(tool_output_claim(&output, false), expected);
    assert_int_equal(chdir(folder), 0);
    free(expected);
    tool_output_clear(&output);
}

/* Several processes may write to a device. */
static void a_device_is_not_claimed(void **state)
{
    (void)state;
    struct tool_output output = make_output("/dev/null", 1, true);
    assert_string_equal(tool_output_claim(&output, true), "/dev/null");
    tool_output_clear(&output);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_suffix_begins_at_the_last_dot_and_is_no_number_or_placeholder),
        cmocka_unit_test(the_rank_is_in_front_of_the_suffix),
        cmocka_unit_test(placeholders_name_program_job_user_and_date),
        cmocka_unit_test(a_name_contains_the_values_of_variables),
        cmocka_unit_test(a_file_that_is_written_when_the_process_has_just_begun_is_not_complete),
        cmocka_unit_test(a_file_of_an_earlier_run_is_replaced),
        cmocka_unit_test(a_file_of_this_run_is_left_alone),
        cmocka_unit_test(a_file_of_an_earlier_run_is_replaced_once),
        cmocka_unit_test(an_empty_file_that_was_made_for_the_output_is_used),
        cmocka_unit_test(a_file_that_is_opened_at_once_is_created),
        cmocka_unit_test(a_file_that_appears_meanwhile_is_not_replaced),
        cmocka_unit_test(all_ranks_of_a_program_have_the_same_number),
        cmocka_unit_test(a_file_of_another_rank_is_no_sign_of_an_earlier_program_before_mpi_init),
        cmocka_unit_test(files_stay_where_the_program_began),
        cmocka_unit_test(a_device_is_not_claimed),
    };
    return cmocka_run_group_tests_name("output_claim", tests, enter, leave);
}
