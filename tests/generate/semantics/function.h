/* SPDX-License-Identifier: MIT */
/* Shared by the programs that print what a part of qmpi knows about a function. See
 * test_semantics.py. */
#include <qmpi/traits.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* These replace the functions by which libqmpi and the tools allocate memory. */
void *qmpi_allocate(size_t count, size_t size);
void *qmpi_allocate(size_t count, size_t size)
{
    return calloc(count, size);
}

void *qmpi_memory_take(size_t size);
void *qmpi_memory_take(size_t size)
{
    return calloc(1, size);
}

static const QMPIX_Function *find_function(const char *name)
{
    const QMPIX_Function *function;
    for (int number = 0; number < MPI_LAST_FUNC; number++) {
        if (QMPIX_Function_describe((enum QMPI_Functions_enum)number, &function) == MPI_SUCCESS &&
            !strcmp(function->name, name))
            return function;
    }
    fprintf(stderr, "%s is not described\n", name);
    exit(1);
}
