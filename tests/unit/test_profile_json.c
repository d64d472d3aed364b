/* SPDX-License-Identifier: MIT */
/* Tests profile's files in JSON: a result that is written and read again is unchanged, and the
 * message about an error names the place of the error in the file. */
#define _GNU_SOURCE
#include "unit.h"

#include "profile_sample.h"
#include "tools/profile/result/profile.h"
#include "util/message.h"
#include "util/util.h"

#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static char path[64];

static int make_path(void **state)
{
    (void)state;
    snprintf(path, sizeof path, "/tmp/qmpi-profile-json-%d", (int)getpid());
    return 0;
}

static int remove_path(void **state)
{
    (void)state;
    unlink(path);
    return 0;
}

static json_t *written(const struct profile_result *result)
{
    char *problem;
    assert_true(profile_json_write(result, path, &problem));
    json_t *document = json_load_file(path, 0, NULL);
    assert_non_null(document);
    return document;
}

static struct profile_result *read_again(void)
{
    char *problem;
    struct profile_result *result = profile_json_read(path, &problem);
    if (!result)
        fail_msg("%s", problem);
    return result;
}

/* Writes `document` to a file, releases it, and returns the message about it. */
static char *problem_of(json_t *document)
{
    char *problem;
    assert_int_equal(json_dump_file(document, path, JSON_ENCODE_ANY), 0);
    json_decref(document);
    assert_null(profile_json_read(path, &problem));
    assert_non_null(problem);
    return problem;
}

static void assert_problem(json_t *document, const char *expected)
{
    char *problem = problem_of(document);
    if (!strstr(problem, expected) || strncmp(problem, path, strlen(path)) != 0)
        fail_msg("'%s' is not in '%s'", expected, problem);
    free(problem);
}

/* ---- Valid documents ------------------------------------------------------------------------- */

static void a_full_result_is_written_and_read_back(void **state)
{
    (void)state;
    struct profile_result *first = sample_full();
    json_t *before = written(first);
    struct profile_result *second = read_again();
    json_t *after = written(second);
    assert_true(json_equal(before, after));

    assert_string_equal(second->program, first->program);
    assert_int_equal(second->tool_id, 3);
    assert_int_equal(second->rank, -1);
    assert_null(second->termination);
    assert_true(fabs(second->functions->calls.time.sum - 1.0 / 3) < 1e-14);
    assert_int_equal(second->functions->calls.received, INT64_MAX);
    assert_int_equal(second->functions->sizes[63], 2);
    assert_int_equal(second->functions->times[47], 5);
    assert_int_equal(second->functions->no_bytes, 3);
    assert_string_equal(second->callsites->frames[0].function, "f(int, char)");
    assert_int_equal(second->callsites->frames[0].line, 17);
    assert_null(second->callsites->frames[1].function);
    assert_int_equal(second->callsites->messages, 75);
    assert_true(second->callsites->frames[0].inlined && !second->callsites->frames[1].inlined);
    assert_true(second->every_rank);
    assert_int_equal(second->functions->ranks, 2);
    assert_int_equal(second->functions->calls.time.min_rank, 3);
    assert_int_equal(second->functions->calls.time.max_rank, 0);
    const struct profile_by_rank *lists[] = {&second->functions->by_rank,
                                             &second->callsites->by_rank};
    for (int i = 0; i < 2; i++) {
        assert_int_equal(lists[i]->count, 2);
        assert_int_equal(lists[i]->all[1].rank, 3);
        assert_int_equal(lists[i]->all[1].calls, 70);
        assert_true(lists[i]->all[0].time == 0.125 && lists[i]->all[0].wait == 0.5);
        assert_int_equal(lists[i]->all[0].sent, 56);
        assert_int_equal(lists[i]->all[1].received, INT64_MAX);
    }
    assert_true(second->callsites->frames[1].offset == 0x7fffffffffff);
    assert_true(second->communicators->members == UINT64_MAX - 1);
    assert_int_equal(second->communicators->first, -1);
    assert_string_equal(second->files->name, first->files->name);
    assert_string_equal(second->regions->functions->name, "MPI_Recv");
    assert_true(second->windows.width == 0.064);
    assert_int_equal(second->windows.ranks->count, 3);
    assert_true(second->windows.ranks->last == 0.03125);
    assert_memory_equal(second->windows.ranks->mpi, first->windows.ranks->mpi, 3);
    assert_memory_equal(second->windows.ranks->profiled, first->windows.ranks->profiled, 3);
    json_decref(before);
    json_decref(after);
    profile_result_free(first);
    profile_result_free(second);
}

