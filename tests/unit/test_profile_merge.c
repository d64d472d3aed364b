/* SPDX-License-Identifier: MIT */
/* Tests how two results are merged: results of one rank or of several, with elements that only one
 * of them has, and with exhausted memory. */
#define _GNU_SOURCE
#include "unit.h"

#include "profile_sample.h"
#include "tools/profile/result/merge.h"
#include "tools/profile/result/profile.h"

#include "util/message.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- Exhausted memory: the linker redirects calls of realloc --------------------------------- */

void *__real_realloc(void *memory, size_t size);
void *__wrap_realloc(void *memory, size_t size);

static int reallocs_left = -1; /* -1: unlimited */

void *__wrap_realloc(void *memory, size_t size)
{
    if (reallocs_left == 0)
        return NULL;
    reallocs_left -= reallocs_left > 0;
    return __real_realloc(memory, size);
}

/* ---- Results --------------------------------------------------------------------------------- */

/* Adds a region that takes `seconds`, with functions that take as long each. NULL ends the list of
 * functions, of which there are at most four. */
static void add_region(struct profile_result *result, const char *name, double seconds,
                       const char *const *functions)
{
    const size_t number = result->region_count++;
    struct profile_region *regions = qmpi_allocate(number + 1, sizeof *regions);
    if (number)
        memcpy(regions, result->regions, number * sizeof *regions);
    free(result->regions);
    result->regions = regions;
    struct profile_region *region = &regions[number];
    region->name = qmpi_copy(name);
    region->entries = 1;
    region->time = region->mpi =
        (struct profile_spread){seconds, seconds, seconds, seconds, 0, result->rank, result->rank};
    region->functions = qmpi_allocate(4, sizeof *region->functions);
    for (; functions[region->function_count]; region->function_count++) {
        struct profile_function *function = &region->functions[region->function_count];
        function->name = qmpi_copy(functions[region->function_count]);
        function->group = qmpi_copy("");
        function->calls.calls = 1;
        function->calls.time = region->time;
        function->calls.shortest = function->calls.longest = seconds;
    }
}

/* Sets the only call site, with two frames. `offset` is that of the second frame; `function`, which
 * may be NULL, is that of the first one. */
static void add_callsite(struct profile_result *result, uint64_t offset, const char *function)
{
    result->callsites = qmpi_allocate(1, sizeof *result->callsites);
    result->callsite_count = 1;
    struct profile_callsite *site = result->callsites;
    site->name = qmpi_copy("MPI_Send");
    site->ranks = 1;
    site->calls.calls = 1;
    site->frame_count = 2;
    site->frames = qmpi_allocate(2, sizeof *site->frames);
    site->frames[0].offset = 1;
    site->frames[0].module = qmpi_copy("/bin/app");
    site->frames[1].offset = offset;
    site->frames[1].module = qmpi_copy("/bin/app");
    if (function) {
        site->frames[0].function = qmpi_copy(function);
        site->frames[0].file = qmpi_copy("app.c");
        site->frames[0].line = 7;
    }
}

static char *describe(struct profile_result *result)
{
    char *text;
    size_t size;
    FILE *stream = open_memstream(&text, &size);
    profile_result_sort(result, PROFILE_BY_NAME);
    assert_true(profile_json_print(stream, result));
    fclose(stream);
    return text;
}

static const struct profile_function *find(const struct profile_function *functions, size_t count,
                                           const char *name)
{
    for (size_t i = 0; i < count; i++) {
        if (!strcmp(functions[i].name, name))
            return &functions[i];
    }
    fail_msg("no %s", name);
    return NULL;
}

static void assert_spread(struct profile_spread spread, double sum, double min, double max,
                          double stddev)
{
    assert_true(fabs(spread.sum - sum) < 1e-12);
    assert_true(fabs(spread.min - min) < 1e-12);
    assert_true(fabs(spread.max - max) < 1e-12);
    assert_true(fabs(spread.stddev - stddev) < 1e-12);
}

