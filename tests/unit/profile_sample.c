/* SPDX-License-Identifier: MIT */
/* See profile_sample.h. */
#include "profile_sample.h"

#include "unit.h"
#include "util/message.h"

#include <stdlib.h>
#include <string.h>

static struct profile_spread spread(double sum)
{
    return (struct profile_spread){sum, sum / 4, sum / 8, sum / 2, 0.125, 3, 0};
}

static struct profile_calls calls(uint64_t count, double time)
{
    return (struct profile_calls){.calls = count,
                                  .time = spread(time),
                                  .shortest = 1e-9,
                                  .longest = time / 3,
                                  .wait = spread(time / 7),
                                  .sent = count * 8,
                                  .received = INT64_MAX};
}

static struct profile_by_rank by_rank(void)
{
    static const struct profile_rank_calls two[] = {{0, 7, 0.125, 0.5, 56, 0},
                                                    {3, 70, 1.0 / 12, 0, 560, INT64_MAX}};
    struct profile_rank_calls *all = qmpi_allocate(2, sizeof *all);
    for (int i = 0; i < 2; i++)
        all[i] = two[i];
    return (struct profile_by_rank){all, 2};
}

static struct profile_function *make_function(const char *name)
{
    struct profile_function *function = qmpi_allocate(1, sizeof *function);
    function->name = qmpi_copy(name);
    function->group = qmpi_copy("point-to-point");
    function->ranks = 2;
    function->calls = calls(77, 1.0 / 3);
    function->sizes[0] = 1;
    function->sizes[PROFILE_SIZE_BINS - 1] = 2;
    function->no_bytes = 3;
    function->times[0] = 4;
    function->times[PROFILE_TIME_BINS - 1] = 5;
    return function;
}

struct profile_result *sample_full(void)
{
    struct profile_result *result = qmpi_allocate(1, sizeof *result);
    result->program = qmpi_copy("/home/\"quoted\\\"/a,b\nc");
    result->mpi = qmpi_copy("MPICH Version:\t4.0.2");
    result->begin = qmpi_copy("2024-02-29T23:59:59Z");
    result->tool_id = 3;
    result->command = qmpi_copy("app 'a b'");
    result->batch_job = qmpi_copy("4711.0");
    result->user = qmpi_copy("ann");
    result->variable_count = 1;
    result->environment = qmpi_allocate(1, sizeof *result->environment);
    *result->environment =
        (struct profile_variable){qmpi_copy("UCX_TLS"), qmpi_copy("tcp,\"self\"\n")};
    result->ranks = 4;
    result->rank = -1;
    result->every_rank = true;
    result->application = spread(10);
    result->time = spread(4);

    result->process_count = 1;
    result->processes = qmpi_allocate(1, sizeof *result->processes);
    *result->processes = (struct profile_process){
        3, qmpi_copy("n\xc3\xb6rd"), 2.5,  0.5, 1.25, 1.25, 1.75, 1 << 20, 1.5, 0.25,
        7, qmpi_copy("0-3"),         NULL, NULL};

    result->function_count = 1;
    result->functions = make_function("MPI_Send");
    result->functions->by_rank = by_rank();

    result->callsite_count = 1;
    result->callsites = qmpi_allocate(1, sizeof *result->callsites);
    result->callsites->name = qmpi_copy("MPI_Send");
    result->callsites->ranks = 4;
    result->callsites->messages = 75;
    result->callsites->calls = calls(77, 1.0 / 3);
    result->callsites->by_rank = by_rank();
    result->callsites->frame_count = 2;
    result->callsites->frames = qmpi_allocate(2, sizeof *result->callsites->frames);
    result->callsites->frames[0] = (struct profile_frame){
        0x1234, qmpi_copy("/bin/a"), qmpi_copy("f(int, char)"), qmpi_copy("/src/a.cpp"), 17, true,
        false};
    result->callsites->frames[1] =
        (struct profile_frame){0x7fffffffffff, qmpi_copy(""), NULL, NULL, 0, false, false};

    result->outside_count = 1;
    result->outside = qmpi_allocate(1, sizeof *result->outside);
    *result->outside = (struct profile_outside){
        .from = profile_callsite_key("MPI_Send", result->callsites->frames, 2),
        .time = spread(1),
        .ranks = {qmpi_allocate(1, sizeof(struct profile_rank_calls)), 1}};
    *result->outside->ranks.all = (struct profile_rank_calls){.rank = 3, .time = 1.0 / 12};

