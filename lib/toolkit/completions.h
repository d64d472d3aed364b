/* SPDX-License-Identifier: MIT */
/* The functions that complete requests, and what each of their calls has completed. */
#ifndef QMPI_TOOLKIT_COMPLETIONS_H
#define QMPI_TOOLKIT_COMPLETIONS_H

#include "toolkit/pending.h"

#include <qmpi/observer.h>

/* The arguments of a call that completes; -1: it has none. */
struct completion {
    enum QMPI_Functions_enum number;
    signed char count, requests, flag, index, outcount, indices, status, statuses;
};
extern const struct completion completions_all[] __attribute__((visibility("hidden")));

/* Which of them a function is; 0 of others, too. */
int completions_find(const QMPIX_Function *function);

/* Of a call that failed: whether its statuses tell what it has completed. */
bool completions_in_status(const QMPIX_Call *call, const struct completion *completion);

/* A request that a call has completed: its status is element `element` of argument `argument`,
 * where the call has statuses. `argument` -1: it has failed. */
typedef void completions_ended(void *data, struct pending *pending, int argument, int element);

/*
 * Calls `each` for those of the entries that the call has completed; in `after`. `held` is what the
 * call has held from before it on, by `place` upwards. `data` is passed to `each`.
 */
void completions_each(const QMPIX_Call *call, const struct completion *completion,
                      struct pending *held, completions_ended *each, void *data);

#endif