/* ---- Tests ----------------------------------------------------------------------------------- */

static void merging_in_a_tree_gives_the_same_result_as_in_a_line(void **state)
{
    (void)state;
    struct profile_result *tree[4], *line = sample_single(0, 3, NULL);
    for (int rank = 0; rank < 4; rank++)
        tree[rank] = sample_single(rank, 3 + 2 * rank, NULL);
    assert_true(profile_merge(tree[2], tree[3]));
    assert_true(profile_merge(tree[0], tree[1]));
    assert_true(profile_merge(tree[0], tree[2]));
    for (int rank = 1; rank < 4; rank++)
        assert_true(profile_merge(line, sample_single(rank, 3 + 2 * rank, NULL)));
    assert_int_equal(tree[0]->ranks, 4);
    assert_int_equal(tree[0]->rank, -1);
    /* 3, 5, 7, 9 */
    assert_spread(find(tree[0]->functions, tree[0]->function_count, "MPI_Send")->calls.time, 24, 3,
                  9, sqrt(5));
    char *one = describe(tree[0]), *other = describe(line);
    assert_string_equal(one, other);
    free(one);
    free(other);
    profile_result_free(tree[0]);
    profile_result_free(line);
}

/* ---- Ranks ----------------------------------------------------------------------------------- */

/* Makes the result of a rank whose calls of MPI_Test take `seconds`. If `seconds` is 0, the rank
 * does not call MPI_Test. */
static struct profile_result *make_caller(int rank, double seconds)
{
    struct profile_result *result = sample_single(rank, 1, NULL);
    struct profile_function *function = &result->functions[0];
    const struct profile_spread spread = {seconds, seconds, seconds, seconds, 0, rank, rank};
    if (seconds > 0) {
        free(function->name);
        function->name = qmpi_copy("MPI_Test");
        function->ranks = 1;
        function->calls.calls = (uint64_t)seconds;
        function->calls.time = spread;
    }
    return result;
}

/* Merges in a tree the results of `count` ranks, of which `first` is the lowest. `seconds` has the
 * times of all ranks from 0 on. */
static struct profile_result *merge_tree(const double *seconds, int first, int count)
{
    if (count == 1)
        return make_caller(first, seconds[first]);
    struct profile_result *result = merge_tree(seconds, first, count / 2);
    assert_true(profile_merge(result, merge_tree(seconds, first + count / 2, count - count / 2)));
    return result;
}

static const struct profile_function *find_test(const struct profile_result *result)
{
    return find(result->functions, result->function_count, "MPI_Test");
}

static void of_equal_ranks_the_lowest_is_named_as_least_or_most(void **state)
{
    (void)state;
    const double cases[][5] = {
        {3, 1, 2, 1, 3}, {0, 2, 0, 5, 5}, {4, 4, 0, 4, 4}, {0, 0, 0, 0, 1}, {1, 0, 0, 0, 0}};
    const int wanted[][2] = {{1, 0}, {0, 3}, {2, 0}, {0, 4}, {1, 0}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct profile_result *tree = merge_tree(cases[i], 0, 5),
                              *line = make_caller(4, cases[i][4]);
        for (int rank = 3; rank >= 0; rank--)
            assert_true(profile_merge(line, make_caller(rank, cases[i][rank])));
        assert_int_equal(find_test(tree)->calls.time.min_rank, wanted[i][0]);
        assert_int_equal(find_test(tree)->calls.time.max_rank, wanted[i][1]);
        assert_int_equal(find_test(line)->calls.time.min_rank, wanted[i][0]);
        assert_int_equal(find_test(line)->calls.time.max_rank, wanted[i][1]);
        profile_result_free(tree);
        profile_result_free(line);
    }
}

static void assert_listed(const struct profile_by_rank *by_rank, const double *seconds,
                          const bool *listed, int count)
{
    size_t at = 0;
    for (int rank = 0; rank < count; rank++) {
        if (!listed[rank])
            continue;
        assert_true(at < by_rank->count);
        assert_int_equal(by_rank->all[at].rank, rank);
        assert_int_equal(by_rank->all[at].calls, (uint64_t)seconds[rank]);
        assert_true(by_rank->all[at++].time == seconds[rank]);
    }
    assert_int_equal(at, by_rank->count);
}

