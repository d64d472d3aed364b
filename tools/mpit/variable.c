/* SPDX-License-Identifier: MIT */
/* See variable.h. */
#include "variable.h"

#include "toolkit/toolkit.h"
#include "util/util.h"

#include <stdlib.h>

bool catalogue_read_cvar_info(int tool_id, int index, struct variable *variable)
{
    MPI_Datatype datatype = MPI_DATATYPE_NULL;
    int name_length = 0, description_length = 0;
    *variable = (struct variable){.index = index};
    if (CALL_NEXT(tool_id, T_cvar_get_info, MPI_T_CVAR_GET_INFO_T, index, NULL, &name_length, NULL,
                  NULL, NULL, NULL, &description_length, NULL, NULL) != MPI_SUCCESS)
        return false;
    variable->name = qmpi_allocate((size_t)name_length + 1, 1);
    variable->description = qmpi_allocate((size_t)description_length + 1, 1);
    CALL_NEXT(tool_id, T_cvar_get_info, MPI_T_CVAR_GET_INFO_T, index, variable->name, &name_length,
              &variable->verbosity, &datatype, &variable->enumtype, variable->description,
              &description_length, &variable->bind, &variable->scope);
    variable->type = value_type_of(datatype);
    return true;
}

bool catalogue_read_pvar_info(int tool_id, int index, struct variable *variable)
{
    MPI_Datatype datatype = MPI_DATATYPE_NULL;
    int name_length = 0, description_length = 0;
    *variable = (struct variable){.index = index};
    if (CALL_NEXT(tool_id, T_pvar_get_info, MPI_T_PVAR_GET_INFO_T, index, NULL, &name_length, NULL,
                  NULL, NULL, NULL, NULL, &description_length, NULL, NULL, NULL,
                  NULL) != MPI_SUCCESS)
        return false;
    variable->name = qmpi_allocate((size_t)name_length + 1, 1);
    variable->description = qmpi_allocate((size_t)description_length + 1, 1);
    CALL_NEXT(tool_id, T_pvar_get_info, MPI_T_PVAR_GET_INFO_T, index, variable->name, &name_length,
              &variable->verbosity, &variable->var_class, &datatype, &variable->enumtype,
              variable->description, &description_length, &variable->bind, &variable->readonly,
              &variable->continuous, &variable->atomic);
    variable->type = value_type_of(datatype);
    return true;
}

void catalogue_clear(struct variable *variable)
{
    free(variable->name);
    free(variable->description);
    free(variable->label);
    free(variable->data);
}
