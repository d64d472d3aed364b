/* SPDX-License-Identifier: MIT */
/*
 * Definitions are the objects of one process to which its events refer by index, and data about the
 * process. The tool writes definitions as they occur; readers get complete tables. Strings are
 * UTF-8. No function here makes MPI calls. docs/run/trace-format.md describes the format.
 */
#ifndef QMPI_TRACE_FILE_DEFINITIONS_H
#define QMPI_TRACE_FILE_DEFINITIONS_H

#include "tools/trace/file/bytes.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct trace_function {
    char *name;      /* "MPI_Send" */
    char *group;     /* "point-to-point", as in `qmpi functions` */
    uint32_t number; /* number in src/functions/functions.txt */
};

/* A frame of a call site, as returned by QMPIX_Address_find. */
struct trace_frame {
    uint32_t library; /* index of a library */
    uint64_t offset;
};
struct trace_site {
    struct trace_frame *frames; /* the caller of MPI is first */
    size_t count;
};

struct trace_comm {
    uint64_t id; /* the result of QMPIX_Comm_get_identity, which is the same in all members. If it
                    is 0, the communicator cannot be found in other processes */
    uint64_t parent; /* `id` of the communicator from which it was created, or 0 */
    char *name;      /* "" if it has none */
    int rank;        /* rank of this process in the communicator, or TRACE_UNDEFINED */
    int *group;      /* ranks in MPI_COMM_WORLD, by rank in the communicator; an element may be
                        TRACE_UNDEFINED */
    int size;
    int *remote; /* the same for the remote group of an intercommunicator; NULL if there is none */
    int remote_size;
};

struct trace_window {
    char *name;
    uint32_t comm; /* index of the communicator from which it was created, or TRACE_NONE */
};

struct trace_file {
    char *name;
    uint32_t comm;
};

struct trace_region {
    char *name;
};

struct trace_counter {
    char *name;        /* name of the MPI_T variable */
    char *description; /* "" if it has none */
    char *unit;        /* such as "bytes" or "seconds"; "" if it has none */
    bool accumulates;  /* the value only increases */
};

/* How a process ended. */
enum trace_process_end {
    TRACE_END_NONE,     /* the file has no end: the process was killed, or is still running */
    TRACE_END_FINALIZE, /* MPI_Finalize, or MPI_Session_finalize of the last session */
    TRACE_END_EXIT,
    TRACE_END_ABORT, /* MPI_Abort */
    TRACE_END_SIGNAL
};

/* Bits that tell what was left out because of options of the tool. */
enum {
    TRACE_OMITS_FUNCTIONS = 1 << 0, /* only selected functions were recorded */
    TRACE_OMITS_MESSAGES = 1 << 1,  /* some functions that may send or receive were not recorded */
    TRACE_OMITS_BEGINNING = 1 << 2  /* recording was off at first */
};

struct trace_location {
    char *name;        /* "main thread", "thread 2" */
    int64_t thread_id; /* id of the thread in the kernel */
    uint64_t events;   /* number of events that were recorded; set for readers only */
};

struct trace_process {
    char *file;      /* the file that the process has written */
    uint64_t run[2]; /* the same in all processes of a run, and different in other runs */
    int rank;        /* rank in MPI_COMM_WORLD or mpi://WORLD, or TRACE_UNDEFINED */
    int ranks;       /* number of ranks, or 0 if it is unknown */
    int tool_id;
    char *host, *program, *mpi, *clock; /* `mpi` is the first line of the library's version; `clock`
                                           is a name such as "tsc" */
    int64_t pid;
    int64_t started;      /* the time of `start_ticks` in nanoseconds since the Epoch */
    uint64_t start_ticks; /* when recording began */
    double tick;          /* length of a tick in nanoseconds */
    /* The same in all processes that read the same clock; 0 if it is unknown. */
    uint64_t clock_number;
    /* See clock_line.h. Without points, only `tick` and `started` are known. */
    struct trace_clock_point *points;
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
    char *end_detail;    /* a signal such as "SIGTERM", or "MPI_Session_finalize" if this call has
                            ended the trace; may be NULL */
    uint64_t end_ticks;  /* the end of the process, or the last time when it was known to run */
    uint64_t dropped;    /* events that were lost */
    uint64_t unfinished; /* number of bytes at the end of the file that are not complete blocks */
    uint64_t memory;     /* maximum resident size of the process in bytes, or 0 if it is unknown */
    bool is_ring;        /* only the last part was kept */
    unsigned omits; /* TRACE_OMITS_…, as known at the beginning of the file; replaced at its end by
                       what holds for the whole run */
};

