/* SPDX-License-Identifier: MIT */
/* The beginning of a line, as in "[0:layer2:thread3] 0.001234 ". These functions are safe in a
 * signal handler, and in qmpi-helper, which has no MPI. */
#ifndef QMPI_TOOL_LOG_PREFIX_H
#define QMPI_TOOL_LOG_PREFIX_H

#include "tools/log/text.h"

#include <stdint.h>

enum prefix_time { PREFIX_OFFSET, PREFIX_CLOCK, PREFIX_NO_TIME };

struct prefix {
    int rank;
    int layer;  /* 0 if there is only one layer */
    int thread; /* 0 if the line belongs to no thread, or there is only one */
    enum prefix_time time;
    uint64_t when;        /* nanoseconds since the log began */
    uint64_t start_local; /* the local time at which it began; see layer.h */
};

void prefix_add(struct text *text, const struct prefix *prefix);

/* Appends the indentation of a call within `depth` other calls. */
void prefix_indent(struct text *text, int depth);

#endif
