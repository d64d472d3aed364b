/* SPDX-License-Identifier: MIT */
/*
 * What <qmpi/observer.h> tells of a call, for tools that are compiled for the standard ABI. See
 * convert.h; the functions of libqmpi that convert only an error class are generated.
 */
#include "abi/convert.h"
#include "observe/observe.h"

#include <stdlib.h>

#pragma GCC diagnostic ignored "-Wmissing-prototypes"

QMPI_API int QMPIX_abi_Register_tool_observer(int tool_id, const QMPIX_Observer *observer)
{
    qmpi_abi_start();
    qmpi_abi_find_callbacks();
    return qmpi_abi_from_error(QMPIX_Register_tool_observer(tool_id, observer));
}

QMPI_API int QMPIX_abi_Call_get_comm(const QMPIX_Call *call, uintptr_t *comm)
{
    MPI_Comm native;
    const int result = comm ? QMPIX_Call_get_comm(call, &native) : MPI_ERR_ARG;
    if (result == MPI_SUCCESS)
        *comm = qmpi_abi_from_MPI_Comm(native);
    return qmpi_abi_from_error(result);
}

QMPI_API int QMPIX_abi_Call_get_root(const QMPIX_Call *call, int *root)
{
    const int result = QMPIX_Call_get_root(call, root);
    if (result == MPI_SUCCESS)
        *root = qmpi_abi_from_native_number(QMPI_ABI_RANK, *root);
    return qmpi_abi_from_error(result);
}

static void convert_numbers(int *peer, int *world, int *tag)
{
    if (peer)
        *peer = qmpi_abi_from_native_number(QMPI_ABI_RANK, *peer);
    if (world)
        *world = qmpi_abi_from_native_number(QMPI_ABI_RANK, *world);
    if (tag)
        *tag = qmpi_abi_from_native_number(QMPI_ABI_TAG, *tag);
}

QMPI_API int QMPIX_abi_Call_get_peer(const QMPIX_Call *call, int *peer, int *world, int *tag)
{
    const int result = QMPIX_Call_get_peer(call, peer, world, tag);
    if (result == MPI_SUCCESS)
        convert_numbers(peer, world, tag);
    return qmpi_abi_from_error(result);
}

/* Whom to tell of each transfer. */
struct receiver {
    void (*each)(void *data, const QMPIX_Transfer *transfer);
    void *data;
};

static void convert_transfer(void *data, const QMPIX_Transfer *transfer)
{
    const struct receiver *receiver = data;
    QMPIX_Transfer converted = *transfer;
    convert_numbers(&converted.peer, &converted.world, &converted.tag);
    receiver->each(receiver->data, &converted);
}

QMPI_API int QMPIX_abi_Call_for_each_transfer(
    const QMPIX_Call *call, void (*each)(void *data, const QMPIX_Transfer *transfer), void *data)
{
    struct receiver receiver = {each, data};
    return qmpi_abi_from_error(
        each ? QMPIX_Call_for_each_transfer(call, convert_transfer, &receiver) : MPI_ERR_ARG);
}

typedef int list_requests(const QMPIX_Call *call, int capacity, MPI_Request *requests, int *count);

/* The handles of the ABI are at least as large, so that the tool's array has room for the others.
 * Converted from the end, each is read before something is written in its place. */
static int convert_requests(list_requests *list, const QMPIX_Call *call, int capacity,
                            uintptr_t *requests, int *count)
{
    _Static_assert(sizeof(MPI_Request) <= sizeof *requests, "handles are larger than the ABI's");
    const int result = list(call, capacity, (MPI_Request *)requests, count);
    if (result != MPI_SUCCESS)
        return qmpi_abi_from_error(result);
    for (int i = *count < capacity ? *count : capacity; i-- > 0;) {
        MPI_Request request;
        memcpy(&request, (char *)requests + (size_t)i * sizeof request, sizeof request);
        requests[i] = qmpi_abi_from_MPI_Request(request);
    }
    return MPI_SUCCESS;
}

QMPI_API int QMPIX_abi_Call_get_started(const QMPIX_Call *call, int capacity, uintptr_t *requests,
                                        int *count)
{
    return convert_requests(QMPIX_Call_get_started, call, capacity, requests, count);
}

QMPI_API int QMPIX_abi_Call_get_completed(const QMPIX_Call *call, int capacity, uintptr_t *requests,
                                          int *count)
{
    return convert_requests(QMPIX_Call_get_completed, call, capacity, requests, count);
}

QMPI_API int QMPIX_abi_Comm_world_rank(uintptr_t comm, int rank, int *world)
{
    const int result = QMPIX_Comm_world_rank(qmpi_abi_to_MPI_Comm(comm),
                                             qmpi_abi_to_native_number(QMPI_ABI_RANK, rank), world);
    if (result == MPI_SUCCESS)
        *world = qmpi_abi_from_native_number(QMPI_ABI_RANK, *world);
    return qmpi_abi_from_error(result);
}

QMPI_API int QMPIX_abi_Comm_get_identity(uintptr_t comm, QMPIX_Comm_identity *identity)
{
    return qmpi_abi_from_error(QMPIX_Comm_get_identity(qmpi_abi_to_MPI_Comm(comm), identity));
}

QMPI_API int QMPIX_abi_Datatype_get_signature(uintptr_t type, QMPIX_Signature *signature)
{
    return qmpi_abi_from_error(
        QMPIX_Datatype_get_signature(qmpi_abi_to_MPI_Datatype(type), signature));
}