/* Frees all members of a process and sets them to 0. Each member must have been allocated by
 * itself. */
void trace_definitions_clear(struct trace_process *process);

/* The suffix of file names. */
#define TRACE_FILE_SUFFIX ".qtrace"

/* ---- Writing --------------------------------------------------------------------------------- */

/*
 * The types of definitions in blocks. A definition consists of a varint for the type, one for the
 * size, and the members in a fixed order. A reader skips definitions of unknown types, and bytes
 * after the members that it knows; members that were added to the format later (`omits`,
 * `clock_number`) are 0 if they are missing.
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

/* Adds the header of a file: the kinds of events, and the data about the process that are known
 * when the file is begun (such as run, host, program, pid, clock and start). What becomes known
 * later is in later blocks. */
void trace_definitions_put_header(struct trace_bytes *out, const struct trace_process *process);

/* These functions add definitions to `out`, from which trace_definitions_put_block makes blocks.
 * Events refer to a definition by its index. A later definition with the same index replaces the
 * earlier one, for example when a communicator gets a name. */
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

/* Adds the members `end`, `end_detail`, `end_ticks`, `dropped`, `memory`, `is_ring`, `unfinished`
 * and `omits`. */
void trace_definitions_put_end(struct trace_bytes *out, const struct trace_process *process);

/* Adds a definition which states that the process is still running at this time. */
void trace_definitions_put_alive(struct trace_bytes *out, uint64_t ticks);

/* Appends to `out` the contents of `definitions` as one or more blocks, and empties `definitions`.
 */
void trace_definitions_put_block(struct trace_bytes *out, struct trace_bytes *definitions);

/* These functions convert the definitions of a process (all members of struct trace_process) to the
 * bytes that its file would contain, and back, in order to send them to another process. They
 * return false if memory is exhausted or the bytes are invalid. The caller frees the results by
 * trace_bytes_free and trace_definitions_clear. */
bool trace_definitions_pack(const struct trace_process *process, struct trace_bytes *bytes);
bool trace_definitions_unpack(const void *bytes, size_t size, struct trace_process *process);

/* ---- Reading --------------------------------------------------------------------------------- */

/* The maximum number of kinds of events in later versions of the format. */
#define TRACE_KINDS_MAX 256

/* Reads the definitions of a process. */
struct trace_definitions_reader {
    struct trace_process *process;
    uint32_t fields[TRACE_KINDS_MAX]; /* the fields that apply, indexed by the kind of event */
    size_t function_room, library_room, site_room, comm_room, window_room, file_room, region_room,
        counter_room, location_room;
    uint64_t budget; /* number of bytes that may still be allocated */
    uint64_t seen;   /* number of definitions and blocks of events */
    bool is_exhausted;
    bool has_process; /* the definition of the process was read */
};

/* Adds the definitions of a block. Returns false at the first invalid definition, or if memory or
 * the budget is exhausted. */
bool trace_definitions_read(struct trace_definitions_reader *reader, const void *bytes,
                            size_t size);

/* Replaces missing strings (except `end_detail`) by "" and an implausible length of a tick by 1 ns,
 * and removes invalid references between definitions. Returns false if memory is exhausted. */
bool trace_definitions_finish(struct trace_definitions_reader *reader);

/* The first function adds location `index` if it does not exist; the second function adds a
 * function at the end. Both return false if memory or the budget is exhausted, or if the index is
 * not plausible. */
bool trace_definitions_add_location(struct trace_definitions_reader *reader, uint32_t index);
bool trace_definitions_add_function(struct trace_definitions_reader *reader, const char *name);

#endif
