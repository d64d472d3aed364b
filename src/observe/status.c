/* SPDX-License-Identifier: MIT */
/*
 * How many bytes a status tells of. MPI libraries keep them in members of their own of MPI_Status,
 * which are read where meson found them, and where they say what MPI says: that takes a few
 * instructions, and a call of MPI a hundred.
 */
#include "observe/arguments.h"
#include "process/process.h"

#include <stdbool.h>
#include <stdint.h>

/* Whether the members say what MPI says. */
static enum { UNKNOWN, AGREE, DIFFER } members;

static inline MPI_Count member_bytes(const MPI_Status *status)
{
#if defined(QMPI_STATUS_HAS_COUNT_LO)
    return (MPI_Count)((uint32_t)status->count_lo |
                       (uint64_t)((uint32_t)status->count_hi_and_cancelled >> 1) << 32);
#elif defined(QMPI_STATUS_HAS_UCOUNT)
    return (MPI_Count)status->_ucount;
#else
    return status ? 0 : 1;
#endif
}

static inline bool member_cancelled(const MPI_Status *status)
{
#if defined(QMPI_STATUS_HAS_COUNT_LO)
    return status->count_hi_and_cancelled & 1;
#elif defined(QMPI_STATUS_HAS_UCOUNT)
    return status->_cancelled;
#else
    return !status;
#endif
}

static bool agree(MPI_Count bytes, int cancelled)
{
    MPI_Status status = {0};
    return QMPI_PMPI(Status_set_elements_x, STATUS_SET_ELEMENTS_X)(&status, MPI_BYTE, bytes) ==
               MPI_SUCCESS &&
           QMPI_PMPI(Status_set_cancelled, STATUS_SET_CANCELLED)(&status, cancelled) ==
               MPI_SUCCESS &&
           member_bytes(&status) == bytes && member_cancelled(&status) == (cancelled != 0);
}

static void find_members(void)
{
    const bool good = agree(0, 0) && agree(INT32_MAX, 0) && agree(0x89abcdef, 1) &&
                      agree((MPI_Count)0x123456789a, 0) && agree((MPI_Count)0x123456789a, 1);
    __atomic_store_n(&members, good ? AGREE : DIFFER, __ATOMIC_RELEASE);
}

__attribute__((noinline)) static int ask(const MPI_Status *status, MPI_Count *bytes)
{
    int count, cancelled = 0;
    MPI_Count elements = 0;
    if (members == UNKNOWN)
        find_members();
    QMPI_PMPI(Test_cancelled, TEST_CANCELLED)(status, &cancelled);
    if (cancelled) {
        *bytes = 0;
        return MPI_SUCCESS;
    }
    /* The same in half as many instructions, but for more than an int holds. */
    if (QMPI_PMPI(Get_count, GET_COUNT)(status, MPI_BYTE, &count) == MPI_SUCCESS && count >= 0) {
        *bytes = count;
        return MPI_SUCCESS;
    }
    if (QMPI_PMPI(Get_elements_x, GET_ELEMENTS_X)(status, MPI_BYTE, &elements) != MPI_SUCCESS ||
        elements < 0)
        return MPI_ERR_OTHER;
    *bytes = elements;
    return MPI_SUCCESS;
}

int QMPIX_Call_get_status_bytes(const QMPIX_Call *call, int index, int element, MPI_Count *bytes)
{
    const QMPIX_Parameter *parameter = qmpi_argument_of(call, index);
    if (!parameter || parameter->kind != QMPIX_KIND_STATUS || element < 0 || !bytes)
        return MPI_ERR_ARG;
    const MPI_Status *statuses = *(MPI_Status *const *)call->arguments[index];
    if (!statuses || statuses == MPI_STATUS_IGNORE || statuses == MPI_STATUSES_IGNORE)
        return MPI_ERR_ARG;
    const MPI_Status *status = statuses + element;
    if (__builtin_expect(members != AGREE, 0))
        return ask(status, bytes);
    *bytes = member_cancelled(status) ? 0 : member_bytes(status);
    return MPI_SUCCESS;
}
