/* SPDX-License-Identifier: MIT */
/*
 * How many bytes a status tells of. MPI libraries keep them in members of their own of MPI_Status,
 * which are read where meson found them, and where they say what MPI says: that takes a few
 * instructions, and a call of MPI a hundred.
 */
#ifndef QMPI_TOOL_PROFILE_RECORD_STATUS_H
#define QMPI_TOOL_PROFILE_RECORD_STATUS_H

#include <mpi.h>

#include <stdbool.h>
#include <stdint.h>

/* Whether the members say what MPI says. */
enum status_members { STATUS_UNKNOWN, STATUS_MEMBERS_AGREE, STATUS_MEMBERS_DIFFER };
extern enum status_members status_members __attribute__((visibility("hidden")));

/* The same by calls of MPI; the first one finds out about the members. */
bool status_ask(const MPI_Status *status, uint64_t *bytes);
bool status_ask_cancelled(const MPI_Status *status);

static inline uint64_t status_member_bytes(const MPI_Status *status)
{
#if defined(STATUS_HAS_COUNT_LO)
    return (uint32_t)status->count_lo | (uint64_t)((uint32_t)status->count_hi_and_cancelled >> 1)
                                            << 32;
#elif defined(STATUS_HAS_UCOUNT)
    return status->_ucount;
#else
    return status ? 0 : 1;
#endif
}

static inline bool status_member_cancelled(const MPI_Status *status)
{
#if defined(STATUS_HAS_COUNT_LO)
    return status->count_hi_and_cancelled & 1;
#elif defined(STATUS_HAS_UCOUNT)
    return status->_cancelled;
#else
    return !status;
#endif
}

/* The bytes of what came. False: MPI does not know. MPI must be initialized, and not finalized. */
static inline bool status_bytes(const MPI_Status *status, uint64_t *bytes)
{
    if (__builtin_expect(status_members != STATUS_MEMBERS_AGREE, 0))
        return status_ask(status, bytes);
    *bytes = status_member_bytes(status);
    return true;
}

static inline bool status_is_cancelled(const MPI_Status *status)
{
    return status_members == STATUS_MEMBERS_AGREE ? status_member_cancelled(status)
                                                  : status_ask_cancelled(status);
}

#endif
