/* SPDX-License-Identifier: MIT */
/* Arguments and results of a call, converted for a tool that is compiled for the standard ABI. */
#include "abi/convert.h"
#include "observe/observe.h"

#pragma GCC diagnostic ignored "-Wmissing-prototypes"

/* Copied without a call: handles have the size of an integer or of a pointer. */
static inline uintptr_t read_handle(const void *from, size_t size)
{
    unsigned small;
    uintptr_t large;
    if (size == sizeof small) {
        memcpy(&small, from, sizeof small);
        return small;
    }
    memcpy(&large, from, sizeof large);
    return large;
}

static inline bool is_handle(QMPIX_Kind kind)
{
    return kind >= QMPIX_KIND_COMM && kind <= QMPIX_KIND_WIN;
}

static enum qmpi_abi_meaning meaning_of(const QMPIX_Parameter *parameter)
{
    return (enum qmpi_abi_meaning)qmpi_parameter_meaning(parameter);
}

static const void *convert_address(const QMPIX_Parameter *parameter, const void *address)
{
    if (parameter->kind == QMPIX_KIND_BUFFER)
        return qmpi_abi_from_buffer(address);
    if (parameter->kind == QMPIX_KIND_STATUS)
        return address == MPI_STATUS_IGNORE || address == MPI_STATUSES_IGNORE ? NULL : address;
    return meaning_of(parameter) == QMPI_ABI_WEIGHTS ? qmpi_abi_from_weights(address) : address;
}

QMPI_API int QMPIX_abi_Call_get_argument(const QMPIX_Call *call, int index, void *value)
{
    const QMPIX_Parameter *parameter = qmpi_argument_of(call, index);
    if (!parameter || !value)
        return qmpi_abi_from_error(MPI_ERR_ARG);
    const void *argument = call->arguments[index];
    if (!parameter->indirection && is_handle(parameter->kind)) {
        *(uintptr_t *)value =
            qmpi_abi_from_handle(parameter->kind, read_handle(argument, parameter->size));
    } else if (parameter->indirection) {
        const void *address = convert_address(parameter, *(const void *const *)argument);
        memcpy(value, &address, sizeof address);
    } else if (parameter->kind == QMPIX_KIND_FUNCTION) {
        const void *function = qmpi_abi_from_callback(*(const void *const *)argument);
        memcpy(value, &function, sizeof function);
    } else if (parameter->kind == QMPIX_KIND_INT) {
        *(int *)value = qmpi_abi_from_native_number(meaning_of(parameter), *(const int *)argument);
    } else {
        memcpy(value, argument, parameter->size);
    }
    return MPI_SUCCESS;
}

static void convert_statuses(const char *from, int count, struct qmpi_abi_status *to)
{
    for (int i = 0; i < count; i++)
        qmpi_abi_read_status(from + (size_t)i * sizeof(MPI_Status), to + i);
}

static void convert_elements(const QMPIX_Parameter *parameter, const char *from, int count,
                             void *values)
{
    const size_t size = qmpi_argument_element_size(parameter);
    const bool is_plain = parameter->indirection > 1;
    if (parameter->kind == QMPIX_KIND_STATUS && !is_plain) {
        convert_statuses(from, count, values);
    } else if (is_handle(parameter->kind) && !is_plain) {
        for (int i = 0; i < count; i++)
            ((uintptr_t *)values)[i] =
                qmpi_abi_from_handle(parameter->kind, read_handle(from + (size_t)i * size, size));
    } else {
        memmove(values, from, (size_t)count * size);
        if (parameter->kind == QMPIX_KIND_INT && size == sizeof(int) && !is_plain &&
            meaning_of(parameter) != QMPI_ABI_WEIGHTS)
            qmpi_abi_from_numbers(meaning_of(parameter), count, values);
    }
}

QMPI_API int QMPIX_abi_Call_convert_elements(const QMPIX_Call *call, int index,
                                             const void *elements, int count, void *values)
{
    const QMPIX_Parameter *parameter = qmpi_argument_of(call, index);
    if (!parameter || !elements || count < 0 || !values)
        return qmpi_abi_from_error(MPI_ERR_ARG);
    convert_elements(parameter, elements, count, values);
    return MPI_SUCCESS;
}

QMPI_API int QMPIX_abi_Call_get_elements(const QMPIX_Call *call, int index, int first, int count,
                                         void *values)
{
    const void *elements = qmpi_argument_elements(call, index, first, count);
    if (!elements || !values)
        return qmpi_abi_from_error(MPI_ERR_ARG);
    const QMPIX_Parameter *parameter = qmpi_argument_of(call, index);
    /* By far the most frequent one. */
    if (count == 1 && parameter->kind == QMPIX_KIND_STATUS && parameter->indirection == 1)
        qmpi_abi_read_status(elements, values);
    else
        convert_elements(parameter, elements, count, values);
    return MPI_SUCCESS;
}

QMPI_API int QMPIX_abi_Call_get_result(const QMPIX_Call *call, void *value)
{
    const int result = QMPIX_Call_get_result(call, value);
    if (result != MPI_SUCCESS)
        return qmpi_abi_from_error(result);
    const QMPIX_Kind kind = call->function->result;
    if (kind == QMPIX_KIND_INT)
        *(int *)value = qmpi_abi_from_error(*(const int *)call->result);
    else if (is_handle(kind))
        *(uintptr_t *)value =
            qmpi_abi_from_handle(kind, read_handle(call->result, qmpi_argument_result_size(call)));
    return MPI_SUCCESS;
}

QMPI_API int QMPIX_abi_Call_get_request(const QMPIX_Call *call, int index, uintptr_t *request)
{
    MPI_Request native;
    const int result = request ? QMPIX_Call_get_request(call, index, &native) : MPI_ERR_ARG;
    if (result == MPI_SUCCESS)
        *request = qmpi_abi_from_MPI_Request(native);
    return qmpi_abi_from_error(result);
}
