/* SPDX-License-Identifier: MIT */
/* See merged.h. */
#define _GNU_SOURCE
#include "mpit/merged.h"

#include "mpit/handles.h"
#include "mpit/index.h"
#include "mpit/library.h"

#include <stdlib.h>
#include <string.h>

/* ---- Descriptions of variables and categories ------------------------------------------------ */

/* Stores an output of a get_info function, unless the pointer `output` is NULL. */
#define GIVE(output, value)                                                                        \
    do {                                                                                           \
        if (output)                                                                                \
            *(output) = (value);                                                                   \
    } while (0)

static int count_items(enum qmpi_mpit_space space, int *num)
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
    return count_items(QMPI_MPIT_CVARS, num_cvar);
}

int qmpi_mpit_pvar_get_num(int *num_pvar)
{
    return count_items(QMPI_MPIT_PVARS, num_pvar);
}

int qmpi_mpit_category_get_num(int *num_cat)
{
    return count_items(QMPI_MPIT_CATEGORIES, num_cat);
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

/* Looks up a name without the library. Returns true and sets *result if the result is known. */
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

static int translate_index(int result, enum qmpi_mpit_space space, int *index)
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
    return translate_index(result, QMPI_MPIT_CVARS, cvar_index);
}

/* The class is checked, because MPICH 4.0.2 uses it as an index without a check. */
int qmpi_mpit_pvar_get_index(const char *name, int var_class, int *pvar_index)
{
    int result;
    if (look_up(QMPI_MPIT_PVARS, name, var_class, pvar_index, &result))
        return result;
    if (!qmpi_mpit_is_class(var_class))
        return MPI_T_ERR_INVALID_NAME;
    result = LIBRARY(pvar_get_index, PVAR_GET_INDEX)(name, var_class, pvar_index);
    return translate_index(result, QMPI_MPIT_PVARS, pvar_index);
}

int qmpi_mpit_category_get_index(const char *name, int *cat_index)
{
    int result;
    if (look_up(QMPI_MPIT_CATEGORIES, name, 0, cat_index, &result))
        return result;
    result = LIBRARY(category_get_index, CATEGORY_GET_INDEX)(name, cat_index);
    return translate_index(result, QMPI_MPIT_CATEGORIES, cat_index);
}

/* ---- Events, which only the library has ------------------------------------------------------ */

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

/* ---- Categories ------------------------------------------------------------------------------ */

/* Returns the sum of two stamps that only increase: that of the library and that of published
 * categories. */
int qmpi_mpit_category_changed(int *update_number)
{
    if (!qmpi_mpit_is_initialised())
        return MPI_T_ERR_NOT_INITIALIZED;
    const int result = LIBRARY(category_changed, CATEGORY_CHANGED)(update_number);
    if (result == MPI_SUCCESS)
        *update_number += qmpi_mpit_changes();
    return result;
}

static int find_category(int index, struct qmpi_mpit_place *place)
{
    if (!qmpi_mpit_is_initialised())
        return MPI_T_ERR_NOT_INITIALIZED;
    return qmpi_mpit_find(QMPI_MPIT_CATEGORIES, index, place) ? MPI_SUCCESS
                                                              : MPI_T_ERR_INVALID_INDEX;
}

int qmpi_mpit_category_get_info(int cat_index, char *name, int *name_len, char *desc, int *desc_len,
                                int *num_cvars, int *num_pvars, int *num_categories)
{
    struct qmpi_mpit_place place;
    const int result = find_category(cat_index, &place);
    if (result != MPI_SUCCESS)
        return result;
    if (!place.item)
        return LIBRARY(category_get_info, CATEGORY_GET_INFO)(
            place.library, name, name_len, desc, desc_len, num_cvars, num_pvars, num_categories);
    const struct qmpi_mpit_category *category = (const struct qmpi_mpit_category *)place.item;
    qmpi_mpit_give_text(category->item.name, name, name_len);
    qmpi_mpit_give_text(category->item.description, desc, desc_len);
    if (num_cvars)
        *num_cvars = qmpi_mpit_members(category, QMPI_MPIT_CVARS, 0, NULL);
    if (num_pvars)
        *num_pvars = qmpi_mpit_members(category, QMPI_MPIT_PVARS, 0, NULL);
    if (num_categories)
        *num_categories = qmpi_mpit_members(category, QMPI_MPIT_CATEGORIES, 0, NULL);
    return MPI_SUCCESS;
}

