/* SPDX-License-Identifier: MIT */
/*
 * Definitions: the objects of one process that its events refer to by index, and facts about the
 * process. The tool writes definitions as they occur; readers get complete tables. Strings are
 * UTF-8. No function here makes MPI calls. docs/run/trace-format.md describes the file.
 */
#ifndef QMPI_TRACE_FILE_DEFINITIONS_H
#define QMPI_TRACE_FILE_DEFINITIONS_H

#include "tools/trace/file/bytes.h"

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

/* How a process ended. */
enum trace_process_end {
    TRACE_END_NONE,     /* the file just ends: the process was killed, or runs */
    TRACE_END_FINALIZE, /* MPI_Finalize, or the last session */
    TRACE_END_EXIT,
    TRACE_END_ABORT, /* MPI_Abort */
    TRACE_END_SIGNAL
};

/* Bits: what the options of the tool left out. */
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
    int64_t started;       /* nanoseconds since the Epoch, at `start_ticks` */
    uint64_t start_ticks;  /* when recording began */
    double tick;           /* its length in nanoseconds */
    uint64_t clock_number; /* the same for processes that read one clock; 0: not known */
    struct trace_clock_point
        *points; /* see clock_line.h; none: only `tick` and `started` are known */
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
    enum trace_process_end end;
    char *end_detail;    /* "SIGTERM", "exit", NULL */
    uint64_t end_ticks;  /* of the end, else when it was last known to run */
    uint64_t dropped;    /* events that were lost */
    uint64_t unfinished; /* bytes at the end of the file that are not whole blocks */
    uint64_t memory;     /* peak resident size of the process, bytes; 0: not known */
    bool is_ring;        /* only the last part was kept */
    unsigned omits; /* TRACE_OMITS_…: as it was at first, and once the end is known, in all */
};

/* Frees the members of a process, which must have been allocated one by one, and sets them to 0. */
void trace_definitions_clear(struct trace_process *process);

/* How the names of files end. */
#define TRACE_FILE_SUFFIX ".qtrace"

/* ---- Writing --------------------------------------------------------------------------------- */

/*
 * The types of definitions in blocks. A definition consists of a varint for the type, one for the
 * size, and the members in a fixed order. A reader skips definitions of types that it does not
 * know, and what follows the members that it knows; members that are missing at the end are 0.
 */
enum trace_definition {
    TRACE_DEFINITION_PROCESS = 1,
    TRACE_DEFINITION_KINDS,
    TRACE_DEFINITION_FUNCTION,
    TRACE_DEFINITION_LIBRARY,
    TRACE_DEFINITION_SITE,
    TRACE_DEFINITION_COMM,
    TRACE_DEFINITION_WINDOW,
    TRACE_DEFINITION_FILE,
    TRACE_DEFINITION_REGION,
    TRACE_DEFINITION_COUNTER,
    TRACE_DEFINITION_LOCATION,
    TRACE_DEFINITION_WORLD,
    TRACE_DEFINITION_CLOCK,
    TRACE_DEFINITION_END,
    TRACE_DEFINITION_ALIVE
};

/* The header of a file: what is known of the process at its start (file, run, host, program, pid,
 * clock, start). Members of struct trace_process that become known later have blocks of their own.
 */
void trace_definitions_put_header(struct trace_bytes *out, const struct trace_process *process);

/* Definitions: each is added to the block of definitions that `out` is; the index is that by which
 * events refer to it. trace_definitions_put_block makes a block of it. A definition with an index
 * that exists replaces it (a communicator that got a name). */
void trace_definitions_put_function(struct trace_bytes *out, uint32_t index,
                                    const struct trace_function *function);
void trace_definitions_put_library(struct trace_bytes *out, uint32_t index, const char *path);
void trace_definitions_put_site(struct trace_bytes *out, uint32_t index,
                                const struct trace_site *site);
void trace_definitions_put_comm(struct trace_bytes *out, uint32_t index,
                                const struct trace_comm *comm);
void trace_definitions_put_window(struct trace_bytes *out, uint32_t index,
                                  const struct trace_window *window);
void trace_definitions_put_file(struct trace_bytes *out, uint32_t index,
                                const struct trace_file *file);
void trace_definitions_put_region(struct trace_bytes *out, uint32_t index,
                                  const struct trace_region *region);
void trace_definitions_put_counter(struct trace_bytes *out, uint32_t index,
                                   const struct trace_counter *counter);
void trace_definitions_put_location(struct trace_bytes *out, uint32_t index,
                                    const struct trace_location *location);
void trace_definitions_put_world(struct trace_bytes *out, const uint64_t run[2], int rank,
                                 int ranks, const char *mpi);
void trace_definitions_put_clock(struct trace_bytes *out, double tick,
                                 const struct trace_clock_point *points, size_t count);

/* Adds the members end…, dropped, memory, is_ring and omits. */
void trace_definitions_put_end(struct trace_bytes *out, const struct trace_process *process);

/* Adds that the process runs at this time. */
void trace_definitions_put_alive(struct trace_bytes *out, uint64_t ticks);

/* Appends a block of the definitions in `definitions`, which it empties, to `out`. */
void trace_definitions_put_block(struct trace_bytes *out, struct trace_bytes *definitions);

/* The definitions of a process as bytes, to be sent to another process (as they are in its file),
 * and back: all members of struct trace_process. They return false if memory is exhausted, or the
 * bytes are invalid. The caller frees what they have made, by trace_bytes_free and
 * trace_definitions_clear. */
bool trace_definitions_pack(const struct trace_process *process, struct trace_bytes *bytes);
bool trace_definitions_unpack(const void *bytes, size_t size, struct trace_process *process);

/* ---- Reading --------------------------------------------------------------------------------- */

#define TRACE_KINDS_MAX 256 /* kinds of events that a later version of the format may have */

/* Definitions of a process that are being read. */
struct trace_definitions_reader {
    struct trace_process *process;
    uint32_t fields[TRACE_KINDS_MAX]; /* by kind of event */
    size_t function_room, library_room, site_room, comm_room, window_room, file_room, region_room,
        counter_room, location_room;
    uint64_t budget; /* bytes that may still be allocated */
    uint64_t seen;   /* definitions and blocks of events */
    bool is_exhausted;
};

/* Adds the definitions of a block. Returns false at the first invalid one, or if memory, or the
 * budget, is exhausted. */
bool trace_definitions_read(struct trace_definitions_reader *reader, const void *bytes,
                            size_t size);

/* Makes all references between definitions valid, and all strings. */
bool trace_definitions_finish(struct trace_definitions_reader *reader);

/* Makes room for the location `index`; adds a function. */
bool trace_definitions_add_location(struct trace_definitions_reader *reader, uint32_t index);
bool trace_definitions_add_function(struct trace_definitions_reader *reader, const char *name);

#endif
