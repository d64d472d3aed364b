/* SPDX-License-Identifier: MIT */
/*
 * Arguments and results of a call, one by one. A tool that is compiled for this MPI library can
 * also read them from the record; for one that is compiled for the standard ABI, src/abi converts
 * them.
 */
#include "observe/arguments.h"

static const unsigned char sizes[QMPIX_KIND_PCONTROL_WORDS + 1] = {
    [QMPIX_KIND_INT] = sizeof(int),
    [QMPIX_KIND_AINT] = sizeof(MPI_Aint),
    [QMPIX_KIND_COUNT] = sizeof(MPI_Count),
    [QMPIX_KIND_OFFSET] = sizeof(MPI_Offset),
    [QMPIX_KIND_FINT] = sizeof(int),
    [QMPIX_KIND_DOUBLE] = sizeof(double),
    [QMPIX_KIND_COMM] = sizeof(MPI_Comm),
    [QMPIX_KIND_DATATYPE] = sizeof(MPI_Datatype),
    [QMPIX_KIND_ERRHANDLER] = sizeof(MPI_Errhandler),
    [QMPIX_KIND_FILE] = sizeof(MPI_File),
    [QMPIX_KIND_GROUP] = sizeof(MPI_Group),
    [QMPIX_KIND_INFO] = sizeof(MPI_Info),
    [QMPIX_KIND_MESSAGE] = sizeof(MPI_Message),
    [QMPIX_KIND_OP] = sizeof(MPI_Op),
    [QMPIX_KIND_REQUEST] = sizeof(MPI_Request),
    [QMPIX_KIND_SESSION] = sizeof(MPI_Request), /* as large as the other handles */
    [QMPIX_KIND_WIN] = sizeof(MPI_Win),
};

size_t qmpi_argument_element_size(const QMPIX_Parameter *parameter)
{
    return parameter->indirection > 1 ? sizeof(void *) : parameter->size;
}

size_t qmpi_argument_result_size(const QMPIX_Call *call)
{
    return sizes[call->function->result];
}

const void *qmpi_argument_elements(const QMPIX_Call *call, int index, int first, int count)
{
    const QMPIX_Parameter *parameter = qmpi_argument_of(call, index);
    if (!parameter || !parameter->indirection || first < 0 || count < 0)
        return NULL;
    const size_t size = qmpi_argument_element_size(parameter);
    const char *array = *(const char *const *)call->arguments[index];
    const bool is_ignored =
        parameter->kind == QMPIX_KIND_STATUS &&
        (array == (const char *)MPI_STATUS_IGNORE || array == (const char *)MPI_STATUSES_IGNORE);
    return size && array && !is_ignored ? array + (size_t)first * size : NULL;
}

int QMPIX_Call_get_argument(const QMPIX_Call *call, int index, void *value)
{
    const QMPIX_Parameter *parameter = qmpi_argument_of(call, index);
    if (!parameter || !value)
        return MPI_ERR_ARG;
    memcpy(value, call->arguments[index],
           parameter->indirection ? sizeof(void *) : parameter->size);
    return MPI_SUCCESS;
}

int QMPIX_Call_get_elements(const QMPIX_Call *call, int index, int first, int count, void *values)
{
    const void *elements = qmpi_argument_elements(call, index, first, count);
    if (!elements)
        return MPI_ERR_ARG;
    return QMPIX_Call_convert_elements(call, index, elements, count, values);
}

int QMPIX_Call_convert_elements(const QMPIX_Call *call, int index, const void *elements, int count,
                                void *values)
{
    const QMPIX_Parameter *parameter = qmpi_argument_of(call, index);
    if (!parameter || !elements || count < 0 || !values)
        return MPI_ERR_ARG;
    memmove(values, elements, (size_t)count * qmpi_argument_element_size(parameter));
    return MPI_SUCCESS;
}

int QMPIX_Call_get_result(const QMPIX_Call *call, void *value)
{
    if (!call || !value || !qmpi_argument_result_size(call))
        return MPI_ERR_ARG;
    if (!call->result)
        return MPI_ERR_OTHER;
    memcpy(value, call->result, qmpi_argument_result_size(call));
    return MPI_SUCCESS;
}

int QMPIX_Call_get_request(const QMPIX_Call *call, int index, MPI_Request *request)
{
    if (!call || !request || !call->requests || index < 0 || index >= call->request_count)
        return MPI_ERR_ARG;
    *request = call->requests[index];
    return MPI_SUCCESS;
}