typedef int list_function(int cat_index, int len, int indices[]);

/* Returns the number of members of one kind in a category of the library. */
static int count_library_members(int library, enum qmpi_mpit_space space)
{
    int counts[QMPI_MPIT_SPACES] = {0};
    LIBRARY(category_get_info, CATEGORY_GET_INFO)
    (library, NULL, NULL, NULL, NULL, &counts[QMPI_MPIT_CVARS], &counts[QMPI_MPIT_PVARS],
     &counts[QMPI_MPIT_CATEGORIES]);
    return counts[space];
}

static int list_members(int cat_index, enum qmpi_mpit_space space, int len, int indices[],
                        list_function *library)
{
    struct qmpi_mpit_place place;
    int result = find_category(cat_index, &place);
    if (result != MPI_SUCCESS)
        return result;
    if (len < 0 || (len && !indices))
        return MPI_T_ERR_INVALID;
    if (place.item) {
        qmpi_mpit_members((const struct qmpi_mpit_category *)place.item, space, len, indices);
        return MPI_SUCCESS;
    }
    result = library(place.library, len, indices);
    if (result == MPI_SUCCESS && len) {
        const int count = count_library_members(place.library, space);
        qmpi_mpit_translate(space, count < len ? count : len, indices);
    }
    return result;
}

int qmpi_mpit_category_get_cvars(int cat_index, int len, int indices[])
{
    return list_members(cat_index, QMPI_MPIT_CVARS, len, indices,
                        LIBRARY(category_get_cvars, CATEGORY_GET_CVARS));
}

int qmpi_mpit_category_get_pvars(int cat_index, int len, int indices[])
{
    return list_members(cat_index, QMPI_MPIT_PVARS, len, indices,
                        LIBRARY(category_get_pvars, CATEGORY_GET_PVARS));
}

int qmpi_mpit_category_get_categories(int cat_index, int len, int indices[])
{
    return list_members(cat_index, QMPI_MPIT_CATEGORIES, len, indices,
                        LIBRARY(category_get_categories, CATEGORY_GET_CATEGORIES));
}

#if MPI_VERSION >= 4
int qmpi_mpit_category_get_num_events(int cat_index, int *num_events)
{
    struct qmpi_mpit_place place;
    const int result = find_category(cat_index, &place);
    if (result != MPI_SUCCESS)
        return result;
    if (!place.item)
        return LIBRARY(category_get_num_events, CATEGORY_GET_NUM_EVENTS)(place.library, num_events);
    if (!num_events)
        return MPI_T_ERR_INVALID;
    *num_events = 0;
    return MPI_SUCCESS;
}

int qmpi_mpit_category_get_events(int cat_index, int len, int indices[])
{
    struct qmpi_mpit_place place;
    const int result = find_category(cat_index, &place);
    if (result != MPI_SUCCESS || place.item)
        return result;
    return LIBRARY(category_get_events, CATEGORY_GET_EVENTS)(place.library, len, indices);
}
#endif

/* ---- Control variables ----------------------------------------------------------------------- */

