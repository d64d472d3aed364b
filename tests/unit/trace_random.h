/* SPDX-License-Identifier: MIT */
/* Random traces for tests of lib/trace, which are the same for the same seed. */
#ifndef QMPI_TEST_TRACE_RANDOM_H
#define QMPI_TEST_TRACE_RANDOM_H

#include "trace/trace.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* xorshift64*; the state must not be 0. */
uint64_t random_next(uint64_t *state);
uint64_t random_under(uint64_t *state, uint64_t limit);

/* A number of any size, often small, or one at a limit. */
uint64_t random_number(uint64_t *state);

/* The definitions of a process, with `tables` elements in each table. */
void random_process(uint64_t *state, struct trace_process *process, uint32_t tables);

/*
 * Events of a stream, the calls of which are properly nested, and which refer to tables with
 * `tables` elements. Times begin at `ticks`. If `is_wild`, members have any values; else the events
 * are those of a program that repeats itself. `open` calls remain in progress at the end.
 */
struct trace_event *random_events(uint64_t *state, size_t count, uint32_t tables, uint64_t ticks,
                                  bool is_wild, size_t *open);

/* Whether two events are the same, but for `time` and `is_known`. */
bool is_same_event(const struct trace_event *one, const struct trace_event *other);

#endif
