/* SPDX-License-Identifier: MIT */
/* See group.h. Messages are sent in parts, as none may have more bytes than an int counts. */
#include "save/group.h"

enum { TAG = 1, PART = 1 << 30 };

static bool pass(char *bytes, size_t size, int other, bool sends, MPI_Comm comm)
{
    bool good = true;
    for (size_t at = 0; at < size && good; at += PART) {
        const int part = size - at < PART ? (int)(size - at) : PART;
        good = sends ? PMPI_Send(bytes + at, part, MPI_BYTE, other, TAG, comm) == MPI_SUCCESS
                     : PMPI_Recv(bytes + at, part, MPI_BYTE, other, TAG, comm, MPI_STATUS_IGNORE) ==
                           MPI_SUCCESS;
    }
    return good;
}

static bool barrier(void *context)
{
    const MPI_Comm *comm = context;
    return PMPI_Barrier(*comm) == MPI_SUCCESS;
}

static bool broadcast(void *context, void *data, size_t size)
{
    const MPI_Comm *comm = context;
    bool good = true;
    for (size_t at = 0; at < size && good; at += PART) {
        const int part = size - at < PART ? (int)(size - at) : PART;
        good = PMPI_Bcast((char *)data + at, part, MPI_BYTE, 0, *comm) == MPI_SUCCESS;
    }
    return good;
}

static int size_of(MPI_Comm comm)
{
    int size = 0;
    PMPI_Comm_size(comm, &size);
    return size;
}

static bool gather(void *context, const void *data, size_t size, void *all, const size_t *sizes)
{
    const MPI_Comm comm = *(const MPI_Comm *)context;
    if (!sizes)
        return pass((char *)(uintptr_t)data, size, 0, true, comm);
    char *at = all;
    bool good = true;
    if (size)
        memcpy(at, data, size);
    at += sizes[0];
    for (int rank = 1; rank < size_of(comm) && good; rank++) {
        good = pass(at, sizes[rank], rank, false, comm);
        at += sizes[rank];
    }
    return good;
}

static bool scatter(void *context, const void *all, const size_t *sizes, void *data, size_t size)
{
    const MPI_Comm comm = *(const MPI_Comm *)context;
    if (!sizes)
        return pass(data, size, 0, false, comm);
    const char *at = all;
    bool good = true;
    if (size)
        memcpy(data, at, size);
    at += sizes[0];
    for (int rank = 1; rank < size_of(comm) && good; rank++) {
        good = pass((char *)(uintptr_t)at, sizes[rank], rank, true, comm);
        at += sizes[rank];
    }
    return good;
}

bool group_make(struct trace_otf2_group *group, MPI_Comm *comm)
{
    *group = (struct trace_otf2_group){.context = comm,
                                       .barrier = barrier,
                                       .broadcast = broadcast,
                                       .gather = gather,
                                       .scatter = scatter};
    return PMPI_Comm_rank(*comm, &group->rank) == MPI_SUCCESS &&
           PMPI_Comm_size(*comm, &group->size) == MPI_SUCCESS;
}
