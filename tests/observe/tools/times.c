/* SPDX-License-Identifier: MIT */
/*
 * Prints the results of the functions in <qmpi/clock.h> in `init`, after MPI_Init and in
 * MPI_Finalize. Options:
 *   ask=no       does not request offsets
 *   observe=no   has interceptors instead of an observer
 *   errors=yes   makes wrong calls in `init`, and prints how many of them are errors
 *   off=RANK     switches the layer off on this rank after MPI_Init
 *   fail=RANK    makes `init` fail on this rank
 *   messages=N   each rank sends N messages that contain the time of sending, and prints how many
 *                of the messages that it receives seem to arrive before they were sent
 */
#define _GNU_SOURCE
#include "trace.h"

#include <qmpi/clock.h>
#include <qmpi/observer.h>

#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

enum { MOMENTS = 50 };
static struct {
    uint64_t ticks;
    unsigned long long before,
        after; /* times of the kernel's clock, which skew.c does not change */
} moments[MOMENTS];

static uint64_t example; /* a number of ticks of rank 0's clock, which each rank converts */
static int layer, rank, size, messages, off;

/* Calls the kernel directly, because skew.c replaces the function of the C library. */
static unsigned long long true_time(void)
{
    struct timespec time;
    syscall(SYS_clock_gettime, CLOCK_MONOTONIC, &time);
    return (unsigned long long)time.tv_sec * 1000000000U + (unsigned long long)time.tv_nsec;
}

static void take_moments(void)
{
    for (int i = 0; i < MOMENTS; i++) {
        usleep(1000);
        moments[i].before = true_time();
        QMPIX_Clock_get_time(&moments[i].ticks);
        moments[i].after = true_time();
    }
    example = moments[MOMENTS / 2].ticks;
    PMPI_Bcast(&example, sizeof example, MPI_BYTE, 0, MPI_COMM_WORLD);
}

static void note_moments(const char *phase)
{
    uint64_t world = 0, bound = 0;
    for (int i = 0; i < MOMENTS; i++) {
        const int result = QMPIX_Clock_get_world_time(moments[i].ticks, &world, &bound);
        if (result != MPI_SUCCESS) {
            trace("%s %d unknown %d", phase, rank, result == MPI_ERR_OTHER);
            return;
        }
        trace("%s %d moment %llu %llu %llu %llu", phase, rank, moments[i].before, moments[i].after,
              (unsigned long long)world, (unsigned long long)bound);
    }
    QMPIX_Clock_get_world_time(example, &world, NULL);
    trace("%s %d example %llu", phase, rank, (unsigned long long)world);
}

static uint64_t world_time(void)
{
    uint64_t ticks, world = 0;
    QMPIX_Clock_get_time(&ticks);
    QMPIX_Clock_get_world_time(ticks, &world, NULL);
    return world;
}

static void send_messages(const char *phase)
{
    int early = 0;
    for (int i = 0; i < messages; i++) {
        const int right = (rank + 1) % size, left = (rank + size - 1) % size;
        uint64_t sent, received;
        MPI_Request request;
        PMPI_Irecv(&received, sizeof received, MPI_BYTE, left, 1, MPI_COMM_WORLD, &request);
        sent = world_time();
        PMPI_Send(&sent, sizeof sent, MPI_BYTE, right, 1, MPI_COMM_WORLD);
        PMPI_Wait(&request, MPI_STATUS_IGNORE);
        early += world_time() < received;
    }
    trace("%s %d early %d", phase, rank, early);
}

static void begin(void)
{
    PMPI_Comm_rank(MPI_COMM_WORLD, &rank);
    PMPI_Comm_size(MPI_COMM_WORLD, &size);
    take_moments();
    note_moments("first");
    send_messages("first");
    if (off == rank)
        QMPIX_Tool_set_enabled(layer, 0);
}

static void end(void)
{
    note_moments("both");
    send_messages("both");
}

static void observe_after(const QMPIX_Call *call, QMPIX_Word *word)
{
    (void)word;
    if (call->function->number != MPI_FINALIZE_T)
        begin();
}

static void observe_before(const QMPIX_Call *call, QMPIX_Word *word)
{
    (void)word;
    if (call->function->number == MPI_FINALIZE_T)
        end();
}

static int intercept_init(QMPI_Context context, int *argc, char ***argv)
{
    const int result = QMPIX_NEXT(context, Init)(QMPIX_NEXT_CONTEXT(context), argc, argv);
    begin();
    return result;
}

