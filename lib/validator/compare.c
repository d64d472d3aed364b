/* SPDX-License-Identifier: MIT */
/* See compare.h. */
#include "validator/compare.h"

#include "util/util.h"

#include <qmpi/traits.h>

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

/* Larger outputs are not compared, and a copy of a larger input counts as a difference. */
enum { BYTES_MAX = 1 << 16 };

static size_t argument_size(const QMPIX_Parameter *parameter)
{
    return parameter->indirection || parameter->kind == QMPIX_KIND_FUNCTION ? sizeof(void *)
                                                                            : parameter->size;
}

static void reserve(unsigned char **memory, size_t *capacity, size_t size)
{
    if (*capacity >= size)
        return;
    free(*memory);
    *memory = qmpi_allocate(size, 1);
    *capacity = size;
}

void compare_save_arguments(struct compare_values *values, const QMPIX_Call *call)
{
    const QMPIX_Function *function = call->function;
    size_t size = 0, place = 0;
    for (int i = 0; i < function->parameter_count; i++)
        size += argument_size(&function->parameters[i]);
    reserve(&values->arguments, &values->arguments_capacity, size);
    for (int i = 0; i < function->parameter_count; i++) {
        const size_t length = argument_size(&function->parameters[i]);
        if (length)
            memcpy(values->arguments + place, call->arguments[i], length);
        place += length;
    }
    values->function = function;
    values->has_result = false;
}

const void *compare_saved_argument(const struct compare_values *values, int index)
{
    const unsigned char *saved = values->arguments;
    for (int i = 0; i < index; i++)
        saved += argument_size(&values->function->parameters[i]);
    return saved;
}

/* ---- Arrays ---------------------------------------------------------------------------------- */

static bool read_integer(const QMPIX_Call *call, int index, long long *value)
{
    const QMPIX_Parameter *parameter = &call->function->parameters[index];
    const void *place = call->arguments[index];
    if (parameter->indirection) { /* such as `outcount` */
        memcpy(&place, place, sizeof place);
        if (parameter->indirection > 1 || !place)
            return false;
    }
    if (parameter->kind == QMPIX_KIND_INT)
        *value = *(const int *)place;
    else if (parameter->kind == QMPIX_KIND_COUNT)
        *value = *(const MPI_Count *)place;
    else
        return false;
    return true;
}

/* Returns the number of elements to which an argument points, or 0 if the number is unknown or the
 * elements are larger than BYTES_MAX. */
static int element_count(const QMPIX_Call *call, int index, const QMPIX_Parameter_traits *traits)
{
    const QMPIX_Parameter *parameter = &call->function->parameters[index];
    long long count = 1;
    if (traits->length == QMPIX_LENGTH_OF &&
        (traits->of < 0 || !read_integer(call, traits->of, &count)))
        return 0;
    if (traits->length != QMPIX_LENGTH_OF && traits->length != QMPIX_LENGTH_ONE)
        return 0;
    return count > 0 && (unsigned long long)count * parameter->size <= BYTES_MAX ? (int)count : 0;
}

static QMPIX_Parameter_traits parameter_traits_of(const QMPIX_Function *function, int index)
{
    QMPIX_Parameter_traits traits = {.size = sizeof traits};
    QMPIX_Function_get_parameter_traits(function, index, &traits);
    return traits;
}

/* ---- Arguments ------------------------------------------------------------------------------- */

/* Returns whether a pointer may point to an object: NULL and constants such as MPI_STATUS_IGNORE do
 * not. */
static bool leads_somewhere(const void *pointer)
{
    return (uintptr_t)pointer >= 4096 && pointer != MPI_STATUS_IGNORE;
}

/* Returns whether a layer may pass this pointer, which differs from the one that it received. */
static bool is_equivalent(const QMPIX_Call *call, int index, const void *received,
                          const void *passed)
{
    const QMPIX_Parameter *parameter = &call->function->parameters[index];
    const QMPIX_Parameter_traits traits = parameter_traits_of(call->function, index);
    if (parameter->kind == QMPIX_KIND_STATUS && traits.direction != QMPIX_DIRECTION_IN)
        return true; /* outputs are compared at the end */
    if (parameter->kind == QMPIX_KIND_BUFFER || parameter->kind == QMPIX_KIND_FUNCTION ||
        !leads_somewhere(received) || !leads_somewhere(passed))
        return false;
    if (traits.direction == QMPIX_DIRECTION_OUT)
        return true;
    if (parameter->indirection != 1 || !parameter->size)
        return false;
    if (parameter->kind == QMPIX_KIND_CHAR && parameter->is_const)
        return !strcmp(received, passed);
    const int count = element_count(call, index, &traits);
    return count && !memcmp(received, passed, (size_t)count * parameter->size);
}

