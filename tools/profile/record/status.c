/* SPDX-License-Identifier: MIT */
/* See status.h. */
#include "record/status.h"

enum status_members status_members;

/* Members are those of the library at run time if they hold what MPI puts into a status. */
static bool agree(MPI_Count bytes, int cancelled)
{
    MPI_Status status = {0};
    return PMPI_Status_set_elements_x(&status, MPI_BYTE, bytes) == MPI_SUCCESS &&
           PMPI_Status_set_cancelled(&status, cancelled) == MPI_SUCCESS &&
           status_member_bytes(&status) == (uint64_t)bytes &&
           status_member_cancelled(&status) == (cancelled != 0);
}

static void find_members(void)
{
    const bool good = agree(0, 0) && agree(INT32_MAX, 0) && agree(0x89abcdef, 1) &&
                      agree((MPI_Count)0x123456789a, 0) && agree((MPI_Count)0x123456789a, 1);
    __atomic_store_n(&status_members, good ? STATUS_MEMBERS_AGREE : STATUS_MEMBERS_DIFFER,
                     __ATOMIC_RELEASE);
}

bool status_ask(const MPI_Status *status, uint64_t *bytes)
{
    int count;
    MPI_Count elements = 0;
    if (status_members == STATUS_UNKNOWN)
        find_members();
    /* The same in half as many instructions, but for more than an int holds. */
    if (PMPI_Get_count(status, MPI_BYTE, &count) == MPI_SUCCESS && count >= 0) {
        *bytes = (uint64_t)count;
        return true;
    }
    const bool good = PMPI_Get_elements_x(status, MPI_BYTE, &elements) == MPI_SUCCESS;
    *bytes = good && elements > 0 ? (uint64_t)elements : 0;
    return good && elements >= 0;
}

bool status_ask_cancelled(const MPI_Status *status)
{
    int cancelled = 0;
    PMPI_Test_cancelled(status, &cancelled);
    return cancelled;
}
