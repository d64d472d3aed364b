/* SPDX-License-Identifier: MIT */
/* See semantics.h. */
#include "observe/semantics.h"

#include "functions/functions.h"
#include "util/util.h"

#include <pthread.h>
#include <string.h>

QMPIX_Function qmpi_described[QMPI_FUNCTION_COUNT];

static pthread_once_t once = PTHREAD_ONCE_INIT;

static QMPIX_Parameter *parameters;

static void unpack(void)
{
    parameters = qmpi_allocate((size_t)qmpi_packed_parameter_count, sizeof *parameters);
    for (int i = 0; i < qmpi_packed_parameter_count; i++) {
        const struct qmpi_semantics_parameter *packed = &qmpi_packed_parameters[i];
        parameters[i] = (QMPIX_Parameter){.name = qmpi_description_strings + packed->name,
                                          .type = qmpi_description_strings + packed->type,
                                          .kind = (QMPIX_Kind)packed->kind,
                                          .indirection = packed->indirection,
                                          .is_array = packed->is_array,
                                          .is_const = packed->is_const,
                                          .size = packed->size};
    }
    for (int number = 0; number < QMPI_FUNCTION_COUNT; number++) {
        const struct qmpi_semantics_function *packed = &qmpi_packed_functions[number];
        if (!packed->group)
            continue;
        qmpi_described[number] = (QMPIX_Function){.number = (enum QMPI_Functions_enum)number,
                                                  .name = qmpi_names[number].name,
                                                  .group = packed->group,
                                                  .result = (QMPIX_Kind)packed->result,
                                                  .parameter_count = packed->parameter_count,
                                                  .parameters = parameters + packed->parameters};
    }
}

QMPIX_Constants qmpi_record_parameter_constants(const QMPIX_Parameter *parameter)
{
    const QMPIX_Constants kind =
        (QMPIX_Constants)qmpi_packed_parameters[parameter - parameters].constants;
    const bool has_one_value =
        kind >= QMPIX_CONSTANTS_BOOLEAN && kind <= QMPIX_CONSTANTS_COLLECTIVE_BUFFER;
    return has_one_value ? QMPIX_CONSTANTS_NONE : kind;
}

void qmpi_semantics_describe_all(void)
{
    pthread_once(&once, unpack);
}

int QMPIX_Function_describe(enum QMPI_Functions_enum fn, const QMPIX_Function **function)
{
    if ((unsigned)fn >= QMPI_FUNCTION_COUNT || !function)
        return MPI_ERR_ARG;
    qmpi_semantics_describe_all();
    if (!qmpi_described[fn].name)
        return MPI_ERR_ARG;
    *function = &qmpi_described[fn];
    return MPI_SUCCESS;
}

int QMPIX_Call_find_argument(const QMPIX_Call *call, const char *name, int *index)
{
    if (!call || !name || !index)
        return MPI_ERR_ARG;
    for (int i = 0; i < call->function->parameter_count; i++) {
        if (!strcmp(call->function->parameters[i].name, name)) {
            *index = i;
            return MPI_SUCCESS;
        }
    }
    return MPI_ERR_ARG;
}

/* ---- Traits ---------------------------------------------------------------------------------- */

/* The sizes of the structures in their first versions. */
enum { LEAST_TRAITS = sizeof(QMPIX_Traits), LEAST_PARAMETER = sizeof(QMPIX_Parameter_traits) };

static bool is_described(const QMPIX_Function *function)
{
    return function && (unsigned)function->number < QMPI_FUNCTION_COUNT &&
           qmpi_described[function->number].name;
}

/* Copies the known members; members that this libqmpi does not know are not changed. */
static void store_traits(void *traits, size_t *size, const void *known, size_t known_size)
{
    const size_t given = *size;
    memcpy(traits, known, given < known_size ? given : known_size);
    *size = given;
}

