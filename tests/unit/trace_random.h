/* SPDX-License-Identifier: MIT */
/* Random traces for tests of tools/trace. The same seed gives the same trace. */
#ifndef QMPI_TEST_TRACE_RANDOM_H
#define QMPI_TEST_TRACE_RANDOM_H

#include "unit.h"

#include "tools/trace/export/trace.h"

#include <stdbool.h>

/* Return the next number of xorshift64*: any number, or one below `limit`. Neither the state nor
 * `limit` may be 0. */
uint64_t random_next(uint64_t *state);
uint64_t random_under(uint64_t *state, uint64_t limit);

/* Returns a number of any size. It is often small, or at a limit. */
uint64_t random_number(uint64_t *state);

/* Makes the definitions of a process, with `tables` elements in each table except that of the clock
 * points, which has at most 3. The caller calls trace_definitions_clear. */
void random_process(uint64_t *state, struct trace_process *process, uint32_t tables);

/*
 * Returns the events of a stream, with properly nested calls, which refer to tables with `tables`
 * elements. Times begin at `ticks`. If `is_wild` is true, members have any values; otherwise, the
 * events are those of a program that repeats itself. Sets `open` to the number of calls that are
 * still in progress at the end. The caller frees the events.
 */
struct trace_event *random_events(uint64_t *state, size_t count, uint32_t tables, uint64_t ticks,
                                  bool is_wild, size_t *open);

/* Appends the beginning of the file of a process: the header and the definitions. */
void put_process(struct trace_bytes *out, const struct trace_process *process);

/* Appends the events of a stream in about `blocks` blocks, and sets the location of each event. */
void put_events(struct trace_bytes *out, uint64_t *state, struct trace_event *events, size_t count,
                uint32_t location, uint32_t stream, size_t blocks);

/* Replaces the content of the only file in memory, which the first call creates. Returns its path.
 */
const char *set_file(const void *bytes, size_t size);

/* Opens a trace. The test fails if that is not possible. */
struct trace *open_trace(const char *path);

/* Returns all events of a cursor, which the caller frees, and sets `count`. Frees the cursor. */
struct trace_event *read_events(struct trace_cursor *cursor, size_t *count);

/* Returns whether two events are equal, except for `time` and `is_known`. */
bool is_same_event(const struct trace_event *one, const struct trace_event *other);

#endif