int qmpi_mpit_cvar_handle_alloc(int cvar_index, void *obj_handle, MPI_T_cvar_handle *handle,
                                int *count)
{
    struct qmpi_mpit_place place;
    struct qmpi_mpit_slot *slot;
    if (!qmpi_mpit_is_initialised())
        return MPI_T_ERR_NOT_INITIALIZED;
    if (!qmpi_mpit_find(QMPI_MPIT_CVARS, cvar_index, &place))
        return MPI_T_ERR_INVALID_INDEX;
    if (!place.item)
        return LIBRARY(cvar_handle_alloc, CVAR_HANDLE_ALLOC)(place.library, obj_handle, handle,
                                                             count);
    if (!handle)
        return MPI_T_ERR_INVALID;
    const int result =
        qmpi_mpit_open((const struct qmpi_mpit_variable *)place.item, obj_handle, &slot);
    if (result != MPI_SUCCESS)
        return result;
    if (count)
        *count = slot->count;
    qmpi_mpit_slot_publish(slot, QMPI_MPIT_CVAR);
    *handle = (MPI_T_cvar_handle)(void *)slot;
    return MPI_SUCCESS;
}

/* Checks for the null handle, because Open MPI 4.1.4 crashes with it. */
int qmpi_mpit_cvar_handle_free(MPI_T_cvar_handle *handle)
{
    if (!qmpi_mpit_is_initialised())
        return MPI_T_ERR_NOT_INITIALIZED;
    if (!handle)
        return MPI_T_ERR_INVALID;
    if (*handle == MPI_T_CVAR_HANDLE_NULL)
        return MPI_T_ERR_INVALID_HANDLE;
    if (!qmpi_mpit_is_ours(*handle))
        return LIBRARY(cvar_handle_free, CVAR_HANDLE_FREE)(handle);
    struct qmpi_mpit_slot *slot = qmpi_mpit_slot_of(*handle, QMPI_MPIT_CVAR);
    if (!slot || !qmpi_mpit_slot_withdraw(slot, QMPI_MPIT_CVAR))
        return MPI_T_ERR_INVALID_HANDLE;
    qmpi_mpit_slot_give_back(slot);
    *handle = MPI_T_CVAR_HANDLE_NULL;
    return MPI_SUCCESS;
}

int qmpi_mpit_cvar_read(MPI_T_cvar_handle handle, void *buf)
{
    if (!qmpi_mpit_is_initialised())
        return MPI_T_ERR_NOT_INITIALIZED;
    if (handle == MPI_T_CVAR_HANDLE_NULL)
        return MPI_T_ERR_INVALID_HANDLE;
    if (!qmpi_mpit_is_ours(handle))
        return LIBRARY(cvar_read, CVAR_READ)(handle, buf);
    const struct qmpi_mpit_slot *slot = qmpi_mpit_slot_of(handle, QMPI_MPIT_CVAR);
    if (!slot)
        return MPI_T_ERR_INVALID_HANDLE;
    if (!buf)
        return MPI_T_ERR_INVALID;
    const struct qmpi_mpit_variable *variable = slot->variable;
    if (variable->read)
        return variable->read(variable->user, slot->object, buf, slot->count);
    for (int i = 0; i < slot->count; i++)
        qmpi_mpit_store(variable->type, buf, i,
                        qmpi_mpit_load(variable->type, variable->address, i));
    return MPI_SUCCESS;
}

/* Reads a string only up to its end, because the rest of the buffer may not exist. */
static int write_elements(const struct qmpi_mpit_slot *slot, const void *buf)
{
    const struct qmpi_mpit_variable *variable = slot->variable;
    const bool text = variable->type->element == QMPI_MPIT_CHAR;
    const size_t length = text ? strnlen(buf, (size_t)slot->count) + 1 : (size_t)slot->count;
    if (length > (size_t)slot->count)
        return MPI_T_ERR_INVALID;
    for (size_t i = 0; i < length; i++)
        qmpi_mpit_store(variable->type, variable->address, (int)i,
                        qmpi_mpit_load(variable->type, buf, (int)i));
    return MPI_SUCCESS;
}