    result->unfinished_receives = 6;
    result->flight_count = 1;
    result->flights = qmpi_allocate(1, sizeof *result->flights);
    *result->flights =
        (struct profile_flight){.name = qmpi_copy("MPI_Wait"),
                                .frame_count = 1,
                                .frames = qmpi_allocate(1, sizeof(struct profile_frame)),
                                .rank = 2,
                                .time = 5.5,
                                .waits = true,
                                .since = qmpi_copy("2024-02-29T23:59:59.999Z"),
                                .communicator = qmpi_copy("row"),
                                .comm = 1ull << 63,
                                .members = qmpi_copy("0-2,8-12:2"),
                                .root = -1,
                                .awaits = qmpi_allocate(2, sizeof(struct profile_await)),
                                .await_count = 2};
    result->flights->frames->module = qmpi_copy("/bin/a");
    result->flights->awaits[0] = (struct profile_await){.sending = true, .peer = 1, .tag = 5};
    result->flights->awaits[1] =
        (struct profile_await){.any = true, .peer = -1, .tag = -1, .comm = 77};

    result->matrix_entry_count = 1;
    result->matrix = qmpi_allocate(1, sizeof *result->matrix);
    *result->matrix = (struct profile_matrix_entry){1, 2, 3, 1ull << 40};

    result->communicator_count = 1;
    result->communicators = qmpi_allocate(1, sizeof *result->communicators);
    *result->communicators =
        (struct profile_communicator){qmpi_copy(""), 4, -1, UINT64_MAX - 1, 9, calls(5, 0.5)};

    result->file_count = 1;
    result->files = qmpi_allocate(1, sizeof *result->files);
    *result->files = (struct profile_file){qmpi_copy("out \x1b[31m.dat"), 4, 5, 6, calls(7, 0.25)};

    result->region_count = 1;
    result->regions = qmpi_allocate(1, sizeof *result->regions);
    *result->regions =
        (struct profile_region){.name = qmpi_copy("solve"),
                                .entries = 12,
                                .time = spread(3),
                                .mpi = spread(1),
                                .useful = spread(2),
                                .path = 2.25,
                                .nodes = qmpi_allocate(1, sizeof(struct profile_node)),
                                .node_count = 1,
                                .functions = make_function("MPI_Recv"),
                                .function_count = 1};
    *result->regions->nodes = (struct profile_node){qmpi_copy("n\xc3\xb6rd"), 2};

    result->windows = (struct profile_windows){
        .width = 0.064,
        .ranks = qmpi_allocate(1, sizeof *result->windows.ranks),
        .rank_count = 1,
    };
    *result->windows.ranks = (struct profile_window_rank){
        .rank = 3,
        .count = 3,
        .last = 0.03125,
        .mpi = qmpi_allocate(3, 1),
        .profiled = qmpi_allocate(3, 1),
    };
    result->windows.ranks->mpi[1] = 125;
    result->windows.ranks->mpi[2] = PROFILE_WINDOW_WHOLE;
    result->windows.ranks->profiled[1] = 7;
    return result;
}

struct profile_result *sample_single(int rank, int count, const char *termination)
{
    struct profile_result *result = qmpi_allocate(1, sizeof *result);
    const char *const names[] = {"MPI_Send", rank ? "MPI_Recv" : "MPI_Wait"};
    result->program = qmpi_copy("/bin/app");
    result->mpi = qmpi_copy("MPICH");
    result->begin = qmpi_format("2024-05-01T10:00:%02dZ", rank % 60);
    result->tool_id = 1;
    result->ranks = 1;
    result->rank = rank;
    result->termination = termination ? qmpi_copy(termination) : NULL;
    result->application = (struct profile_spread){100, 100, 100, 100, 0, rank, rank};
    result->process_count = 1;
    result->processes = qmpi_allocate(1, sizeof *result->processes);
    *result->processes = (struct profile_process){
        rank, qmpi_copy("host"), 100, 0, count + 1, 99 - count, 0, 1, 0, 0, 0, NULL, NULL, NULL};
    result->function_count = 2;
    result->functions = qmpi_allocate(2, sizeof *result->functions);
    for (int i = 0; i < 2; i++) {
        const int times = i ? 1 : count;
        struct profile_function *function = &result->functions[i];
        function->name = qmpi_copy(names[i]);
        function->group = qmpi_copy("point-to-point");
        function->ranks = 1;
        function->calls.calls = (uint64_t)times;
        function->calls.time = (struct profile_spread){times, times, times, times, 0, rank, rank};
        function->calls.shortest = function->calls.longest = 1;
        function->calls.sent = i ? 0 : (uint64_t)(8 * times);
        function->sizes[3] = i ? 0 : (uint64_t)times;
        function->times[30] = (uint64_t)times;
    }
    result->time =
        (struct profile_spread){count + 1, count + 1, count + 1, count + 1, 0, rank, rank};
    result->matrix_entry_count = 1;
    result->matrix = qmpi_allocate(1, sizeof *result->matrix);
    *result->matrix =
        (struct profile_matrix_entry){rank, 0, (uint64_t)count, (uint64_t)(8 * count)};
    result->region_count = 1;
    result->regions = qmpi_allocate(1, sizeof *result->regions);
    *result->regions = (struct profile_region){.name = qmpi_copy(rank ? "odd" : "even"),
                                               .entries = 1,
                                               .time = {6, 6, 6, 6, 0, rank, rank}};
    return result;
}

