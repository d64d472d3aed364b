/* SPDX-License-Identifier: MIT */
/* See unready.h. PMPI_T_X are the library's: no layer sees these calls, none is asked for a value.
 */
#include "unready.h"

#include "patterns.h"
#include "util/util.h"

#include <qmpi/qmpi.h>

#include <stdlib.h>
#include <string.h>

static bool is_chosen(int index, const char *patterns)
{
    int length = 0;
    if (PMPI_T_cvar_get_info(index, NULL, &length, NULL, NULL, NULL, NULL, NULL, NULL, NULL) !=
        MPI_SUCCESS)
        return false;
    char *name = qmpi_allocate((size_t)length + 1, 1);
    PMPI_T_cvar_get_info(index, name, &length, NULL, NULL, NULL, NULL, NULL, NULL, NULL);
    const bool chosen = globs_match(patterns, name);
    free(name);
    return chosen;
}

static struct early_value read_value(int index)
{
    struct early_value value = {NULL, 0};
    MPI_Datatype datatype = MPI_DATATYPE_NULL;
    MPI_T_cvar_handle handle;
    int bind = MPI_T_BIND_NO_OBJECT;
    PMPI_T_cvar_get_info(index, NULL, NULL, NULL, &datatype, NULL, NULL, NULL, &bind, NULL);
    const struct value_type *type = value_type_of(datatype);
    if (!type || bind != MPI_T_BIND_NO_OBJECT ||
        PMPI_T_cvar_handle_alloc(index, NULL, &handle, &value.count) != MPI_SUCCESS)
        return value;
    value.data = value_room(type, value.count);
    if (PMPI_T_cvar_read(handle, value.data) != MPI_SUCCESS) {
        free(value.data);
        value.data = NULL;
    }
    PMPI_T_cvar_handle_free(&handle);
    return value;
}

void early_read(struct early *early, const char *patterns)
{
    int count = 0;
    if (PMPI_T_cvar_get_num(&count) != MPI_SUCCESS)
        return;
    early->values = qmpi_allocate((size_t)count + 1, sizeof *early->values);
    early->count = count;
    for (int i = 0; i < count; i++) {
        if (is_chosen(i, patterns))
            early->values[i] = read_value(i);
    }
}

void early_clear(struct early *early)
{
    for (int i = 0; early->values && i < early->count; i++)
        free(early->values[i].data);
    free(early->values);
    early->values = NULL;
}

static bool is_there(int index)
{
    return PMPI_T_cvar_get_info(index, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL) ==
           MPI_SUCCESS;
}

bool early_has_lost(struct early *early)
{
    for (int i = 0; !early->lost && i < early->count; i++)
        early->lost = !is_there(i);
    return early->lost;
}

bool early_find(const struct early *early, const char *name, struct early_value *value)
{
    int index = -1;
    if (!early->lost || PMPI_T_cvar_get_index(name, &index) != MPI_SUCCESS)
        return false;
    const bool known = early->values && index >= 0 && index < early->count;
    *value = known ? early->values[index] : (struct early_value){NULL, 0};
    return true;
}

bool early_allows(const struct early *early, const char *name, int var_class, const char *globs)
{
    int index;
    return !early->lost || globs_name(globs, name) ||
           PMPI_T_pvar_get_index(name, var_class, &index) != MPI_SUCCESS;
}