int compare_arguments(const struct compare_values *values, const QMPIX_Call *call)
{
    const unsigned char *saved = values->arguments;
    for (int i = 0; i < call->function->parameter_count; i++) {
        const QMPIX_Parameter *parameter = &call->function->parameters[i];
        const size_t size = argument_size(parameter);
        const void *received = NULL, *passed = NULL;
        if (parameter->indirection) {
            memcpy(&received, saved, sizeof received);
            memcpy(&passed, call->arguments[i], sizeof passed);
        }
        if (size && memcmp(saved, call->arguments[i], size) != 0 &&
            !(parameter->indirection && is_equivalent(call, i, received, passed)))
            return i;
        saved += size;
    }
    return -1;
}

/* ---- Results --------------------------------------------------------------------------------- */

static size_t result_size(const QMPIX_Function *function)
{
    switch (function->result) {
    case QMPIX_KIND_INT:
    case QMPIX_KIND_FINT: /* an INTEGER of Fortran; the standard ABI has no MPI_Fint */
        return sizeof(int);
    case QMPIX_KIND_DOUBLE:
        return sizeof(double);
    case QMPIX_KIND_AINT:
        return sizeof(MPI_Aint);
    default:
        return 0;
    }
}

/* Returns false if a call has cleared its flag. The other outputs are then not set. */
static bool has_set_flag(const QMPIX_Call *call)
{
    int index, flag = 1;
    if (QMPIX_Call_find_argument(call, "flag", &index) == MPI_SUCCESS &&
        parameter_traits_of(call->function, index).direction == QMPIX_DIRECTION_OUT)
        QMPIX_Call_get_elements(call, index, 0, 1, &flag);
    return flag != 0;
}

/* Returns the size of an output of a call in bytes, or 0 if the output is not compared. */
static size_t output_size(const QMPIX_Call *call, int index)
{
    const QMPIX_Parameter *parameter = &call->function->parameters[index];
    if (parameter->indirection != 1 || parameter->is_const || !parameter->size ||
        parameter->kind == QMPIX_KIND_BUFFER || parameter->kind == QMPIX_KIND_CHAR ||
        parameter->kind == QMPIX_KIND_OTHER)
        return 0;
    const QMPIX_Parameter_traits traits = parameter_traits_of(call->function, index);
    if (traits.direction != QMPIX_DIRECTION_OUT && traits.direction != QMPIX_DIRECTION_INOUT)
        return 0;
    return (size_t)element_count(call, index, &traits) * parameter->size;
}

/* Copies an output of a call. Returns false if the argument points to none. */
static bool read_output(const QMPIX_Call *call, int index, size_t size, void *values)
{
    const void *place;
    memcpy(&place, call->arguments[index], sizeof place);
    if (!leads_somewhere(place))
        return false;
    return QMPIX_Call_get_elements(call, index, 0,
                                   (int)(size / call->function->parameters[index].size),
                                   values) == MPI_SUCCESS;
}

static bool succeeded(const QMPIX_Call *call)
{
    return call->function->result == QMPIX_KIND_INT && *(const int *)call->result == MPI_SUCCESS;
}

void compare_save_results(struct compare_values *values, const QMPIX_Call *call)
{
    const int count = call->function->parameter_count;
    const size_t size = result_size(call->function);
    size_t all = 0, place = 0;
    values->has_result = size != 0;
    if (size)
        memcpy(values->result, call->result, size);
    if (values->parameters_capacity < count) {
        free(values->output_sizes);
        values->output_sizes = qmpi_allocate((size_t)count, sizeof *values->output_sizes);
        values->parameters_capacity = count;
    }
    const bool set = succeeded(call) && has_set_flag(call);
    for (int i = 0; i < count; i++)
        all += values->output_sizes[i] = set ? output_size(call, i) : 0;
    reserve(&values->outputs, &values->outputs_capacity, all);
    for (int i = 0; i < count; i++) {
        if (values->output_sizes[i] &&
            !read_output(call, i, values->output_sizes[i], values->outputs + place))
            values->output_sizes[i] = 0;
        place += values->output_sizes[i];
    }
}

bool compare_result(const struct compare_values *values, const QMPIX_Call *call)
{
    return !values->has_result ||
           !memcmp(values->result, call->result, result_size(call->function));
}

int compare_outputs(const struct compare_values *values, const QMPIX_Call *call)
{
    const unsigned char *saved = values->outputs;
    int different = -1;
    for (int i = 0; values->has_result && i < call->function->parameter_count; i++) {
        const size_t size = values->output_sizes[i];
        unsigned char *returned = size ? qmpi_allocate(size, 1) : NULL;
        if (different < 0 && size && read_output(call, i, size, returned) &&
            memcmp(saved, returned, size) != 0)
            different = i;
        free(returned);
        saved += size;
    }
    return different;
}
