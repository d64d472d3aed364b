/* SPDX-License-Identifier: MIT */
/* Call sites: where in the program a call was made, as one frame or as several. Without a lock. */
#ifndef QMPI_TOOL_TRACE_RECORD_SITES_H
#define QMPI_TOOL_TRACE_RECORD_SITES_H

#include <qmpi/observer.h>

#include <stdint.h>

struct recorder;

enum { SITE_CACHE_BITS = 7 };

struct site;
/* Those that a thread has found last, by callers. */
struct site_cache {
    const struct site *recent[1 << SITE_CACHE_BITS];
};

/* Returns the index of the place that a call comes from; TRACE_NONE: memory is exhausted. */
uint32_t sites_find(struct recorder *recorder, const QMPIX_Call *call);

#endif
