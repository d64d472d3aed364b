/* SPDX-License-Identifier: MIT */
/* The functions that complete requests, and what each of their calls has completed. */
#ifndef QMPI_TOOL_PROFILE_RECORD_COMPLETIONS_H
#define QMPI_TOOL_PROFILE_RECORD_COMPLETIONS_H

#include <qmpi/observer.h>

#include <stdbool.h>

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

#endif