static void the_ranks_with_the_least_and_the_most_time_are_listed(void **state)
{
    (void)state;
    enum { RANKS = 77, HALF = PROFILE_OUTLIERS / 2 };
    double seconds[RANKS];
    bool listed[RANKS];
    for (int rank = 0; rank < RANKS; rank++) {
        const int place = rank * 31 % RANKS; /* where the rank stands in the order of times */
        seconds[rank] = place + 5;
        listed[rank] = place < HALF || place >= RANKS - HALF;
    }
    struct profile_result *tree = merge_tree(seconds, 0, RANKS), *line = make_caller(0, seconds[0]);
    for (int rank = 1; rank < RANKS; rank++)
        assert_true(profile_merge(line, make_caller(rank, seconds[rank])));
    assert_listed(&find_test(tree)->by_rank, seconds, listed, RANKS);
    assert_listed(&find_test(line)->by_rank, seconds, listed, RANKS);
    assert_int_equal(find_test(tree)->ranks, RANKS);
    profile_result_free(tree);
    profile_result_free(line);
}

static void ranks_without_calls_are_listed_with_zero(void **state)
{
    (void)state;
    const double seconds[] = {0, 0, 7, 0, 3};
    const bool all[] = {true, true, true, true, true};
    struct profile_result *result = merge_tree(seconds, 0, 5);
    assert_listed(&find_test(result)->by_rank, seconds, all, 5);
    assert_int_equal(find_test(result)->ranks, 2);
    /* All ranks but rank 0 called MPI_Recv. The list of MPI_Recv contains rank 0, too. */
    assert_int_equal(find(result->functions, result->function_count, "MPI_Recv")->by_rank.count, 5);
    profile_result_free(result);
}

static void every_rank_that_called_is_listed_on_request(void **state)
{
    (void)state;
    enum { RANKS = 50 };
    double seconds[RANKS];
    bool listed[RANKS];
    struct profile_result *result = NULL;
    for (int rank = 0; rank < RANKS; rank++) {
        seconds[rank] = rank % 3 ? rank + 1 : 0;
        listed[rank] = rank % 3;
        struct profile_result *more = make_caller(rank, seconds[rank]);
        more->every_rank = true;
        if (result)
            assert_true(profile_merge(result, more));
        else
            result = more;
    }
    assert_true(result->every_rank);
    assert_listed(&find_test(result)->by_rank, seconds, listed, RANKS);
    profile_result_free(result);
}

static void ranks_that_differ_little_are_not_listed_in_files(void **state)
{
    (void)state;
    struct profile_result result = {.application = {.mean = 1000}};
    const struct profile_calls calls = {.time = {.mean = 10}, .wait = {.mean = 2}};
    /* The sum of time and wait counts. A rank whose sum differs by more than 1 s from the mean, 12
     * s, is listed. */
    struct profile_rank_calls rank = {.time = 10, .wait = 2.9};
    assert_false(profile_rank_is_listed(&result, &calls, &rank));
    rank.wait = 3.1;
    assert_true(profile_rank_is_listed(&result, &calls, &rank));
    rank = (struct profile_rank_calls){.time = 10.9};
    assert_false(profile_rank_is_listed(&result, &calls, &(struct profile_rank_calls){.time = 12}));
    assert_true(profile_rank_is_listed(&result, &calls, &rank));
    result.every_rank = true;
    assert_true(profile_rank_is_listed(&result, &calls, &(struct profile_rank_calls){.time = 12}));
}