int qmpi_mpit_cvar_write(MPI_T_cvar_handle handle, const void *buf)
{
    if (!qmpi_mpit_is_initialised())
        return MPI_T_ERR_NOT_INITIALIZED;
    if (handle == MPI_T_CVAR_HANDLE_NULL)
        return MPI_T_ERR_INVALID_HANDLE;
    if (!qmpi_mpit_is_ours(handle))
        return LIBRARY(cvar_write, CVAR_WRITE)(handle, buf);
    const struct qmpi_mpit_slot *slot = qmpi_mpit_slot_of(handle, QMPI_MPIT_CVAR);
    if (!slot)
        return MPI_T_ERR_INVALID_HANDLE;
    if (!qmpi_mpit_is_writable(slot->variable))
        return MPI_T_ERR_CVAR_SET_NEVER;
    if (!buf)
        return MPI_T_ERR_INVALID;
    const struct qmpi_mpit_variable *variable = slot->variable;
    return variable->write ? variable->write(variable->user, slot->object, buf, slot->count)
                           : write_elements(slot, buf);
}

/* ---- Performance variables ------------------------------------------------------------------- */

/*
 * Sessions are those of the MPI library; handles of published variables only store which session
 * they belong to. A QMPI layer can therefore also use a session of PMPI_T_pvar_session_create.
 */

/* Frees the handles in a session that is about to end, or that PMPI_T_pvar_session_free has ended:
 * the library may then give a new session the same value. */
static void free_handles_of_session(MPI_T_pvar_session session)
{
    int count;
    struct qmpi_mpit_slot **slots = qmpi_mpit_slots_of_session(session, &count);
    for (int i = 0; i < count; i++) {
        qmpi_mpit_pvar_close(slots[i]);
        qmpi_mpit_pvar_leave(slots[i]);
    }
    free(slots);
    qmpi_mpit_library_handles_forget(session);
}

int qmpi_mpit_pvar_session_create(MPI_T_pvar_session *session)
{
    if (!qmpi_mpit_is_initialised())
        return MPI_T_ERR_NOT_INITIALIZED;
    const int result = LIBRARY(pvar_session_create, PVAR_SESSION_CREATE)(session);
    if (result == MPI_SUCCESS)
        free_handles_of_session(*session);
    return result;
}

int qmpi_mpit_pvar_session_free(MPI_T_pvar_session *session)
{
    if (!qmpi_mpit_is_initialised())
        return MPI_T_ERR_NOT_INITIALIZED;
    /* This comes first, because the library may reuse the value for another session. */
    if (session && *session != MPI_T_PVAR_SESSION_NULL)
        free_handles_of_session(*session);
    return LIBRARY(pvar_session_free, PVAR_SESSION_FREE)(session);
}

int qmpi_mpit_pvar_handle_alloc(MPI_T_pvar_session session, int pvar_index, void *obj_handle,
                                MPI_T_pvar_handle *handle, int *count)
{
    struct qmpi_mpit_place place;
    struct qmpi_mpit_slot *slot;
    if (!qmpi_mpit_is_initialised())
        return MPI_T_ERR_NOT_INITIALIZED;
    if (session == MPI_T_PVAR_SESSION_NULL)
        return MPI_T_ERR_INVALID_SESSION;
    if (!qmpi_mpit_find(QMPI_MPIT_PVARS, pvar_index, &place))
        return MPI_T_ERR_INVALID_INDEX;
    if (!place.item)
        return qmpi_mpit_library_handle_alloc(session, place.library, obj_handle, handle, count);
    if (!handle)
        return MPI_T_ERR_INVALID;
    int result = qmpi_mpit_open((const struct qmpi_mpit_variable *)place.item, obj_handle, &slot);
    if (result != MPI_SUCCESS)
        return result;
    const int elements = slot->count;
    result = qmpi_mpit_pvar_open(slot, session);
    if (result != MPI_SUCCESS) {
        qmpi_mpit_slot_give_back(slot);
        return result;
    }
    if (count)
        *count = elements;
    *handle = (MPI_T_pvar_handle)(void *)slot;
    return MPI_SUCCESS;
}