/* ---- A run with findings --------------------------------------------------------------------- */

struct profile_result *sample_run(void)
{
    struct profile_result *result = qmpi_allocate(1, sizeof *result);
    result->program = qmpi_copy("a");
    result->mpi = qmpi_copy("MPI");
    result->begin = qmpi_copy("2024-02-29T23:59:59Z");
    result->ranks = SAMPLE_RANKS;
    result->rank = -1;
    result->application = (struct profile_spread){400, 100, 100, 100, 0, 0, 0};
    result->process_count = SAMPLE_RANKS;
    result->processes = qmpi_allocate(SAMPLE_RANKS, sizeof *result->processes);
    for (int rank = 0; rank < SAMPLE_RANKS; rank++) {
        result->processes[rank] = (struct profile_process){.rank = rank,
                                                           .host = qmpi_copy(rank < 2 ? "a" : "b"),
                                                           .application = 100,
                                                           .useful = 50};
    }
    return result;
}

struct profile_callsite *sample_add_site(struct profile_result *result, const char *name,
                                         const char *file, int line)
{
    const size_t number = result->callsite_count++;
    struct profile_callsite *sites =
        realloc(result->callsites, (number + 1) * sizeof *result->callsites);
    assert_non_null(sites);
    result->callsites = sites;
    struct profile_callsite *site = &sites[number];
    *site =
        (struct profile_callsite){.name = qmpi_copy(name), .frame_count = 1, .ranks = SAMPLE_RANKS};
    site->frames = qmpi_allocate(1, sizeof *site->frames);
    *site->frames = (struct profile_frame){.offset = 0x1234,
                                           .module = qmpi_copy("/lib/libx.so"),
                                           .file = file ? qmpi_copy(file) : NULL,
                                           .line = line};
    return site;
}

void sample_add_function(struct profile_result *result, const char *name, const char *group)
{
    const size_t number = result->function_count++;
    struct profile_function *functions =
        realloc(result->functions, (number + 1) * sizeof *result->functions);
    assert_non_null(functions);
    result->functions = functions;
    functions[number] = (struct profile_function){
        .name = qmpi_copy(name), .group = qmpi_copy(group), .ranks = SAMPLE_RANKS};
}

void sample_set_waits(struct profile_callsite *site, size_t count, const struct profile_wait *waits)
{
    site->waits.all = qmpi_allocate(count, sizeof *site->waits.all);
    memcpy(site->waits.all, waits, count * sizeof *waits);
    site->waits.count = count;
}

void sample_add_wait(struct profile_result *result, double seconds, const char *file, int line)
{
    const struct profile_wait wait = {1, 0, 5, seconds};
    sample_set_waits(sample_add_site(result, "MPI_Recv", file, line), 1, &wait);
}

void sample_set_ranks(struct profile_callsite *site, const double times[SAMPLE_RANKS])
{
    free(site->callers.all);
    site->callers.all = qmpi_allocate(SAMPLE_RANKS, sizeof *site->callers.all);
    site->callers.count = SAMPLE_RANKS;
    for (int rank = 0; rank < SAMPLE_RANKS; rank++)
        site->callers.all[rank] =
            (struct profile_rank_calls){.rank = rank, .calls = 10, .time = times[rank]};
}

void sample_add_call(struct profile_result *result, const char *name, int line, double seconds)
{
    struct profile_callsite *site = sample_add_site(result, name, "/src/a.c", line);
    site->calls.calls = 40;
    site->calls.time = (struct profile_spread){.sum = 4 * seconds, .max = seconds, .max_rank = 2};
}

double sample_budget_share(const struct profile_result *result, enum profile_budget_part part)
{
    struct profile_budget budget;
    double sum = 0;
    assert_true(profile_budget_find(result, &budget));
    for (int i = 0; i < PROFILE_BUDGET_PARTS; i++) {
        assert_true(budget.items[i].seconds >= 0);
        sum += budget.items[i].seconds;
    }
    assert_float_equal(sum, budget.total, 1e-9 * budget.total);
    assert_float_equal(budget.total, SAMPLE_RANKS * result->application.max, 1e-9);
    return budget.items[part].share;
}

void sample_set_processors(struct profile_process *process, const char *list, double queued)
{
    process->processors = qmpi_copy(list);
    process->queued = queued;
}
