/* SPDX-License-Identifier: MIT */
/* The options of a layer of trace, checked. */
#ifndef QMPI_TOOL_TRACE_OPTIONS_H
#define QMPI_TOOL_TRACE_OPTIONS_H

#include "util/util.h"

#include <qmpi/qmpi.h>

#include <stdbool.h>
#include <stdint.h>

enum { TRACE_DEPTH_MAX = 32 };

enum trace_format { FORMAT_OTF2, FORMAT_PERFETTO, FORMAT_JSON, FORMAT_PROCESS_FILES };

struct options {
    const char *output; /* pattern of the directory's name */
    enum trace_format format;
    uint64_t memory; /* bytes for what is recorded and not written */
    bool drops;      /* full=drop */
    bool is_ring;    /* buffer=ring */
    double history;  /* keep=: seconds; 0: as long as there is memory */
    int save_signal; /* 0: none */
    bool sites;
    int depth; /* frames of a call site */
    bool compress;
    unsigned char chosen[MPI_LAST_FUNC]; /* functions=; 0: not */
    bool all_chosen;
    struct qmpi_number_set ranks;
    const char *regions;  /* globs; NULL: not given */
    double begin, end;    /* seconds after MPI_Init; end < 0: not given */
    const char *counters; /* globs; NULL: none */
    double interval;      /* of counters, seconds */
};

/* All that trace knows, for QMPIX_Tool_info. */
extern const QMPIX_Tool_option trace_options[];

/* Reads the options of layer `tool_id`. False: one is bad; the layer has failed with a message. */
bool trace_options_read(int tool_id, struct options *options);

#endif
