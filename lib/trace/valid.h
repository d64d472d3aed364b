/* SPDX-License-Identifier: MIT */
/* Whether what events refer to is defined, so that readers need not check that. */
#ifndef QMPI_TRACE_VALID_H
#define QMPI_TRACE_VALID_H

#include "trace/definitions.h"
#include "trace/event.h"
#include "trace/stack.h"

#include <stdbool.h>
#include <stdint.h>

/* Makes the best of what is not defined: a site is TRACE_NONE then, and the function of a call
 * `unknown`, if that is not TRACE_NONE. Returns false if that does not suffice. */
bool trace_event_is_valid(const struct trace_process *process, uint32_t unknown,
                          struct trace_event *event);

/* The same for calls in progress. */
bool trace_stack_is_valid(const struct trace_process *process, uint32_t unknown,
                          struct trace_stack *stack);

#endif
