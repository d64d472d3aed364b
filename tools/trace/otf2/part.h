/* SPDX-License-Identifier: MIT */
/* The part of a process in an archive: the root makes the global definitions of the parts, and
 * gives each process its tables. Processes that write an archive together send both as bytes. */
#ifndef QMPI_TRACE_OTF2_PART_H
#define QMPI_TRACE_OTF2_PART_H

#include "tools/trace/file/bytes.h"
#include "tools/trace/file/definitions.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct trace_part {
    const struct trace_process *process; /* NULL: it has recorded nothing */
    uint64_t location;                   /* in the archive: of its first thread */
    int64_t base, end;                   /* of its trace: see struct trace */
    int64_t started;
    uint64_t bound;
    uint64_t *events; /* by location: how many it has written */
    unsigned char *comm_events,
        *window_events; /* by index: whether an event tells its creation or end */
};

/* The number in the archive of a thread of a process. */
static inline uint64_t trace_part_location(const struct trace_part *part, size_t thread)
{
    return part->location | (uint64_t)thread << 32;
}

/* Threads in the archive: at least one. */
static inline size_t trace_part_thread_count(const struct trace_part *part)
{
    return part->process && part->process->location_count ? part->process->location_count : 1;
}

/*
 * An intercommunicator is in the archive as a communicator of both groups. The group with the
 * lowest rank comes first: the Python reader of OTF2 3.0 cannot read the record that there is for
 * intercommunicators. So much must be added to ranks in the remote and in the local group.
 */
int trace_part_remote_shift(const struct trace_comm *comm);
int trace_part_local_shift(const struct trace_comm *comm);

/* The arrays of a part, for its process. False: memory is exhausted. */
bool trace_part_prepare(struct trace_part *part);
void trace_part_clear(struct trace_part *part);

/* Numbers in the files of a process that global definitions have other numbers for. */
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
    uint32_t *all[ARCHIVE_TABLES]; /* by number in the process */
    size_t count[ARCHIVE_TABLES];
    uint64_t bound, length; /* nanoseconds: see struct trace, and of the whole trace */
};
void trace_part_clear_tables(struct trace_part_tables *tables);

/* All four return false if memory is exhausted or the bytes are invalid. What was unpacked belongs
 * to the caller: for a part, also *process. */
bool trace_part_pack(const struct trace_part *part, struct trace_bytes *bytes);
bool trace_part_unpack(const void *bytes, size_t size, struct trace_part *part,
                       struct trace_process *process);
bool trace_part_pack_tables(const struct trace_part_tables *tables, struct trace_bytes *bytes);
bool trace_part_unpack_tables(const void *bytes, size_t size, struct trace_part_tables *tables);

#endif
