/* SPDX-License-Identifier: MIT */
/* See arguments.h. */
#include "toolkit/arguments.h"

size_t arguments_handle_size;

void arguments_find_size(void)
{
    const QMPIX_Function *function;
    if (QMPIX_Function_describe(MPI_COMM_RANK_T, &function) == MPI_SUCCESS)
        arguments_handle_size = function->parameters[0].size;
}

int argument_negative(const QMPIX_Call *call, int place)
{
    int number = -1;
    QMPIX_Call_get_argument(call, place, &number);
    return number;
}

MPI_Count argument_count(const QMPIX_Call *call, int place)
{
    return call->function->parameters[place].kind == QMPIX_KIND_INT
               ? *(const int *)call->arguments[place]
               : *(const MPI_Count *)call->arguments[place];
}

MPI_Comm argument_comm(const QMPIX_Call *call, int place)
{
    MPI_Comm comm = MPI_COMM_NULL;
    QMPIX_Call_get_argument(call, place, &comm);
    return comm;
}

MPI_Datatype argument_type(const QMPIX_Call *call, int place)
{
    MPI_Datatype type = MPI_DATATYPE_NULL;
    QMPIX_Call_get_argument(call, place, &type);
    return type;
}

/* MPI_Type_get_envelope alone is not enough, because it fails for datatypes that functions such as
 * MPI_Type_contiguous_c have made. MPI libraries that have those functions also have
 * MPI_Type_get_envelope_c. */
bool argument_type_is_predefined(MPI_Datatype type)
{
    int integers, addresses, types, combiner = MPI_UNDEFINED;
#if MPI_VERSION >= 4
    MPI_Count many[4];
    if (PMPI_Type_get_envelope_c(type, &many[0], &many[1], &many[2], &many[3], &combiner) ==
        MPI_SUCCESS)
        return combiner == MPI_COMBINER_NAMED;
#endif
    return PMPI_Type_get_envelope(type, &integers, &addresses, &types, &combiner) == MPI_SUCCESS &&
           combiner == MPI_COMBINER_NAMED;
}

MPI_File argument_file(const QMPIX_Call *call, int place)
{
    MPI_File file = MPI_FILE_NULL;
    QMPIX_Call_get_argument(call, place, &file);
    return file;
}

MPI_Comm argument_comm_at(const QMPIX_Call *call, int place)
{
    MPI_Comm comm = MPI_COMM_NULL;
    QMPIX_Call_get_elements(call, place, 0, 1, &comm);
    return comm;
}

MPI_File argument_file_at(const QMPIX_Call *call, int place)
{
    MPI_File file = MPI_FILE_NULL;
    QMPIX_Call_get_elements(call, place, 0, 1, &file);
    return file;
}

MPI_Session argument_session_at(const QMPIX_Call *call, int place)
{
    MPI_Session session = MPI_SESSION_NULL;
    QMPIX_Call_get_elements(call, place, 0, 1, &session);
    return session;
}

MPI_Request argument_request_at(const QMPIX_Call *call, int place, int i)
{
    MPI_Request request = MPI_REQUEST_NULL;
    QMPIX_Call_get_elements(call, place, i, 1, &request);
    return request;
}

bool argument_status_at(const QMPIX_Call *call, int place, int i, MPI_Status *status)
{
    return QMPIX_Call_get_elements(call, place, i, 1, status) == MPI_SUCCESS;
}

int argument_error_class(const QMPIX_Call *call)
{
    int result = MPI_SUCCESS, class = MPI_SUCCESS;
    QMPIX_Call_get_result(call, &result);
    QMPIX_Error_class(result, &class);
    return class;
}