/* Checks a handle and sets its slot. */
static inline int check_handle(MPI_T_pvar_session session, MPI_T_pvar_handle handle,
                               struct qmpi_mpit_slot **slot)
{
    if (!qmpi_mpit_is_initialised())
        return MPI_T_ERR_NOT_INITIALIZED;
    if (session == MPI_T_PVAR_SESSION_NULL)
        return MPI_T_ERR_INVALID_SESSION;
    *slot = qmpi_mpit_slot_of(handle, QMPI_MPIT_PVAR);
    return *slot && (*slot)->session == session ? MPI_SUCCESS : MPI_T_ERR_INVALID_HANDLE;
}

/* Checks a handle of the library, because MPICH 4.0.2 crashes with some invalid handles. */
static int check_library_handle(MPI_T_pvar_handle handle)
{
    if (!qmpi_mpit_is_initialised())
        return MPI_T_ERR_NOT_INITIALIZED;
    if (handle == MPI_T_PVAR_HANDLE_NULL || handle == qmpi_mpit_all_handles)
        return MPI_T_ERR_INVALID_HANDLE;
    return MPI_SUCCESS;
}

int qmpi_mpit_pvar_handle_free(MPI_T_pvar_session session, MPI_T_pvar_handle *handle)
{
    struct qmpi_mpit_slot *slot;
    if (!qmpi_mpit_is_initialised())
        return MPI_T_ERR_NOT_INITIALIZED;
    if (!handle)
        return MPI_T_ERR_INVALID;
    if (!qmpi_mpit_is_ours(*handle)) {
        const int result = check_library_handle(*handle);
        return result != MPI_SUCCESS ? result : qmpi_mpit_library_handle_free(session, handle);
    }
    int result = check_handle(session, *handle, &slot);
    if (result == MPI_SUCCESS)
        result = qmpi_mpit_pvar_close(slot);
    if (result == MPI_SUCCESS)
        *handle = MPI_T_PVAR_HANDLE_NULL;
    return result;
}

/* ---- One handle or all of a session ---------------------------------------------------------- */

typedef int handle_function(const struct qmpi_mpit_slot *slot);

/* Whether the function applies to the variable of the slot; otherwise, MPI_T_PVAR_ALL_HANDLES
 * leaves the variable out, as the standard says. */
static bool applies_to(handle_function *function, const struct qmpi_mpit_slot *slot)
{
    if (function == qmpi_mpit_pvar_zero)
        return !slot->variable->readonly;
    return !slot->variable->continuous;
}

static int apply_in_visit(struct qmpi_mpit_slot *slot, handle_function *function)
{
    struct qmpi_mpit_visit visit;
    int result = MPI_SUCCESS;
    if (qmpi_mpit_visit_begin(&visit, slot->state) && applies_to(function, slot))
        result = function(slot);
    qmpi_mpit_visit_end(&visit);
    qmpi_mpit_pvar_leave(slot);
    return result;
}

/* MPI 4.0, section 15.3.7: the call returns one error for all handles, whatever the error of each
 * of them is. */
static int apply_to_session(MPI_T_pvar_session session, handle_function *function,
                            qmpi_mpit_library_function *library)
{
    const int failure =
        function == qmpi_mpit_pvar_zero ? MPI_T_ERR_PVAR_NO_WRITE : MPI_T_ERR_PVAR_NO_STARTSTOP;
    int count;
    int result = qmpi_mpit_library_handles_all(session, library);
    if (result == MPI_T_ERR_INVALID_SESSION || result == MPI_T_ERR_NOT_INITIALIZED)
        return result;
    struct qmpi_mpit_slot **slots = qmpi_mpit_slots_of_session(session, &count);
    if (!slots)
        return MPI_T_ERR_MEMORY;
    for (int i = 0; i < count; i++) {
        if (apply_in_visit(slots[i], function) != MPI_SUCCESS && result == MPI_SUCCESS)
            result = failure;
    }
    free(slots);
    return result;
}

