/* SPDX-License-Identifier: MIT */
/* See type_contents.h. */
#include "observe/type_contents.h"

#include "dispatch/dispatch.h"

#include <stdlib.h>

bool qmpi_type_find_envelope(MPI_Datatype type, struct qmpi_type_contents *contents)
{
    *contents = (struct qmpi_type_contents){.integers = NULL};
#if MPI_VERSION >= 4
    return QMPI_PMPI(Type_get_envelope_c, TYPE_GET_ENVELOPE_C)(
               type, &contents->integer_count, &contents->address_count, &contents->count_count,
               &contents->type_count, &contents->combiner) == MPI_SUCCESS;
#else
    int integers = 0, addresses = 0, types = 0;
    const int result = QMPI_PMPI(Type_get_envelope, TYPE_GET_ENVELOPE)(type, &integers, &addresses,
                                                                       &types, &contents->combiner);
    contents->integer_count = integers;
    contents->address_count = addresses;
    contents->type_count = types;
    return result == MPI_SUCCESS;
#endif
}

bool qmpi_type_is_f90(int combiner)
{
    return combiner == MPI_COMBINER_F90_REAL || combiner == MPI_COMBINER_F90_COMPLEX ||
           combiner == MPI_COMBINER_F90_INTEGER;
}

/* Frees a type that contents named, unless it is predefined. */
static void release(MPI_Datatype type)
{
    struct qmpi_type_contents contents;
    if (qmpi_type_find_envelope(type, &contents) && contents.combiner != MPI_COMBINER_NAMED &&
        !qmpi_type_is_f90(contents.combiner))
        QMPI_PMPI(Type_free, TYPE_FREE)(&type);
}

void qmpi_type_release(struct qmpi_type_contents *contents)
{
    for (MPI_Count i = 0; i < contents->type_count; i++)
        release(contents->types[i]);
    free(contents->integers);
    free(contents->addresses);
    free(contents->counts);
    free(contents->types);
}

bool qmpi_type_find_contents(MPI_Datatype type, struct qmpi_type_contents *contents)
{
    contents->integers = calloc((size_t)contents->integer_count + 1, sizeof(int));
    contents->addresses = calloc((size_t)contents->address_count + 1, sizeof(MPI_Aint));
    contents->counts = calloc((size_t)contents->count_count + 1, sizeof(MPI_Count));
    contents->types = calloc((size_t)contents->type_count + 1, sizeof(MPI_Datatype));
    bool found = contents->integers && contents->addresses && contents->counts && contents->types;
#if MPI_VERSION >= 4
    found = found && QMPI_PMPI(Type_get_contents_c, TYPE_GET_CONTENTS_C)(
                         type, contents->integer_count, contents->address_count,
                         contents->count_count, contents->type_count, contents->integers,
                         contents->addresses, contents->counts, contents->types) == MPI_SUCCESS;
#else
    found = found && QMPI_PMPI(Type_get_contents, TYPE_GET_CONTENTS)(
                         type, (int)contents->integer_count, (int)contents->address_count,
                         (int)contents->type_count, contents->integers, contents->addresses,
                         contents->types) == MPI_SUCCESS;
#endif
    if (!found) {
        contents->type_count = 0;
        qmpi_type_release(contents);
    }
    return found;
}
