/* SPDX-License-Identifier: MIT */
/* Observes all functions with callbacks that do nothing: `before` and `after`, or
 * (BENCH_AFTER_ONLY) only `after`. */
#include "announce.h"

#include <qmpi/observer.h>

static void nothing(const QMPIX_Call *call, QMPIX_Word *word)
{
    (void)call;
    (void)word;
}

void bench_init(int tool_id)
{
    static const QMPIX_Observer observer = {.size = sizeof observer,
#ifndef BENCH_AFTER_ONLY
                                            .before = nothing,
#endif
                                            .after = nothing};
    QMPIX_Register_tool_observer(tool_id, &observer);
}