/* The times of these ranks are near the mean, but cause a finding. Files list such ranks only as
 * callers. */
static void callers_that_are_not_listed_are_read_back(void **state)
{
    (void)state;
    struct profile_result *first = sample_full();
    struct profile_callsite *site = first->callsites;
    first->every_rank = false;
    first->application.mean = 10000;
    site->calls.time.max = first->application.max;
    site->callers = (struct profile_by_rank){qmpi_allocate(2, sizeof *site->callers.all), 2};
    memcpy(site->callers.all, site->by_rank.all, 2 * sizeof *site->callers.all);
    json_decref(written(first));
    struct profile_result *second = read_again();
    assert_int_equal(second->callsites->by_rank.count, 0);
    assert_int_equal(second->callsites->callers.count, 2);
    assert_memory_equal(&second->callsites->callers.all[0], &site->callers.all[0],
                        sizeof *site->callers.all);
    profile_result_free(second);
    first->every_rank = true; /* all are listed */
    json_decref(written(first));
    second = read_again();
    assert_int_equal(second->callsites->by_rank.count, 2);
    assert_int_equal(second->callsites->callers.count, 2);
    profile_result_free(first);
    profile_result_free(second);
}

static void a_single_process_keeps_its_rank_and_ending(void **state)
{
    (void)state;
    struct profile_result *first = sample_single(5, 2, "signal SIGTERM");
    json_decref(written(first));
    struct profile_result *second = read_again();
    assert_int_equal(second->rank, 5);
    assert_string_equal(second->termination, "signal SIGTERM");
    profile_result_free(first);
    profile_result_free(second);
}

static void programs_and_the_job_are_read_back(void **state)
{
    (void)state;
    struct profile_result *first = sample_full();
    assert_null(first->job);
    first->job = strdup("hydra:host:1/0");
    first->processes->program = strdup("/bin/ice");
    json_decref(written(first));
    struct profile_result *second = read_again();
    assert_string_equal(second->job, "hydra:host:1/0");
    assert_string_equal(second->processes->program, "/bin/ice");
    profile_result_free(first);
    profile_result_free(second);
}

static void bytes_that_are_no_utf8_are_replaced_one_by_one(void **state)
{
    (void)state;
    struct profile_result *result = sample_single(0, 1, NULL);
    free(result->program);
    result->program = strdup("a\xff\xc3\xa4\xe2\x82z\xf0\x9f\x98\x80\xc0\x80");
    json_t *document = written(result);
    assert_string_equal(json_string_value(json_object_get(document, "program")),
                        "a\xef\xbf\xbd\xc3\xa4\xef\xbf\xbd\xef\xbf\xbdz\xf0\x9f\x98\x80"
                        "\xef\xbf\xbd\xef\xbf\xbd");
    json_decref(document);
    profile_result_free(result);
}

/* Tries characters of every form, and invalid ones that are similar, and compares with jansson. */
static void valid_characters_are_those_that_jansson_accepts(void **state)
{
    static const char edges[] = "\x01z\x7f\x80\x8f\x90\x9f\xa0\xbf\xc0\xc1\xc2\xdf\xe0\xe1\xec\xed"
                                "\xee\xef\xf0\xf1\xf3\xf4\xf5\xff";
    enum { EDGES = sizeof edges }; /* includes the end of a text */
    (void)state;
    for (size_t i = 0; i < (size_t)EDGES * EDGES * EDGES * EDGES; i++) {
        const char text[] = {edges[i % EDGES], edges[i / EDGES % EDGES],
                             edges[i / EDGES / EDGES % EDGES], edges[i / EDGES / EDGES / EDGES],
                             '\0'};
        size_t length = *text ? 1 : 5;
        json_t *taken = NULL;
        for (; length <= strlen(text) && !taken; length++)
            taken = json_stringn(text, length);
        if (qmpi_text_character_length(text) != (taken ? length - 1 : 0))
            fail_msg("%02x %02x %02x %02x: %zu", text[0] & 255, text[1] & 255, text[2] & 255,
                     text[3] & 255, qmpi_text_character_length(text));
        json_decref(taken);
    }
}