static void functions_of_a_region_are_merged_as_those_of_the_run(void **state)
{
    (void)state;
    struct profile_result *into = sample_single(0, 1, NULL), *from = sample_single(1, 1, NULL);
    add_region(into, "both", 2, (const char *const[]){"MPI_Wait", "MPI_Send", NULL});
    add_region(from, "both", 4, (const char *const[]){"MPI_Send", "MPI_Recv", "MPI_Bcast", NULL});
    add_region(from, "its", 6, (const char *const[]){"MPI_Send", NULL});
    assert_true(profile_merge(into, from));
    assert_int_equal(into->region_count, 4); /* The samples have the regions `even` and `odd`. */
    const struct profile_region *both = &into->regions[0], *its = &into->regions[2];
    assert_string_equal(both->name, "both");
    assert_int_equal(both->entries, 2);
    assert_int_equal(both->function_count, 4);
    assert_spread(both->time, 6, 2, 4, 1);
    assert_spread(find(both->functions, 4, "MPI_Send")->calls.time, 6, 2, 4, 1);
    assert_spread(find(both->functions, 4, "MPI_Wait")->calls.time, 2, 0, 2, 1);
    assert_spread(find(both->functions, 4, "MPI_Bcast")->calls.time, 4, 0, 4, 2);
    assert_string_equal(its->name, "its");
    assert_spread(its->mpi, 6, 0, 6, 3);
    assert_spread(find(its->functions, its->function_count, "MPI_Send")->calls.time, 6, 0, 6, 3);
    profile_result_free(into);
}

static void call_sites_are_the_same_if_all_frames_are(void **state)
{
    (void)state;
    struct profile_result *into = sample_single(0, 1, NULL), *from = sample_single(1, 1, NULL),
                          *other = sample_single(2, 1, NULL);
    add_callsite(into, 2, NULL);
    add_callsite(from, 2, "work");
    add_callsite(other, 3, NULL);
    assert_true(profile_merge(into, from));
    assert_int_equal(into->callsite_count, 1);
    assert_int_equal(into->callsites->ranks, 2);
    assert_int_equal(into->callsites->calls.calls, 2);
    /* Places that only one side knows are kept. */
    assert_string_equal(into->callsites->frames[0].function, "work");
    assert_string_equal(into->callsites->frames[0].file, "app.c");
    assert_int_equal(into->callsites->frames[0].line, 7);
    assert_true(profile_merge(into, other));
    assert_int_equal(into->callsite_count, 2);
    profile_result_free(into);
}

/* Puts a frame of an inlined function in front of the frames of a call site. */
static void add_inlined(struct profile_callsite *site, const char *function)
{
    struct profile_frame *frames = qmpi_allocate((size_t)site->frame_count + 1, sizeof *frames);
    memcpy(frames + 1, site->frames, (size_t)site->frame_count * sizeof *frames);
    frames[0] = (struct profile_frame){.offset = site->frames[0].offset,
                                       .module = qmpi_copy(site->frames[0].module),
                                       .function = qmpi_copy(function),
                                       .inlined = true};
    free(site->frames);
    site->frames = frames;
    site->frame_count++;
}

static void call_sites_are_the_same_with_and_without_inlined_frames(void **state)
{
    (void)state;
    for (int turn = 0; turn < 2; turn++) {
        struct profile_result *sides[] = {sample_single(0, 1, NULL), sample_single(1, 1, NULL)};
        struct profile_result *other = sample_single(2, 1, NULL);
        add_callsite(sides[turn], 2, "work");
        add_inlined(sides[turn]->callsites, "inner");
        add_callsite(sides[!turn], 2, NULL);
        add_callsite(other, 3, "work");
        add_inlined(other->callsites, "inner");
        assert_true(profile_merge(sides[0], sides[1]));
        assert_int_equal(sides[0]->callsite_count, 1);
        const struct profile_callsite *site = sides[0]->callsites;
        assert_int_equal(site->ranks, 2);
        assert_int_equal(site->frame_count, 3);
        assert_string_equal(site->frames[0].function, "inner");
        assert_string_equal(site->frames[1].function, "work");
        assert_true(site->frames[0].inlined && !site->frames[1].inlined);
        assert_true(profile_merge(sides[0], other));
        assert_int_equal(sides[0]->callsite_count, 2);
        profile_result_free(sides[0]);
    }
}

