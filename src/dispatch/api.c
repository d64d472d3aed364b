/* SPDX-License-Identifier: MIT */
/*
 * The public calls on contexts and function numbers. Inline functions of <qmpi/qmpi.h> also get
 * symbols here, for tools in other languages. The symbol of QMPI_Get_function is
 * QMPIX_Get_function, because binaries of tools for MPICH's variant use the draft's name for a
 * different call.
 */

/* Renames the inline functions, so that functions with the original names can be defined here. */
#define QMPI_Context_get_storage inline_get_storage
#define QMPIX_Context_get_tool_id inline_get_tool_id
#include <qmpi/qmpi.h>
#undef QMPI_Context_get_storage
#undef QMPIX_Context_get_tool_id

#include "dispatch/chain.h"
#include "functions/functions.h"

QMPI_API int QMPIX_Get_function(int tool_id, enum QMPI_Functions_enum fn, void (**fp)(void),
                                QMPI_Context *next);
QMPI_API int QMPI_Context_get_storage(QMPI_Context context, int tool_id, void **storage);
QMPI_API int QMPIX_Context_get_tool_id(QMPI_Context context, int *tool_id);

int QMPIX_Get_function(int tool_id, enum QMPI_Functions_enum fn, void (**fp)(void),
                       QMPI_Context *next)
{
    return QMPI_Get_function(tool_id, fn, fp, next);
}

int QMPI_Context_get_storage(QMPI_Context context, int tool_id, void **storage)
{
    return inline_get_storage(context, tool_id, storage);
}

int QMPIX_Context_get_tool_id(QMPI_Context context, int *tool_id)
{
    return inline_get_tool_id(context, tool_id);
}

const char *QMPIX_Function_name(enum QMPI_Functions_enum fn)
{
    return (unsigned)fn < (unsigned)qmpi_name_count ? qmpi_names[fn].name : NULL;
}

int QMPIX_Function_id(const char *name, enum QMPI_Functions_enum *fn)
{
    const int number = name && fn ? qmpi_function_find(name) : -1;
    if (number < 0)
        return MPI_ERR_ARG;
    *fn = (enum QMPI_Functions_enum)number;
    return MPI_SUCCESS;
}

int QMPIX_Function_exists(enum QMPI_Functions_enum fn, int *flag)
{
    if ((unsigned)fn >= (unsigned)qmpi_name_count || !flag)
        return MPI_ERR_ARG;
    *flag = qmpi_names[fn].exists;
    return MPI_SUCCESS;
}
