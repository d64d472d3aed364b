/* SPDX-License-Identifier: MIT */
/* See descriptions.h. */
#include "observe/descriptions.h"

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
        const struct qmpi_packed_parameter *packed = &qmpi_packed_parameters[i];
        parameters[i] = (QMPIX_Parameter){.name = qmpi_description_strings + packed->name,
                                          .type = qmpi_description_strings + packed->type,
                                          .kind = (QMPIX_Kind)packed->kind,
                                          .indirection = packed->indirection,
                                          .is_array = packed->is_array,
                                          .is_const = packed->is_const,
                                          .size = packed->size};
    }
    for (int number = 0; number < QMPI_FUNCTION_COUNT; number++) {
        const struct qmpi_packed_function *packed = &qmpi_packed_functions[number];
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

int qmpi_parameter_meaning(const QMPIX_Parameter *parameter)
{
    return qmpi_packed_parameters[parameter - parameters].meaning;
}

void qmpi_describe_all(void)
{
    pthread_once(&once, unpack);
}

int QMPIX_Function_describe(enum QMPI_Functions_enum fn, const QMPIX_Function **function)
{
    if ((unsigned)fn >= QMPI_FUNCTION_COUNT || !function)
        return MPI_ERR_ARG;
    qmpi_describe_all();
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
