/* SPDX-License-Identifier: MIT */
/*
 * The tool of docs/write/observers.md: the collective call that took longest, what it sent, and the
 * line of the program that made it.
 */
#include <qmpi/clock.h>
#include <qmpi/observer.h>
#include <stdio.h>

static uint64_t longest; /* in ticks; a tool for programs with several threads needs a lock */
static const char *function;
static MPI_Count sent;
static void *caller;

static void report(void)
{
    const QMPIX_Address *place;
    char where[1000] = "";
    uint64_t nanoseconds = 0;
    QMPIX_Clock_to_nanoseconds(longest, &nanoseconds);
    if (QMPIX_Address_describe(caller, &place) == MPI_SUCCESS && place->frame_count)
        snprintf(where, sizeof where, ", called in %s (%s:%d)",
                 place->frames[0].function ? place->frames[0].function : "?",
                 place->frames[0].file ? place->frames[0].file : "?", place->frames[0].line);
    /* One call for the whole line: parts of lines would mix with those of other processes. */
    fprintf(stderr, "slowest: %s, %.3f ms, %lld bytes sent%s\n", function,
            1e-6 * (double)nanoseconds, (long long)sent, where);
}

static void after(const QMPIX_Call *call, QMPIX_Word *word)
{
    uint64_t begin = 0, end = 0;
    (void)word;
    QMPIX_Call_get_time(call, &begin, &end);
    if (end - begin > longest && call->function->group == QMPIX_GROUP_COLLECTIVE) {
        longest = end - begin;
        function = call->function->name;
        QMPIX_Call_get_bytes(call, &sent, NULL);
        QMPIX_Call_get_caller(call, &caller);
    }
    if (call->function->number == MPI_FINALIZE_T && longest)
        report();
}

static void init(int tool_id)
{
    static const QMPIX_Observer observer = {
        .size = sizeof observer, .after = after, .flags = QMPIX_OBSERVE_TIME};
    QMPIX_Register_tool_observer(tool_id, &observer);
}

__attribute__((constructor)) static void register_tool(void)
{
    QMPI_Register_tool_name("slowest", init);
}