static void a_full_result_merged_into_an_empty_one_stays_the_same(void **state)
{
    (void)state;
    struct profile_result *empty = qmpi_allocate(1, sizeof *empty), *full = sample_full();
    empty->program = qmpi_copy(full->program);
    empty->mpi = qmpi_copy(full->mpi);
    empty->begin = qmpi_copy(full->begin);
    empty->tool_id = full->tool_id;
    char *before = describe(full);
    assert_true(profile_merge(empty, full));
    char *after = describe(empty);
    assert_string_equal(before, after);
    free(before);
    free(after);
    profile_result_free(empty);
}

/* A result that was read from a file may contain an element twice. */
static void elements_that_occur_twice_do_no_harm(void **state)
{
    (void)state;
    struct profile_result *into = sample_single(0, 1, NULL), *from = sample_single(0, 2, NULL);
    add_region(into, "x", 1, (const char *const[]){"MPI_Send", NULL});
    add_region(into, "x", 1, (const char *const[]){NULL});
    add_region(from, "x", 1, (const char *const[]){NULL});
    add_region(from, "x", 1, (const char *const[]){"MPI_Send", "MPI_Send", "MPI_Recv", NULL});
    assert_true(profile_merge(into, from));
    assert_int_equal(into->process_count, 1);
    profile_result_free(into);
}

static void without_memory_the_result_stays_as_it_was(void **state)
{
    (void)state;
    bool merged = false;
    int failures = 0;
    for (int reallocs = 0; !merged; reallocs++) {
        struct profile_result *into = sample_single(0, 1, "exit"),
                              *from = sample_single(1, 2, "exit");
        add_region(into, "x", 1, (const char *const[]){"MPI_Send", NULL});
        add_region(from, "x", 2, (const char *const[]){"MPI_Recv", NULL});
        add_callsite(into, 2, NULL);
        add_callsite(from, 2, "work");
        char *before = describe(into);
        reallocs_left = reallocs;
        merged = profile_merge(into, from);
        reallocs_left = -1;
        char *after = describe(into);
        assert_int_equal(strcmp(before, after) != 0, merged);
        failures += !merged;
        free(before);
        free(after);
        profile_result_free(into);
    }
    /* The merge calls realloc 20 times: for ten arrays, for the calls by rank and the callers of
     * three functions and of a call site, and for the functions and nodes of region x. */
    assert_int_equal(failures, 20);
}

/* ---- Waits ----------------------------------------------------------------------------------- */

static void set_waits(struct profile_result *result, size_t count, const struct profile_wait *waits)
{
    struct profile_waits *its = &result->callsites[0].waits;
    its->all = qmpi_allocate(count, sizeof *its->all);
    its->count = count;
    memcpy(its->all, waits, count * sizeof *waits);
}

static void waits_of_one_rank_for_one_peer_become_one(void **state)
{
    (void)state;
    struct profile_result *result = sample_single(0, 1, "exit");
    struct profile_result *other = sample_single(1, 1, "exit");
    add_callsite(result, 1, "f");
    add_callsite(other, 1, "f");
    set_waits(result, 2, (struct profile_wait[]){{0, 1, 2, 0.5}, {0, 3, 1, 1}});
    set_waits(other, 3, (struct profile_wait[]){{0, 1, 4, 0.25}, {1, -1, 1, 2}, {1, 0, 1, 3}});
    assert_true(profile_merge(result, other));
    const struct profile_waits *waits = &result->callsites[0].waits;
    const struct profile_wait wanted[] = {
        {0, 1, 6, 0.75}, {0, 3, 1, 1}, {1, -1, 1, 2}, {1, 0, 1, 3}};
    assert_int_equal(waits->count, 4);
    for (int i = 0; i < 4; i++) {
        assert_int_equal(waits->all[i].rank, wanted[i].rank);
        assert_int_equal(waits->all[i].peer, wanted[i].peer);
        assert_int_equal(waits->all[i].calls, wanted[i].calls);
        assert_true(waits->all[i].time == wanted[i].time);
    }
    profile_result_free(result);
}

