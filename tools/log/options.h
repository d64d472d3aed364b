/* SPDX-License-Identifier: MIT */
/* The options of a layer of log, checked. */
#ifndef QMPI_TOOL_LOG_OPTIONS_H
#define QMPI_TOOL_LOG_OPTIONS_H

#include "filter.h"

#include <qmpi/qmpi.h>

#include <stdbool.h>
#include <stdint.h>

enum when { WHEN_OFFSET, WHEN_CLOCK, WHEN_NONE };

struct options {
    const char *output;         /* pattern of the file's name; NULL: stderr */
    bool chosen[MPI_LAST_FUNC]; /* the functions that are shown */
    struct ranks ranks;
    uint64_t min_size, max_size; /* bytes */
    uint64_t min_time;           /* nanoseconds */
    uint64_t hang;               /* nanoseconds; 0: no */
    bool errors, enter, caller, arguments;
    enum when when;
    int array, strings; /* elements and characters that are shown; 0: all */
};

/* All that log knows, for QMPIX_Tool_info. */
extern const QMPIX_Tool_option log_options[];

/* Reads the options of layer `tool_id`. False: one is bad; the layer has failed with a message. */
bool log_options_read(int tool_id, struct options *options);

/* Whether a line is held back until it is known how the call ended. */
static inline bool log_options_judge(const struct options *options)
{
    return options->errors || options->min_time || options->min_size ||
           options->max_size != UINT64_MAX;
}

#endif
