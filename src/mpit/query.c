/* SPDX-License-Identifier: MIT */
/* See merged.h: what variables there are and what they are like; and events, the library's. */
#include "mpit/library.h"
#include "mpit/merged.h"
#include "mpit/text.h"
#include "mpit/variable.h"

/* Outputs of get_info functions may be NULL. */
#define GIVE(output, value)                                                                        \
    do {                                                                                           \
        if (output)                                                                                \
            *(output) = (value);                                                                   \
    } while (0)

static int get_num(enum qmpi_mpit_space space, int *num)
{
    if (!qmpi_mpit_is_initialised())
        return MPI_T_ERR_NOT_INITIALIZED;
    if (!num)
        return MPI_T_ERR_INVALID;
    *num = qmpi_mpit_count(space);
    return MPI_SUCCESS;
}

int qmpi_mpit_cvar_get_num(int *num_cvar)
{
    return get_num(QMPI_MPIT_CVARS, num_cvar);
}

int qmpi_mpit_pvar_get_num(int *num_pvar)
{
    return get_num(QMPI_MPIT_PVARS, num_pvar);
}

int qmpi_mpit_category_get_num(int *num_cat)
{
    return get_num(QMPI_MPIT_CATEGORIES, num_cat);
}

int qmpi_mpit_cvar_get_info(int cvar_index, char *name, int *name_len, int *verbosity,
                            MPI_Datatype *datatype, MPI_T_enum *enumtype, char *desc, int *desc_len,
                            int *bind, int *scope)
{
    struct qmpi_mpit_place place;
    if (!qmpi_mpit_is_initialised())
        return MPI_T_ERR_NOT_INITIALIZED;
    if (!qmpi_mpit_find(QMPI_MPIT_CVARS, cvar_index, &place))
        return MPI_T_ERR_INVALID_INDEX;
    if (!place.item)
        return LIBRARY(cvar_get_info, CVAR_GET_INFO)(place.library, name, name_len, verbosity,
                                                     datatype, enumtype, desc, desc_len, bind,
                                                     scope);
    const struct qmpi_mpit_variable *variable = (const struct qmpi_mpit_variable *)place.item;
    qmpi_mpit_give_text(variable->item.name, name, name_len);
    qmpi_mpit_give_text(variable->item.description, desc, desc_len);
    GIVE(verbosity, variable->verbosity);
    GIVE(datatype, variable->type->datatype);
    GIVE(enumtype, variable->enumtype);
    GIVE(bind, variable->bind);
    GIVE(scope, variable->scope);
    return MPI_SUCCESS;
}

int qmpi_mpit_pvar_get_info(int pvar_index, char *name, int *name_len, int *verbosity,
                            int *var_class, MPI_Datatype *datatype, MPI_T_enum *enumtype,
                            char *desc, int *desc_len, int *bind, int *readonly, int *continuous,
                            int *atomic)
{
    struct qmpi_mpit_place place;
    if (!qmpi_mpit_is_initialised())
        return MPI_T_ERR_NOT_INITIALIZED;
    if (!qmpi_mpit_find(QMPI_MPIT_PVARS, pvar_index, &place))
        return MPI_T_ERR_INVALID_INDEX;
    if (!place.item)
        return LIBRARY(pvar_get_info, PVAR_GET_INFO)(place.library, name, name_len, verbosity,
                                                     var_class, datatype, enumtype, desc, desc_len,
                                                     bind, readonly, continuous, atomic);
    const struct qmpi_mpit_variable *variable = (const struct qmpi_mpit_variable *)place.item;
    qmpi_mpit_give_text(variable->item.name, name, name_len);
    qmpi_mpit_give_text(variable->item.description, desc, desc_len);
    GIVE(verbosity, variable->verbosity);
    GIVE(var_class, variable->var_class);
    GIVE(datatype, variable->type->datatype);
    GIVE(enumtype, variable->enumtype);
    GIVE(bind, variable->bind);
    GIVE(readonly, variable->readonly);
    GIVE(continuous, variable->continuous);
    GIVE(atomic, variable->atomic);
    return MPI_SUCCESS;
}