static int apply_to_handles(MPI_T_pvar_session session, MPI_T_pvar_handle handle,
                            handle_function *function, qmpi_mpit_library_function *library)
{
    struct qmpi_mpit_slot *slot;
    if (qmpi_mpit_is_ours(handle)) {
        const int result = check_handle(session, handle, &slot);
        return result == MPI_SUCCESS ? function(slot) : result;
    }
    if (!qmpi_mpit_is_initialised())
        return MPI_T_ERR_NOT_INITIALIZED;
    if (session == MPI_T_PVAR_SESSION_NULL)
        return MPI_T_ERR_INVALID_SESSION;
    if (handle == MPI_T_PVAR_HANDLE_NULL)
        return MPI_T_ERR_INVALID_HANDLE;
    return handle == qmpi_mpit_all_handles ? apply_to_session(session, function, library)
                                           : library(session, handle);
}

int qmpi_mpit_pvar_start(MPI_T_pvar_session session, MPI_T_pvar_handle handle)
{
    return apply_to_handles(session, handle, qmpi_mpit_pvar_begin, LIBRARY(pvar_start, PVAR_START));
}

int qmpi_mpit_pvar_stop(MPI_T_pvar_session session, MPI_T_pvar_handle handle)
{
    return apply_to_handles(session, handle, qmpi_mpit_pvar_end, LIBRARY(pvar_stop, PVAR_STOP));
}

int qmpi_mpit_pvar_reset(MPI_T_pvar_session session, MPI_T_pvar_handle handle)
{
    return apply_to_handles(session, handle, qmpi_mpit_pvar_zero, LIBRARY(pvar_reset, PVAR_RESET));
}

/* ---- Values ---------------------------------------------------------------------------------- */

int qmpi_mpit_pvar_read(MPI_T_pvar_session session, MPI_T_pvar_handle handle, void *buf)
{
    struct qmpi_mpit_slot *slot;
    if (!qmpi_mpit_is_ours(handle)) {
        const int result = check_library_handle(handle);
        return result == MPI_SUCCESS ? LIBRARY(pvar_read, PVAR_READ)(session, handle, buf) : result;
    }
    const int result = check_handle(session, handle, &slot);
    if (result != MPI_SUCCESS)
        return result;
    return buf ? qmpi_mpit_pvar_get(slot, buf) : MPI_T_ERR_INVALID;
}

int qmpi_mpit_pvar_write(MPI_T_pvar_session session, MPI_T_pvar_handle handle, const void *buf)
{
    struct qmpi_mpit_slot *slot;
    if (!qmpi_mpit_is_ours(handle)) {
        const int result = check_library_handle(handle);
        return result == MPI_SUCCESS ? LIBRARY(pvar_write, PVAR_WRITE)(session, handle, buf)
                                     : result;
    }
    const int result = check_handle(session, handle, &slot);
    if (result != MPI_SUCCESS)
        return result;
    return buf ? qmpi_mpit_pvar_set(slot, buf) : MPI_T_ERR_INVALID;
}

int qmpi_mpit_pvar_readreset(MPI_T_pvar_session session, MPI_T_pvar_handle handle, void *buf)
{
    struct qmpi_mpit_slot *slot;
    if (!qmpi_mpit_is_ours(handle)) {
        const int result = check_library_handle(handle);
        return result == MPI_SUCCESS ? LIBRARY(pvar_readreset, PVAR_READRESET)(session, handle, buf)
                                     : result;
    }
    const int result = check_handle(session, handle, &slot);
    if (result != MPI_SUCCESS)
        return result;
    return buf ? qmpi_mpit_pvar_get_zero(slot, buf) : MPI_T_ERR_INVALID;
}