static void of_many_waits_the_longest_are_kept_unless_all_are_wanted(void **state)
{
    (void)state;
    for (int every = 0; every < 2; every++) {
        struct profile_wait waits[PROFILE_WAITS_MOST];
        struct profile_result *result = sample_single(0, 1, "exit");
        result->every_rank = every;
        add_callsite(result, 1, "f");
        for (int rank = 1; rank < 3; rank++) {
            struct profile_result *other = sample_single(rank, 1, "exit");
            other->every_rank = every;
            add_callsite(other, 1, "f");
            for (int peer = 0; peer < PROFILE_WAITS_MOST; peer++)
                waits[peer] = (struct profile_wait){rank, peer, 1, peer % 2 ? 1 + rank : 1};
            set_waits(other, PROFILE_WAITS_MOST, waits);
            assert_true(profile_merge(result, other));
        }
        const struct profile_waits *its = &result->callsites[0].waits;
        assert_int_equal(its->count, every ? 2 * PROFILE_WAITS_MOST : PROFILE_WAITS_MOST);
        for (size_t i = 0; !every && i < its->count; i++)
            assert_true(its->all[i].time > 1 && (!i || its->all[i].rank >= its->all[i - 1].rank));
        profile_result_free(result);
    }
}

static void many_waits_of_one_process_are_reduced_even_if_the_other_has_none(void **state)
{
    (void)state;
    struct profile_wait waits[PROFILE_WAITS_MOST + 10];
    struct profile_result *result = sample_single(0, 1, "exit");
    struct profile_result *other = sample_single(1, 1, "exit");
    add_callsite(result, 1, "f");
    add_callsite(other, 1, "f");
    for (int peer = 0; peer < PROFILE_WAITS_MOST + 10; peer++)
        waits[peer] = (struct profile_wait){0, peer, 1, 1};
    set_waits(result, PROFILE_WAITS_MOST + 10, waits);
    assert_true(profile_merge(result, other));
    assert_int_equal(result->callsites[0].waits.count, PROFILE_WAITS_MOST);
    profile_result_free(result);
}

/* Each wait of rank LONGEST is shorter than those of the other ranks, but the rank waits
 * longest in total. Its waits are fewer than half of those that are kept, so that none of them is
 * left out. */
static void short_waits_of_the_rank_that_waits_longest_are_kept(void **state)
{
    (void)state;
    enum { RANKS = 100, PEERS = 26, LONGEST = 40 };
    struct profile_wait waits[PEERS];
    struct profile_result *result = sample_single(0, 1, "exit");
    add_callsite(result, 1, "f");
    for (int rank = 1; rank < RANKS; rank++) {
        struct profile_result *other = sample_single(rank, 1, "exit");
        const int peers = rank == LONGEST ? PEERS : 1;
        add_callsite(other, 1, "f");
        for (int peer = 0; peer < peers; peer++)
            waits[peer] = (struct profile_wait){rank, peer, 1, rank == LONGEST ? 1 : 2};
        set_waits(other, (size_t)peers, waits);
        assert_true(profile_merge(result, other));
    }
    const struct profile_waits *its = &result->callsites[0].waits;
    int count = 0;
    for (size_t i = 0; i < its->count; i++)
        count += its->all[i].rank == LONGEST;
    assert_int_equal(its->count, PROFILE_WAITS_MOST);
    assert_int_equal(count, PEERS);
    profile_result_free(result);
}

