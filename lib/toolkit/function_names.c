/* SPDX-License-Identifier: MIT */
/* See function_names.h. */
#include "toolkit/function_names.h"

#include "util/util.h"

#include <qmpi/observer.h>

static bool describe(int number, const char **name, unsigned *group)
{
    const QMPIX_Function *function;
    if (QMPIX_Function_describe((enum QMPI_Functions_enum)number, &function) != MPI_SUCCESS)
        return false;
    *name = function->name;
    *group = function->group;
    return true;
}

char *tool_functions_read(const char *list, unsigned char listed[MPI_LAST_FUNC])
{
    return qmpi_function_list_read(list, MPI_LAST_FUNC, describe, listed);
}
