/* SPDX-License-Identifier: MIT */
/*
 * The public calls on contexts and function numbers. The small ones are inline functions of
 * <qmpi/qmpi.h>; here they get symbols too, for tools in other languages. QMPI_Get_function's is
 * QMPIX_Get_function: the draft's name belongs to MPICH's variant of the call in a tool's binary.
 */
#include "chain.h"
#include "names.h"
#include "reach.h"

#include <string.h>

QMPI_API int exported_get_function(int tool_id, enum QMPI_Functions_enum fn, void (**fp)(void),
                                   QMPI_Context *next) __asm__("QMPIX_Get_function");
QMPI_API int exported_get_storage(QMPI_Context context, int tool_id,
                                  void **data) __asm__("QMPI_Context_get_storage");
QMPI_API int exported_get_tool_id(QMPI_Context context,
                                  int *tool_id) __asm__("QMPIX_Context_get_tool_id");

int exported_get_function(int tool_id, enum QMPI_Functions_enum fn, void (**fp)(void),
                          QMPI_Context *next)
{
    return QMPI_Get_function(tool_id, fn, fp, next);
}

int exported_get_storage(QMPI_Context context, int tool_id, void **data)
{
    return QMPI_Context_get_storage(context, tool_id, data);
}

int exported_get_tool_id(QMPI_Context context, int *tool_id)
{
    return QMPIX_Context_get_tool_id(context, tool_id);
}

int QMPI_Context_get_calling_address(QMPI_Context context, int tool_id, void *address)
{
    if (!context || !address || tool_id < 1 || tool_id > QMPIX_stack.layers)
        return MPI_ERR_ARG;
    void *const caller = qmpi_reach_program_caller(qmpi_caller);
    memcpy(address, &caller, sizeof caller);
    return MPI_SUCCESS;
}

const char *QMPIX_Function_name(enum QMPI_Functions_enum fn)
{
    return (unsigned)fn < (unsigned)qmpi_name_count ? qmpi_names[fn].name : NULL;
}

int QMPIX_Function_id(const char *name, enum QMPI_Functions_enum *fn)
{
    const int number = name && fn ? qmpi_name_find(name) : -1;
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
