/* SPDX-License-Identifier: MIT */
/* See semantics.h. */
#include "observe/semantics.h"

MPI_Count qmpi_meaning_count(const QMPIX_Call *call, int role, int i)
{
    const QMPIX_Parameter *parameter = &call->function->parameters[role - 1];
    const void *value = call->arguments[role - 1];
    if (parameter->indirection)
        value = *(const void *const *)value;
    else
        i = 0;
    return parameter->kind == QMPIX_KIND_INT ? (MPI_Count)((const int *)value)[i]
                                             : ((const MPI_Count *)value)[i];
}

MPI_Datatype qmpi_meaning_type(const QMPIX_Call *call, int role, int i)
{
    const void *value = call->arguments[role - 1];
    if (call->function->parameters[role - 1].indirection)
        return (*(const MPI_Datatype *const *)value)[i];
    return *(const MPI_Datatype *)value;
}

/* Without MPI_Init only a session can have made them; the predefined ones come with MPI_Init. */
static bool has_session_handle(const QMPIX_Call *call)
{
    const struct qmpi_meaning *meaning = qmpi_meaning_of(call);
    if (!meaning->comm || qmpi_meaning_is_array(call, meaning->comm))
        return meaning->window || meaning->file || meaning->shape == QMPI_SHAPE_START;
    const MPI_Comm comm = QMPI_ARGUMENT(call, meaning->comm, MPI_Comm);
    return comm != MPI_COMM_NULL && comm != MPI_COMM_WORLD && comm != MPI_COMM_SELF;
}

/* A call that has succeeded shows that MPI is there. */
bool qmpi_meaning_can_ask(const QMPIX_Call *call)
{
    int initialized = 0, finalized = 0;
    if (call->result)
        return qmpi_meaning_succeeded(call);
    QMPI_PMPI(Initialized, INITIALIZED)(&initialized);
    QMPI_PMPI(Finalized, FINALIZED)(&finalized);
    return !finalized && (initialized || has_session_handle(call));
}
