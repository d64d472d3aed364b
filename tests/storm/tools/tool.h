/* SPDX-License-Identifier: MIT */
/* Functions that the storm's tools share. A layer records each call that reaches it. QMPI layers
 * also compare the calling address with the address range that the caller has recorded. */
#ifndef STORM_TOOL_H
#define STORM_TOOL_H

#include "../ledger.h"
#include "storm_numbers.h"

static struct storm_ledger *ledger;

static inline void storm_seen(int layer, int function)
{
    storm_add(&ledger->layer[layer].seen[function], 1);
}

static inline void storm_takes(int layer, int function)
{
    ledger->layer[layer].takes[function] = 1;
}

static inline void storm_check_caller(int layer, int function, const char *address)
{
    const struct storm_caller *caller = ledger->caller ? ledger->caller() : NULL;
    if (!caller || caller->unknown || ledger->racing)
        return;
    if (address < (const char *)caller->from || address >= (const char *)caller->to)
        storm_wrong(ledger, "layer %d, function %d: called from %p, not from %p … %p", layer,
                    function, (const void *)address, caller->from, caller->to);
}

/* An MPI call that a layer makes itself. During this call, the caller is unknown. */
struct storm_tool_call {
    struct storm_caller *caller, before;
};

static inline struct storm_tool_call storm_tool_call_begin(void)
{
    struct storm_tool_call call = {ledger->caller ? ledger->caller() : NULL, {NULL, NULL, 0}};
    if (call.caller) {
        call.before = *call.caller;
        call.caller->unknown = 1;
    }
    return call;
}

static inline void storm_tool_call_end(const struct storm_tool_call *call)
{
    if (call->caller)
        *call->caller = call->before;
}

/* Returns whether a layer intercepts the function, if it intercepts `quarters` of four
 * functions. */
static inline int storm_chosen(int function, int quarters, int seed)
{
    return (function * 7 + seed) % 4 < quarters;
}

#endif
