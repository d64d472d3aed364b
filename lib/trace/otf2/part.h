/* SPDX-License-Identifier: MIT */
/* A process's part of an archive: what its global definitions are made of, and what it then gets.
 * Where processes write an archive together, these are sent as bytes. */
#ifndef QMPI_TRACE_OTF2_PART_H
#define QMPI_TRACE_OTF2_PART_H

#include "trace/definitions.h"
#include "trace/encode.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct archive_part {
    const struct trace_process *process; /* NULL: it has recorded nothing */
    uint64_t location;                   /* in the archive: of its first thread */
    int64_t base, end;                   /* of its trace: see struct trace */
    int64_t started;
    uint64_t bound;
    uint64_t *events;                           /* by location: how many it has written */
    unsigned char *comm_events, *window_events; /* by index: whether its creation or end is told */
};

/* Sums and differences of times, which may be anything in a damaged file: at the limits if there is
 * no such number. */
static inline int64_t archive_add_times(int64_t one, int64_t other)
{
    int64_t sum;
    if (!__builtin_add_overflow(one, other, &sum))
        return sum;
    return one < 0 ? INT64_MIN : INT64_MAX;
}

static inline int64_t archive_subtract_times(int64_t one, int64_t other)
{
    int64_t difference;
    if (!__builtin_sub_overflow(one, other, &difference))
        return difference;
    return one < 0 ? INT64_MIN : INT64_MAX;
}

/* The number in the archive of a thread of a process. */
static inline uint64_t archive_location(const struct archive_part *part, size_t thread)
{
    return part->location | (uint64_t)thread << 32;
}

/* Threads in the archive: at least one. */
static inline size_t archive_thread_count(const struct archive_part *part)
{
    return part->process && part->process->location_count ? part->process->location_count : 1;
}

/*
 * An intercommunicator is in the archive as a communicator of both groups, of which that with the
 * lowest rank comes first: the Python reader of OTF2 3.0 cannot read the record that there is for
 * intercommunicators. So much must be added to ranks in the remote and in the local group.
 */
int archive_remote_shift(const struct trace_comm *comm);
int archive_local_shift(const struct trace_comm *comm);

/* The arrays of a part, for its process. False: memory is exhausted. */
bool archive_part_prepare(struct archive_part *part);
void archive_part_clear(struct archive_part *part);

/* Numbers in the files of a process that global definitions have other numbers for. */
enum archive_table {
    ARCHIVE_REGIONS, /* functions, then regions */
    ARCHIVE_COMMS,
    ARCHIVE_WINDOWS,
    ARCHIVE_FILES,
    ARCHIVE_METRICS,
    ARCHIVE_PLACES,   /* call sites: source code locations */
    ARCHIVE_CONTEXTS, /* call sites: calling contexts */
    ARCHIVE_TABLES
};
struct archive_tables {
    uint32_t *all[ARCHIVE_TABLES]; /* by number in the process */
    size_t count[ARCHIVE_TABLES];
    uint64_t bound, length; /* nanoseconds: see struct trace, and of the whole trace */
};
void archive_tables_clear(struct archive_tables *tables);

/* All four return false if memory is exhausted or the bytes are invalid. What was unpacked belongs
 * to the caller: for a part, also *process. */
bool archive_part_pack(const struct archive_part *part, struct trace_bytes *bytes);
bool archive_part_unpack(const void *bytes, size_t size, struct archive_part *part,
                         struct trace_process *process);
bool archive_tables_pack(const struct archive_tables *tables, struct trace_bytes *bytes);
bool archive_tables_unpack(const void *bytes, size_t size, struct archive_tables *tables);

#endif