/* The callers depend neither on ranks without calls nor on whether the result lists every rank. */
static void callers_do_not_depend_on_the_listed_ranks(void **state)
{
    (void)state;
    enum { RANKS = 150, HALF = PROFILE_OUTLIERS / 2 };
    for (int every = 0; every < 2; every++) {
        struct profile_result *result = NULL;
        for (int rank = 0; rank < RANKS; rank++) {
            struct profile_result *more = make_caller(rank, rank % 3 ? 0 : rank + 1);
            more->every_rank = every;
            if (result)
                assert_true(profile_merge(result, more));
            else
                result = more;
        }
        const struct profile_by_rank *callers = &find_test(result)->callers;
        assert_int_equal(callers->count, PROFILE_OUTLIERS);
        for (int i = 0; i < PROFILE_OUTLIERS; i++)
            assert_int_equal(callers->all[i].rank,
                             3 * (i < HALF ? i : i + RANKS / 3 - PROFILE_OUTLIERS));
        profile_result_free(result);
    }
}

/* Makes the result of a rank that spends `seconds` between two call sites. If `seconds` is 0, the
 * result does not list these call sites. */
static struct profile_result *make_outside(int rank, double seconds)
{
    struct profile_result *result = sample_single(rank, 1, "exit");
    if (!(seconds > 0))
        return result;
    result->outside = qmpi_allocate(1, sizeof *result->outside);
    result->outside_count = 1;
    result->outside[0] = (struct profile_outside){
        .from = 7, .to = 3, .time = {seconds, seconds, seconds, seconds, 0, rank, rank}};
    return result;
}

static void time_outside_mpi_is_that_of_all_ranks_that_list_it(void **state)
{
    enum { RANKS = 4 };
    static const double seconds[RANKS] = {1, 0, 5, 2};
    (void)state;
    for (int first = 0; first < RANKS; first++) {
        struct profile_result *result = make_outside(first, seconds[first]);
        for (int i = 1; i < RANKS; i++) {
            const int rank = (first + i) % RANKS;
            assert_true(profile_merge(result, make_outside(rank, seconds[rank])));
        }
        assert_int_equal(result->outside_count, 1);
        const struct profile_outside *it = result->outside;
        assert_true(it->from == 7 && it->to == 3);
        assert_true(it->time.sum == 8 && it->time.mean == 2 && it->time.min == 0);
        assert_true(it->time.max == 5 && it->time.max_rank == 2 && it->time.min_rank == 1);
        assert_int_equal(it->ranks.count, 3);
        for (int i = 0; i < 3; i++) {
            assert_int_equal(it->ranks.all[i].rank, i ? i + 1 : 0);
            assert_true(it->ranks.all[i].time == seconds[i ? i + 1 : 0]);
        }
        profile_result_free(result);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(merging_in_a_tree_gives_the_same_result_as_in_a_line),
        cmocka_unit_test(of_equal_ranks_the_lowest_is_named_as_least_or_most),
        cmocka_unit_test(the_ranks_with_the_least_and_the_most_time_are_listed),
        cmocka_unit_test(ranks_without_calls_are_listed_with_zero),
        cmocka_unit_test(every_rank_that_called_is_listed_on_request),
        cmocka_unit_test(ranks_that_differ_little_are_not_listed_in_files),
        cmocka_unit_test(functions_of_a_region_are_merged_as_those_of_the_run),
        cmocka_unit_test(call_sites_are_the_same_if_all_frames_are),
        cmocka_unit_test(call_sites_are_the_same_with_and_without_inlined_frames),
        cmocka_unit_test(a_full_result_merged_into_an_empty_one_stays_the_same),
        cmocka_unit_test(elements_that_occur_twice_do_no_harm),
        cmocka_unit_test(without_memory_the_result_stays_as_it_was),
        cmocka_unit_test(waits_of_one_rank_for_one_peer_become_one),
        cmocka_unit_test(of_many_waits_the_longest_are_kept_unless_all_are_wanted),
        cmocka_unit_test(many_waits_of_one_process_are_reduced_even_if_the_other_has_none),
        cmocka_unit_test(short_waits_of_the_rank_that_waits_longest_are_kept),
        cmocka_unit_test(callers_do_not_depend_on_the_listed_ranks),
        cmocka_unit_test(time_outside_mpi_is_that_of_all_ranks_that_list_it),
    };
    return cmocka_run_group_tests_name("profile_merge", tests, NULL, NULL);
}
