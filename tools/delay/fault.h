/* SPDX-License-Identifier: MIT */
/*
 * A fault makes a call fail. The observer of the layer decides which call fails. The interceptor of
 * the layer then reports an error, either instead of calling the layer below or after that call.
 */
#ifndef QMPI_TOOL_DELAY_FAULT_H
#define QMPI_TOOL_DELAY_FAULT_H

#include "tools/delay/rule.h"

#include <qmpi/observer.h>

/* Whether any layer of delay in this process makes calls fail. If not, callers skip fault_enter,
 * fault_leave and fault_is_handled, which take time because they read thread-local variables of a
 * library that is opened at run time. */
extern bool fault_is_used;

/* Intercepts the functions that the rule can make fail. The tool's `init` calls this function. */
void fault_register(const struct rule *rule);

/*
 * The `before` and `after` callbacks of each observed call must call these functions first. A
 * signal handler may make a call between the `before` callback of another call and its interceptor.
 * The fault of that other call is then put aside until the handler's call has ended.
 */
void fault_enter(const QMPIX_Call *call);
void fault_leave(const QMPIX_Call *call);

/* Prepares the failure of the call that this thread is about to begin, which is the n-th call that
 * the rule has counted. The `before` callback calls this function. */
void fault_arm(struct rule *rule, const QMPIX_Call *call, uint64_t n);

/* Returns whether the call is made in an error handler that a fault has called. Such a call must
 * not fail, because the handler could call itself endlessly. The `before` callback calls this
 * function. */
bool fault_is_handled(const QMPIX_Call *call);

#endif
