/* SPDX-License-Identifier: MIT */
/*
 * What one layer of trace knows: its options, whether it records, the objects and requests of the
 * program, the memory that threads record in, and the thread that writes it.
 */
#ifndef QMPI_TOOL_TRACE_LAYER_H
#define QMPI_TOOL_TRACE_LAYER_H

#include "options.h"
#include "record/chunks.h"
#include "record/tables.h"
#include "record/traits.h"
#include "toolkit/toolkit.h"
#include "write/state.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

/* Why a layer does not record: bits. */
enum {
    OFF_ENABLED = 1 << 0,  /* it is switched off */
    OFF_PCONTROL = 1 << 1, /* MPI_Pcontrol(0) */
    OFF_RANK = 1 << 2,     /* another rank is chosen */
    OFF_REGION = 1 << 3,   /* no chosen region is open */
    OFF_BEGIN = 1 << 4,    /* begin= has not come yet */
    OFF_END = 1 << 5,      /* end= has passed */
    OFF_CLOSED = 1 << 6,   /* MPI_Finalize was called, or the process ends */
    OFF_CHILD = 1 << 7,    /* a forked child */
    OFF_FAILED = 1 << 8    /* there is no file to write to */
};

/* See record/switches.h. */
struct switches {
    _Atomic uint64_t state; /* grows with each change; odd: the layer records */
    uint64_t off;           /* OFF_… */
    uint64_t ticks[2];      /* of the last change to off, to on */
};

struct layer {
    int tool_id;
    bool (*start_early)(struct layer *layer); /* see save/start.h */
    struct options options;
    char *directory;   /* of the trace; absolute if possible */
    int rank, ranks;   /* in MPI_COMM_WORLD (mpi://WORLD); TRACE_UNDEFINED, 0: not known */
    int launcher_rank; /* before MPI_Init; -1: not known */
    uint64_t run[2];
    int64_t started; /* nanoseconds since the Epoch, */
    uint64_t start_ticks;
    uint64_t init_ticks, finalize_ticks; /* when the clocks were compared; 0: never */
    unsigned char ends[MPI_LAST_FUNC];   /* enum trait_end: how calls of a function end */
    struct switches switches;
    atomic_uint omits;     /* TRACE_OMITS_… */
    bool has_failed_early; /* see start_early */
    bool has_started;      /* the processes have agreed on where to write */
    bool has_no_directory; /* no process of the run can write there */
    atomic_bool finished;  /* the file is complete, or will be */
    struct chunk_pool pool;
    struct recorder *_Atomic recorders; /* of all threads */
    atomic_uint locations;
    _Atomic uint64_t requests; /* numbers that were given to recorders */
    _Atomic uint64_t dropped;  /* records */
    pthread_mutex_t lock;      /* of the objects and regions; no MPI call under it */
    struct objects objects;
    struct regions *regions;
    struct counters *counters;
    struct pending_table operations, messages;
    _Atomic uint64_t operation_order; /* of the last one */
    _Atomic uint64_t epoch;           /* grows when completions may have been missed */
    struct site_table sites;
    struct definitions definitions;
    struct tool_sessions sessions;
    struct writer writer;
    struct layer *next;
};

/* All layers of this process, the lowest last. */
extern struct layer *trace_layers;

/* Whether this process is the one that MPI runs in: a forked child records nothing. */
bool trace_is_owner(void);

#endif