static void infinity_becomes_0_and_too_large_numbers_become_the_largest(void **state)
{
    (void)state;
    struct profile_result *result = sample_single(0, 1, NULL);
    result->time.max = 1 / 0.0;
    result->functions->calls.sent = UINT64_MAX;
    json_decref(written(result));
    profile_result_free(result);
    result = read_again();
    assert_true(result->time.max == 0);
    assert_true(result->functions->calls.sent == INT64_MAX);
    profile_result_free(result);
}

static void unknown_members_are_passed_over(void **state)
{
    (void)state;
    struct profile_result *result = sample_full();
    json_t *document = written(result);
    json_object_set_new(document, "later", json_true());
    json_object_set_new(json_array_get(json_object_get(document, "functions"), 0), "later",
                        json_object());
    json_dump_file(document, path, 0);
    json_decref(document);
    profile_result_free(result);
    profile_result_free(read_again());
}

/* ---- Invalid documents ----------------------------------------------------------------------- */

/* Returns the object or array in `document` at a pointer such as "functions/0/time". */
static json_t *at(json_t *document, const char *pointer)
{
    char *copy = strdup(pointer), *rest = copy, *step;
    while ((step = strsep(&rest, "/")) && *step)
        document = json_is_array(document) ? json_array_get(document, (size_t)atoi(step))
                                           : json_object_get(document, step);
    free(copy);
    return document;
}

