/* SPDX-License-Identifier: MIT */
/*
 * Calls that fail by order: the interceptors that report an error instead of going on to the layers
 * below. The layer's observer, which stands around them, decides which call it is.
 */
#ifndef QMPI_TOOL_DELAY_FAULT_H
#define QMPI_TOOL_DELAY_FAULT_H

#include "rule.h"

#include <qmpi/observer.h>

/* Whether any layer of this process fails calls. What follows is not needed otherwise: a
 * thread-local variable of a library that was opened at run time is not read for nothing in every
 * call. */
extern bool fault_is_used;

/* Intercepts the functions that the rule can fail. From `init`. */
void fault_register(const struct rule *rule);

/*
 * Around every observed call, first in the observer's `before` and `after`. A signal handler's call
 * can come between the `before` of another one and its interceptor: the fault that waits there is
 * not this call's, and is put aside until this call is over.
 */
void fault_enter(const QMPIX_Call *call);
void fault_leave(const QMPIX_Call *call);

/* The call that this thread is about to begin, the rule's n-th, is to fail. In the observer's
 * `before`. */
void fault_arm(struct rule *rule, const QMPIX_Call *call, uint64_t n);

/* Whether this thread is in an error handler that a failed call of ours has called. The calls that
 * it makes there are left alone, or a handler could call itself without end. */
bool fault_is_handled(void);

#endif