static int intercept_finalize(QMPI_Context context)
{
    end();
    return QMPIX_NEXT(context, Finalize)(QMPIX_NEXT_CONTEXT(context));
}

static void note_clock(void)
{
    QMPIX_Clock_info info = {.size = sizeof info};
    uint64_t begin, end, nanoseconds = 0;
    const unsigned long long inner_begin = true_time();
    QMPIX_Clock_get_time(&begin);
    usleep(20000);
    QMPIX_Clock_get_time(&end);
    const unsigned long long outer = true_time() - inner_begin;
    QMPIX_Clock_get_info(&info);
    QMPIX_Clock_to_nanoseconds(end - begin, &nanoseconds);
    trace("clock %s tick %.9g resolution %.9g cost %.3f", info.name, info.tick, info.resolution,
          info.cost);
    trace("duration %llu of %llu", (unsigned long long)nanoseconds, outer);
}

static void note_errors(int tool_id)
{
    QMPIX_Clock_info info = {.size = 1};
    uint64_t ticks = 0, world = 7;
    trace("errors %d", (QMPIX_Clock_get_time(NULL) == MPI_ERR_ARG) +
                           (QMPIX_Clock_to_nanoseconds(1, NULL) == MPI_ERR_ARG) +
                           (QMPIX_Clock_get_info(NULL) == MPI_ERR_ARG) +
                           (QMPIX_Clock_get_info(&info) == MPI_ERR_ARG) +
                           (QMPIX_Clock_request_offsets(-1) == MPI_ERR_ARG) +
                           (QMPIX_Clock_request_offsets(tool_id + 1) == MPI_ERR_ARG) +
                           (QMPIX_Clock_get_world_time(ticks, NULL, NULL) == MPI_ERR_ARG) +
                           (QMPIX_Clock_get_world_time(ticks, &world, NULL) == MPI_ERR_OTHER) +
                           (world == 7));
}

static void observe(int tool_id)
{
    static const enum QMPI_Functions_enum functions[] = {MPI_INIT_T, MPI_INIT_THREAD_T,
                                                         MPI_FINALIZE_T};
    static const QMPIX_Observer observer = {.size = sizeof observer,
                                            .before = observe_before,
                                            .after = observe_after,
                                            .functions = functions,
                                            .function_count = 3};
    QMPIX_Register_tool_observer(tool_id, &observer);
}

static const char *option(int tool_id, const char *key)
{
    const char *value = "";
    QMPIX_Tool_get_option(tool_id, key, &value);
    return value;
}

static int launcher_rank(void)
{
    const char *text = getenv("PMI_RANK");
    if (!text)
        text = getenv("OMPI_COMM_WORLD_RANK");
    return text ? atoi(text) : 0;
}

static void init(int tool_id)
{
    layer = tool_id;
    messages = atoi(option(tool_id, "messages"));
    off = atoi(option(tool_id, "off"));
    if (!strcmp(option(tool_id, "errors"), "yes"))
        note_errors(tool_id);
    note_clock();
    if (!strcmp(option(tool_id, "ask"), "yes"))
        QMPIX_Clock_request_offsets(tool_id);
    if (atoi(option(tool_id, "fail")) == launcher_rank())
        QMPIX_Tool_fail(tool_id, "as it was told");
    if (!strcmp(option(tool_id, "observe"), "yes")) {
        observe(tool_id);
    } else {
        QMPI_Register_tool_function(tool_id, MPI_INIT_T, (void (*)(void))intercept_init);
        QMPI_Register_tool_function(tool_id, MPI_FINALIZE_T, (void (*)(void))intercept_finalize);
    }
}

__attribute__((constructor)) static void register_tool(void)
{
    static const QMPIX_Tool_option options[] = {{.name = "ask", .default_value = "yes"},
                                                {.name = "observe", .default_value = "yes"},
                                                {.name = "off", .default_value = "-1"},
                                                {.name = "fail", .default_value = "-1"},
                                                {.name = "messages", .default_value = "0"},
                                                {.name = "errors", .default_value = "no"},
                                                {.name = NULL}};
    static const QMPIX_Tool_info info = {.size = sizeof info, .options = options};
    QMPI_Register_tool_name("times", init);
    QMPIX_Register_tool_info("times", &info);
}