static void missing_and_wrong_members_are_named_with_their_place(void **state)
{
    (void)state;
    static const struct {
        const char *where, *member, *value; /* `value` is NULL if the member is to be removed */
        const char *expected;
    } cases[] = {
        {"", "program", NULL, ": program: expected a string, found nothing"},
        {"", "ranks", "0", ": ranks: expected a whole number from 1 to 2147483647, found 0"},
        {"", "ranks", "\"4\"", "found a string"},
        {"", "ranks", "4.0", "found a number"},
        {"", "rank", "-2", ": rank: expected a whole number from 0"},
        {"", "ending", "1", ": ending: expected a string, found 1"},
        {"", "application", "[]", ": application: expected an object, found an array"},
        {"", "functions", "{}", ": functions: expected an array, found an object"},
        {"", "functions", "[null]", ": functions[0]: expected an object, found null"},
        {"functions/0", "calls", "-1", ": functions[0].calls: expected a whole number, 0 or more"},
        {"functions/0", "calls", "true", "found true or false"},
        {"functions/0/time", "sum", "\"x\"", ": functions[0].time.sum: expected a number"},
        {"functions/0/bytes", "sent", NULL, ": functions[0].bytes.sent: expected"},
        {"functions/0", "sizes", "[[64,1]]", ": functions[0].sizes[0]: expected [bin from 0 to 63"},
        {"functions/0", "times", "[[1,1],[2]]", ": functions[0].times[1]: expected [bin from 0"},
        {"functions/0", "times", "[7]", ": functions[0].times[0]: expected"},
        {"callsites/0/frames/1", "module", NULL, ": callsites[0].frames[1].module: expected a str"},
        {"callsites/0/frames/0", "line", "0", ": callsites[0].frames[0].line: expected"},
        {"matrix/0", "to", "-1", ": matrix[0].to: expected a whole number from 0"},
        {"matrix/0", "from", "4294967296", ": matrix[0].from: expected"},
        {"functions/0/time", "min_rank", "-1", ": functions[0].time.min_rank: expected"},
        {"functions/0", "by_rank", "[]", ": functions[0].by_rank: expected an object"},
        {"functions/0/by_rank", "time", NULL, ": functions[0].by_rank.time: expected a number for"},
        {"functions/0/by_rank", "sent", "[1]", ": functions[0].by_rank.sent: expected a whole"},
        {"callsites/0/by_rank", "rank", "[1,-1]", ": callsites[0].by_rank.rank: expected a whole"},
        {"communicators/0", "members", "\"0x1g\"",
         ": communicators[0].members: expected a 64-bit number"},
        {"communicators/0", "members", "\"-1\"",
         ": communicators[0].members: expected a 64-bit number"},
        {"communicators/0", "first", "-2", ": communicators[0].first: expected"},
        {"regions/0/functions/0", "name", "3", ": regions[0].functions[0].name: expected a string"},
        {"processes/0", "memory", "null", ": processes[0].memory: expected"},
        {"windows", "width", "0.003", ": windows.width: expected 0.001 times a power of two"},
        {"windows", "width", "-1", ": windows.width: expected"},
        {"windows", "ranks", "3", ": windows.ranks: expected an array"},
        {"windows/ranks/0", "last", "0.1", ": windows.ranks: expected a time"},
        {"windows/ranks/0", "mpi", "[1,101,0]", ": windows.ranks[0].mpi: expected a percentage"},
        {"windows/ranks/0", "mpi", "[1,null]", ": windows.ranks[0].mpi: expected a percentage"},
        {"windows/ranks/0", "profiled", "[1]", ": windows.ranks[0].profiled: expected a perc"},
        {"files/0/wait", "mean", "null", ": files[0].wait.mean: expected a number, found null"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct profile_result *result = sample_full();
        json_t *document = written(result);
        json_t *object = at(document, cases[i].where);
        profile_result_free(result);
        if (cases[i].value)
            json_object_set_new(object, cases[i].member,
                                json_loads(cases[i].value, JSON_DECODE_ANY, NULL));
        else
            json_object_del(object, cases[i].member);
        assert_problem(document, cases[i].expected);
    }
}

static void documents_of_other_kinds_are_refused(void **state)
{
    (void)state;
    assert_problem(json_array(), ": the document: expected an object, found an array");
    assert_problem(json_object(), ": schema: expected a string, found nothing");
    assert_problem(json_pack("{s:s}", "schema", "qmpi-count/1"),
                   ": schema: expected qmpi-profile/2 or less, found 'qmpi-count/1'\nhint: ");
    assert_problem(json_pack("{s:s}", "schema", "qmpi-profile/12"),
                   ": schema qmpi-profile/12 is newer than this qmpi");
    assert_problem(json_pack("{s:s}", "schema", "qmpi-profile/1x"), "expected qmpi-profile/2 or");
}

static void assert_file_problem(const char *content, size_t length, const char *expected)
{
    char *problem;
    FILE *stream = fopen(path, "w");
    fwrite(content, 1, length, stream);
    fclose(stream);
    assert_null(profile_json_read(path, &problem));
    if (!strstr(problem, expected))
        fail_msg("'%s' is not in '%s'", expected, problem);
    free(problem);
}

static void files_that_are_cut_short_or_repeat_a_key_are_refused(void **state)
{
    (void)state;
    struct profile_result *result = sample_full();
    json_decref(written(result));
    profile_result_free(result);
    char content[16384];
    FILE *stream = fopen(path, "r");
    const size_t length = fread(content, 1, sizeof content, stream);
    fclose(stream);
    assert_in_range(length, 1000, sizeof content - 1);
    assert_file_problem(content, 0, "the file is empty");
    for (size_t cut = 1; cut < length - 2; cut += 7)
        assert_file_problem(content, cut, "invalid JSON: ");
    assert_file_problem("{\"schema\":1,\"schema\":2}", 23, "duplicate object key");
}

static void files_that_cannot_be_read_are_named(void **state)
{
    (void)state;
    char *problem;
    assert_null(profile_json_read("/nonexistent/file", &problem));
    assert_string_equal(problem, "cannot read /nonexistent/file: No such file or directory");
    free(problem);
    assert_null(profile_json_read("/", &problem));
    assert_string_equal(problem, "cannot read /: Is a directory");
    free(problem);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_full_result_is_written_and_read_back),
        cmocka_unit_test(callers_that_are_not_listed_are_read_back),
        cmocka_unit_test(a_single_process_keeps_its_rank_and_ending),
        cmocka_unit_test(programs_and_the_job_are_read_back),
        cmocka_unit_test(bytes_that_are_no_utf8_are_replaced_one_by_one),
        cmocka_unit_test(valid_characters_are_those_that_jansson_accepts),
        cmocka_unit_test(infinity_becomes_0_and_too_large_numbers_become_the_largest),
        cmocka_unit_test(unknown_members_are_passed_over),
        cmocka_unit_test(missing_and_wrong_members_are_named_with_their_place),
        cmocka_unit_test(documents_of_other_kinds_are_refused),
        cmocka_unit_test(files_that_are_cut_short_or_repeat_a_key_are_refused),
        cmocka_unit_test(files_that_cannot_be_read_are_named),
    };
    return cmocka_run_group_tests_name("profile_json", tests, make_path, remove_path);
}