int QMPIX_Function_get_traits(const QMPIX_Function *function, QMPIX_Traits *traits)
{
    if (!is_described(function) || !traits || traits->size < LEAST_TRAITS)
        return MPI_ERR_ARG;
    const struct qmpi_semantics *meaning = &qmpi_meanings[function->number];
    const QMPIX_Traits known = {
        .role = (QMPIX_Role)meaning->role,
        .flags = meaning->flags,
        .collective = (QMPIX_Collective)meaning->collective,
        .flow = (QMPIX_Flow)meaning->flow,
        .access = (QMPIX_Access)meaning->access,
#define ARGUMENT(member) .member = meaning->member - 1
        ARGUMENT(comm),
        ARGUMENT(window),
        ARGUMENT(file),
        ARGUMENT(created),
        ARGUMENT(request),
        ARGUMENT(requests),
        ARGUMENT(message),
        ARGUMENT(status),
        ARGUMENT(statuses),
        ARGUMENT(flag),
        ARGUMENT(index),
        ARGUMENT(outcount),
        ARGUMENT(indices),
        ARGUMENT(send_buffer),
        ARGUMENT(send_count),
        ARGUMENT(send_type),
        ARGUMENT(destination),
        ARGUMENT(send_tag),
        ARGUMENT(receive_buffer),
        ARGUMENT(receive_count),
        ARGUMENT(receive_type),
        ARGUMENT(source),
        ARGUMENT(receive_tag),
        ARGUMENT(partitions),
        ARGUMENT(root),
        ARGUMENT(op),
#undef ARGUMENT
    };
    store_traits(traits, &traits->size, &known, sizeof known);
    return MPI_SUCCESS;
}

int QMPIX_Function_get_parameter_traits(const QMPIX_Function *function, int index,
                                        QMPIX_Parameter_traits *traits)
{
    if (!is_described(function) || index < 0 || index >= function->parameter_count || !traits ||
        traits->size < LEAST_PARAMETER)
        return MPI_ERR_ARG;
    const struct qmpi_semantics_parameter *packed =
        &qmpi_packed_parameters[qmpi_packed_functions[function->number].parameters + index];
    const QMPIX_Parameter_traits known = {
        .constants = (QMPIX_Constants)packed->constants,
        .direction = (QMPIX_Direction)packed->direction,
        .length = (QMPIX_Length)packed->length,
        .of = packed->of,
    };
    store_traits(traits, &traits->size, &known, sizeof known);
    return MPI_SUCCESS;
}

/* ---- Arguments ------------------------------------------------------------------------------- */

MPI_Count qmpi_semantics_count(const QMPIX_Call *call, int role, int i)
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

MPI_Datatype qmpi_semantics_type(const QMPIX_Call *call, int role, int i)
{
    const void *value = call->arguments[role - 1];
    if (call->function->parameters[role - 1].indirection)
        return (*(const MPI_Datatype *const *)value)[i];
    return *(const MPI_Datatype *)value;
}

/* Whether a call has a handle that was made by a session. Before MPI_Init, every communicator,
 * window and file that is not predefined comes from a session. */
static bool has_session_handle(const QMPIX_Call *call)
{
    const struct qmpi_semantics *meaning = qmpi_semantics_of(call);
    if (!meaning->comm || qmpi_semantics_is_array(call, meaning->comm))
        return meaning->window || meaning->file || meaning->shape == QMPI_SHAPE_START;
    const MPI_Comm comm = QMPI_ARGUMENT(call, meaning->comm, MPI_Comm);
    return comm != MPI_COMM_NULL && comm != MPI_COMM_WORLD && comm != MPI_COMM_SELF;
}

/* MPI can be queried if it is initialized, as the success of a call shows. */
bool qmpi_semantics_can_ask(const QMPIX_Call *call)
{
    int initialized = 0, finalized = 0;
    if (call->result)
        return qmpi_semantics_succeeded(call);
    QMPI_PMPI(Initialized, INITIALIZED)(&initialized);
    QMPI_PMPI(Finalized, FINALIZED)(&finalized);
    return !finalized && (initialized || has_session_handle(call));
}
