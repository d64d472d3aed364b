/* SPDX-License-Identifier: MIT */
/* What a process contributes to the definitions of an archive: its own definitions, its times, and
 * the number of events of each thread. (The events themselves are written by events.c.) From the
 * parts of all processes, one process makes the global definitions, and for each process a set of
 * tables. If processes write an archive together, the root does this, and parts and tables are sent
 * as bytes. */
#ifndef QMPI_TRACE_OTF2_PART_H
#define QMPI_TRACE_OTF2_PART_H

#include "tools/trace/file/bytes.h"
#include "tools/trace/file/definitions.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct trace_part {
    const struct trace_process *process; /* NULL if the process has recorded nothing */
    uint64_t location;                   /* the number of its first thread in the archive */
    int64_t base, end;                   /* these and the next two: see struct trace */
    int64_t started;
    uint64_t bound;
    uint64_t *events; /* [thread]: number of events that were written */
    /* By index: whether an event creates or frees the communicator or window. */
    unsigned char *comm_events, *window_events;
};

/* Returns the number of a thread of a process in the archive. */
static inline uint64_t trace_part_location(const struct trace_part *part, size_t thread)
{
    return part->location | (uint64_t)thread << 32;
}

/* Returns the number of threads that the process has in the archive, which is at least one. */
static inline size_t trace_part_thread_count(const struct trace_part *part)
{
    return part->process && part->process->location_count ? part->process->location_count : 1;
}

/*
 * In the archive, an intercommunicator is a communicator of both groups, because the Python reader
 * of OTF2 3.0 cannot read the record for intercommunicators. The group that contains the lowest
 * rank comes first. These functions return the number that must be added to a rank of the remote or
 * of the local group, which is 0 for other communicators.
 */
int trace_part_remote_shift(const struct trace_comm *comm);
int trace_part_local_shift(const struct trace_comm *comm);

/* Allocates the arrays of a part. Returns false if memory is exhausted. */
bool trace_part_prepare(struct trace_part *part);
void trace_part_clear(struct trace_part *part);

/* The kinds of objects whose numbers in the events of a process may differ from those in the global
 * definitions. */
enum trace_part_table {
    ARCHIVE_REGIONS, /* functions, then regions */
    ARCHIVE_COMMS,
    ARCHIVE_WINDOWS,
    ARCHIVE_FILES,
    ARCHIVE_METRICS,
    ARCHIVE_PLACES,   /* call sites: source code locations */
    ARCHIVE_CONTEXTS, /* call sites: calling contexts */
    ARCHIVE_TABLES
};
struct trace_part_tables {
    uint32_t *all[ARCHIVE_TABLES]; /* all[kind][number in the process] is the number in the global
                                      definitions */
    size_t count[ARCHIVE_TABLES];
    /* The bound of struct trace and the length of the whole trace, in nanoseconds. */
    uint64_t bound, length;
};
void trace_part_clear_tables(struct trace_part_tables *tables);

/* These functions convert parts and tables to bytes and back. They return false if memory is
 * exhausted or the bytes are invalid. The caller frees what was unpacked; for a part, this includes
 * *process. */
bool trace_part_pack(const struct trace_part *part, struct trace_bytes *bytes);
bool trace_part_unpack(const void *bytes, size_t size, struct trace_part *part,
                       struct trace_process *process);
bool trace_part_pack_tables(const struct trace_part_tables *tables, struct trace_bytes *bytes);
bool trace_part_unpack_tables(const void *bytes, size_t size, struct trace_part_tables *tables);

#endif