/* ---- By name --------------------------------------------------------------------------------- */

/* Whether the answer is known without the library: then *result is it. */
static bool look_up(enum qmpi_mpit_space space, const char *name, int var_class, int *index,
                    int *result)
{
    *result = MPI_T_ERR_INVALID;
    if (!qmpi_mpit_is_initialised())
        *result = MPI_T_ERR_NOT_INITIALIZED;
    else if (name && index)
        *result = MPI_SUCCESS;
    if (*result != MPI_SUCCESS)
        return true;
    struct qmpi_mpit_item *item = qmpi_mpit_find_name(space, name, var_class);
    if (item)
        *index = qmpi_mpit_index_of(item);
    return item != NULL;
}

static int translate(int result, enum qmpi_mpit_space space, int *index)
{
    if (result == MPI_SUCCESS)
        *index = qmpi_mpit_index_of_library(space, *index);
    return result;
}

int qmpi_mpit_cvar_get_index(const char *name, int *cvar_index)
{
    int result;
    if (look_up(QMPI_MPIT_CVARS, name, 0, cvar_index, &result))
        return result;
    result = LIBRARY(cvar_get_index, CVAR_GET_INDEX)(name, cvar_index);
    return translate(result, QMPI_MPIT_CVARS, cvar_index);
}

/* MPICH 4.0.2 uses the class as an index, whatever it is. */
int qmpi_mpit_pvar_get_index(const char *name, int var_class, int *pvar_index)
{
    int result;
    if (look_up(QMPI_MPIT_PVARS, name, var_class, pvar_index, &result))
        return result;
    if (!qmpi_mpit_is_class(var_class))
        return MPI_T_ERR_INVALID_NAME;
    result = LIBRARY(pvar_get_index, PVAR_GET_INDEX)(name, var_class, pvar_index);
    return translate(result, QMPI_MPIT_PVARS, pvar_index);
}

int qmpi_mpit_category_get_index(const char *name, int *cat_index)
{
    int result;
    if (look_up(QMPI_MPIT_CATEGORIES, name, 0, cat_index, &result))
        return result;
    result = LIBRARY(category_get_index, CATEGORY_GET_INDEX)(name, cat_index);
    return translate(result, QMPI_MPIT_CATEGORIES, cat_index);
}

/* ---- Events: the library's alone, while MPI_T is initialized for others than ourselves ------- */

#if MPI_VERSION >= 4
#define PASS(x, X, PARAMETERS, ARGUMENTS)                                                          \
    int qmpi_mpit_##x PARAMETERS                                                                   \
    {                                                                                              \
        return qmpi_mpit_is_initialised() ? LIBRARY(x, X) ARGUMENTS : MPI_T_ERR_NOT_INITIALIZED;   \
    }

PASS(event_get_num, EVENT_GET_NUM, (int *num), (num))
PASS(event_get_index, EVENT_GET_INDEX, (const char *name, int *index), (name, index))
PASS(event_get_info, EVENT_GET_INFO,
     (int index, char *name, int *name_len, int *verbosity, MPI_Datatype datatypes[],
      MPI_Aint displacements[], int *elements, MPI_T_enum *enumtype, MPI_Info *info, char *desc,
      int *desc_len, int *bind),
     (index, name, name_len, verbosity, datatypes, displacements, elements, enumtype, info, desc,
      desc_len, bind))
PASS(event_handle_alloc, EVENT_HANDLE_ALLOC,
     (int index, void *object, MPI_Info info, MPI_T_event_registration *registration),
     (index, object, info, registration))
PASS(source_get_num, SOURCE_GET_NUM, (int *num), (num))
PASS(source_get_info, SOURCE_GET_INFO,
     (int index, char *name, int *name_len, char *desc, int *desc_len, MPI_T_source_order *ordering,
      MPI_Count *ticks, MPI_Count *max_ticks, MPI_Info *info),
     (index, name, name_len, desc, desc_len, ordering, ticks, max_ticks, info))
PASS(source_get_timestamp, SOURCE_GET_TIMESTAMP, (int index, MPI_Count *timestamp),
     (index, timestamp))
#endif
