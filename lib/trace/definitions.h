/* SPDX-License-Identifier: MIT */
/*
 * What the events of one process refer to by index, and what is known of the process. The tool
 * writes these as they occur, readers get the tables complete. Strings are UTF-8.
 */
#ifndef QMPI_TRACE_DEFINITIONS_H
#define QMPI_TRACE_DEFINITIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct trace_function {
    char *name;      /* "MPI_Send" */
    char *group;     /* "point-to-point": as `qmpi functions` calls it */
    uint32_t number; /* in src/functions/functions.txt */
};

/* A caller of a call: see QMPIX_Address_find. */
struct trace_frame {
    uint32_t library; /* index of a library */
    uint64_t offset;
};
struct trace_site {
    struct trace_frame *frames; /* the caller first */
    size_t count;
};

struct trace_comm {
    uint64_t id; /* the same on all members: QMPIX_Comm_get_identity; 0: not known, and then this
                    process's alone */
    uint64_t parent;
    char *name; /* "": none */
    int rank;   /* of this process in it; TRACE_UNDEFINED: not known */
    int *group; /* ranks in MPI_COMM_WORLD, by rank in it; an element may be TRACE_UNDEFINED */
    int size;
    int *remote; /* of an intercommunicator: of its remote group; else NULL */
    int remote_size;
};

struct trace_window {
    char *name;
    uint32_t comm; /* that it was created from */
};

struct trace_file {
    char *name;
    uint32_t comm;
};

struct trace_region {
    char *name;
};

struct trace_counter {
    char *name;        /* of the MPI_T variable */
    char *description; /* "": none */
    char *unit;        /* "": none; "bytes", "seconds" */
    bool accumulates;  /* it only grows */
};

/* A moment on both clocks. */
struct trace_clock_point {
    uint64_t ticks;
    int64_t world;  /* nanoseconds on the clock of rank 0 of MPI_COMM_WORLD */
    uint64_t bound; /* by which that may be wrong */
};

/* How a process ended. */
enum trace_end {
    TRACE_END_NONE,     /* the file just ends: the process was killed, or runs */
    TRACE_END_FINALIZE, /* MPI_Finalize, or the last session */
    TRACE_END_EXIT,
    TRACE_END_ABORT, /* MPI_Abort */
    TRACE_END_SIGNAL
};

/* What was not recorded, by the options of the tool: bits. */
enum {
    TRACE_OMITS_FUNCTIONS = 1 << 0, /* only chosen functions were */
    TRACE_OMITS_MESSAGES = 1 << 1,  /* and some that may send or receive are not among them */
    TRACE_OMITS_BEGINNING = 1 << 2  /* recording was off at first */
};

struct trace_location {
    char *name;        /* "main thread", "thread 2" */
    int64_t thread_id; /* of the kernel */
    uint64_t events;   /* that were recorded; readers only */
};

struct trace_process {
    char *file;      /* that the process has written */
    uint64_t run[2]; /* the same for all processes of a run, and no others */
    int rank;        /* in MPI_COMM_WORLD, or in mpi://WORLD; TRACE_UNDEFINED: not known */
    int ranks;       /* how many there are; 0: not known */
    int tool_id;
    char *host, *program, *mpi, *clock; /* mpi: first line of the library's version; clock: "tsc" */
    int64_t pid;
    int64_t started;                  /* nanoseconds since the Epoch, at `start_ticks` */
    uint64_t start_ticks;             /* when recording began */
    double tick;                      /* its length in nanoseconds */
    struct trace_clock_point *points; /* none: only `tick` and `started` are known */
    size_t point_count;
    struct trace_function *functions;
    size_t function_count;
    struct trace_site *sites;
    size_t site_count;
    char **libraries;
    size_t library_count;
    struct trace_comm *comms;
    size_t comm_count;
    struct trace_window *windows;
    size_t window_count;
    struct trace_file *files;
    size_t file_count;
    struct trace_region *regions;
    size_t region_count;
    struct trace_counter *counters;
    size_t counter_count;
    struct trace_location *locations;
    size_t location_count;
    enum trace_end end;
    char *end_detail;    /* "SIGTERM", "exit", NULL */
    uint64_t end_ticks;  /* of the end, else when it was last known to run */
    uint64_t dropped;    /* events that were lost */
    uint64_t unfinished; /* bytes at the end of the file that are not whole blocks */
    uint64_t memory;     /* peak resident size of the process, bytes; 0: not known */
    bool is_ring;        /* only the last part was kept */
    unsigned omits;      /* TRACE_OMITS_…; known if the end is */
};

/* Frees the members of a process, which must have been allocated one by one, and sets them to 0. */
void trace_process_clear(struct trace_process *process);

/* How the names of files end. */
#define TRACE_FILE_SUFFIX ".qtrace"

#endif
