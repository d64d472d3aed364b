/* SPDX-License-Identifier: MIT */
/* See convert.h. */
#include "abi/convert.h"

#include "observe/observe.h"
#include "util/util.h"

void qmpi_abi_from_status(const MPI_Status *native, struct qmpi_abi_status *abi)
{
    *abi = (struct qmpi_abi_status){
        qmpi_abi_from_native_number(QMPIX_CONSTANTS_RANK, native->MPI_SOURCE),
        qmpi_abi_from_native_number(QMPIX_CONSTANTS_TAG, native->MPI_TAG),
        qmpi_abi_from_error(native->MPI_ERROR),
        {0}};
    memcpy(abi->internal, (const char *)native + QMPI_ABI_HIDDEN, QMPI_ABI_HIDDEN_SIZE);
}

void qmpi_abi_to_status(const struct qmpi_abi_status *abi, MPI_Status *native)
{
    memset(native, 0, sizeof *native);
    native->MPI_SOURCE = qmpi_abi_to_native_number(QMPIX_CONSTANTS_RANK, abi->source);
    native->MPI_TAG = qmpi_abi_to_native_number(QMPIX_CONSTANTS_TAG, abi->tag);
    native->MPI_ERROR = qmpi_abi_to_native_number(QMPIX_CONSTANTS_ERROR, abi->error);
    memcpy((char *)native + QMPI_ABI_HIDDEN, abi->internal, QMPI_ABI_HIDDEN_SIZE);
}

int *qmpi_abi_to_weights(const int *abi)
{
    if (abi == QMPI_ABI_UNWEIGHTED)
        return qmpi_call_unweighted();
    return abi == QMPI_ABI_WEIGHTS_EMPTY ? qmpi_call_weights_empty() : (int *)(uintptr_t)abi;
}

int *qmpi_abi_from_weights(const int *native)
{
    if (native && native == qmpi_call_unweighted())
        return QMPI_ABI_UNWEIGHTED;
    return native && native == qmpi_call_weights_empty() ? QMPI_ABI_WEIGHTS_EMPTY
                                                         : (int *)(uintptr_t)native;
}

static struct {
    const char *name; /* of the function in the library */
    uintptr_t abi;
    const void *native; /* NULL: not in this library, or not looked up yet */
} callbacks[] = {
    {"MPIR_Dup_fn", 1, NULL},
    {"OMPI_C_MPI_NULL_COPY_FN", 0, NULL},
    {"OMPI_C_MPI_NULL_DELETE_FN", 0, NULL},
    {"OMPI_C_MPI_DUP_FN", 1, NULL},
    {"OMPI_C_MPI_COMM_NULL_COPY_FN", 0, NULL},
    {"OMPI_C_MPI_COMM_NULL_DELETE_FN", 0, NULL},
    {"OMPI_C_MPI_COMM_DUP_FN", 1, NULL},
    {"OMPI_C_MPI_TYPE_NULL_COPY_FN", 0, NULL},
    {"OMPI_C_MPI_TYPE_NULL_DELETE_FN", 0, NULL},
    {"OMPI_C_MPI_TYPE_DUP_FN", 1, NULL},
    {"OMPI_C_MPI_WIN_NULL_COPY_FN", 0, NULL},
    {"OMPI_C_MPI_WIN_NULL_DELETE_FN", 0, NULL},
    {"OMPI_C_MPI_WIN_DUP_FN", 1, NULL},
};
enum { CALLBACKS = sizeof callbacks / sizeof *callbacks };

void qmpi_abi_find_callbacks(void)
{
    for (int i = 0; i < CALLBACKS; i++)
        callbacks[i].native = qmpi_mpi_library_symbol(callbacks[i].name);
}

const void *qmpi_abi_from_callback(const void *native)
{
    for (int i = 0; native && i < CALLBACKS; i++) {
        if (callbacks[i].native == native)
            return (const void *)callbacks[i].abi;
    }
    return native;
}

void qmpi_abi_from_numbers(QMPIX_Constants kind, int count, int *numbers)
{
    for (int i = 0; i < count; i++)
        numbers[i] = qmpi_abi_from_native_number(kind, numbers[i]);
}

int *qmpi_abi_to_numbers(QMPIX_Constants kind, int count, const int *numbers)
{
    int *converted = qmpi_allocate(count > 0 ? (size_t)count : 1, sizeof *converted);
    for (int i = 0; i < count && numbers; i++)
        converted[i] = qmpi_abi_to_native_number(kind, numbers[i]);
    return converted;
}
