/* SPDX-License-Identifier: MIT */
/* See catalogue.h. */
#include "catalogue.h"

#include "toolkit/toolkit.h"
#include "util/util.h"

#include <stdlib.h>
#include <string.h>

/* ---- What a variable is like ----------------------------------------------------------------- */

/* What an enumeration calls the one value of an integer. */
static void find_label(int tool_id, struct variable *variable)
{
    int items = 0, length = 0, number;
    if (!variable->data || variable->enumtype == MPI_T_ENUM_NULL ||
        variable->type->datatype != MPI_INT || variable->count != 1)
        return;
    memcpy(&number, variable->data, sizeof number);
    CALL_NEXT(tool_id, T_enum_get_info, MPI_T_ENUM_GET_INFO_T, variable->enumtype, &items, NULL,
              &length);
    for (int i = 0; i < items && !variable->label; i++) {
        int value = 0;
        char name[128];
        length = sizeof name;
        if (CALL_NEXT(tool_id, T_enum_get_item, MPI_T_ENUM_GET_ITEM_T, variable->enumtype, i,
                      &value, name, &length) == MPI_SUCCESS &&
            value == number)
            variable->label = qmpi_copy(name);
    }
}

/* ---- Values ---------------------------------------------------------------------------------- */

static const char *read_cvar(int tool_id, struct variable *variable, bool has_world)
{
    MPI_Comm world = MPI_COMM_WORLD;
    MPI_T_cvar_handle handle;
    const bool bound = variable->bind != MPI_T_BIND_NO_OBJECT;
    if (!variable->type)
        return "its datatype is not one of MPI_T's";
    if (bound && (variable->bind != MPI_T_BIND_MPI_COMM || !has_world))
        return "it is bound to an object";
    if (CALL_NEXT(tool_id, T_cvar_handle_alloc, MPI_T_CVAR_HANDLE_ALLOC_T, variable->index,
                  bound ? &world : NULL, &handle, &variable->count) != MPI_SUCCESS)
        return "no handle can be allocated";
    variable->data = value_room(variable->type, variable->count);
    const int result =
        CALL_NEXT(tool_id, T_cvar_read, MPI_T_CVAR_READ_T, handle, (void *)variable->data);
    CALL_NEXT(tool_id, T_cvar_handle_free, MPI_T_CVAR_HANDLE_FREE_T, &handle);
    return result == MPI_SUCCESS ? NULL : "it cannot be read";
}

/* A copy of what it was. */
static const char *recall(struct variable *variable, const struct early_value *value)
{
    if (!variable->type)
        return "its datatype is not one of MPI_T's";
    if (variable->bind != MPI_T_BIND_NO_OBJECT)
        return "it is bound to an object";
    if (!value->data)
        return "its part of MPI may no longer exist, and it did not exist before MPI was "
               "initialized";
    variable->count = value->count;
    variable->data = value_room(variable->type, value->count);
    memcpy(variable->data, value->data, variable->type->size * (size_t)value->count);
    variable->early = true;
    return NULL;
}

/* One that must be started has no past in a session of now: only what is present can be read. */
static bool has_past_only(const struct variable *variable)
{
    switch (variable->var_class) {
    case MPI_T_PVAR_CLASS_COUNTER:
    case MPI_T_PVAR_CLASS_AGGREGATE:
    case MPI_T_PVAR_CLASS_TIMER:
    case MPI_T_PVAR_CLASS_HIGHWATERMARK:
    case MPI_T_PVAR_CLASS_LOWWATERMARK:
        return !variable->continuous;
    default:
        return false;
    }
}

static const char *read_new(int tool_id, MPI_T_pvar_session session, struct variable *variable,
                            bool has_world)
{
    MPI_T_pvar_handle handle;
    const char *reason =
        watch_open(tool_id, session, variable, has_world, &handle, &variable->count);
    if (reason)
        return reason;
    if (!variable->continuous)
        CALL_NEXT(tool_id, T_pvar_start, MPI_T_PVAR_START_T, session, handle);
    variable->data = value_room(variable->type, variable->count);
    const int result =
        CALL_NEXT(tool_id, T_pvar_read, MPI_T_PVAR_READ_T, session, handle, (void *)variable->data);
    CALL_NEXT(tool_id, T_pvar_handle_free, MPI_T_PVAR_HANDLE_FREE_T, session, &handle);
    return result == MPI_SUCCESS ? NULL : "it cannot be read";
}

/* What the values are read by. */
struct reader {
    int tool_id;
    const struct watch *watch;
    const struct early *early;
    const char *patterns;
    bool has_world;
};

static const char *read_pvar(const struct reader *reader, MPI_T_pvar_session session,
                             struct variable *variable)
{
    const struct watch *watch = reader->watch;
    const struct watched *watched = watch ? watch_find(watch, variable->index) : NULL;
    if (watched) {
        variable->count = watched->count;
        variable->data = watch_read(watch, watched);
        return variable->data ? NULL : "it cannot be read";
    }
    if (has_past_only(variable))
        return "it counts only from its start";
    if (!early_allows(reader->early, variable->name, variable->var_class, reader->patterns))
        return "its part of MPI may not be in use: request it by its full name";
    return read_new(reader->tool_id, session, variable, reader->has_world);
}

static void resolve(int tool_id, struct variable *variable, const char *reason)
{
    variable->reason = reason;
    if (reason) {
        free(variable->data);
        variable->data = NULL;
    }
    find_label(tool_id, variable);
}

/* ---- All of them ----------------------------------------------------------------------------- */

typedef int member_function(int tool_id, int category, int length, int *indices);

#define MEMBERS(what, NUMBER)                                                                      \
    static int get_##what(int tool_id, int category, int length, int *indices)                     \
    {                                                                                              \
        return CALL_NEXT(tool_id, T_category_get_##what, NUMBER, category, length, indices);       \
    }
MEMBERS(cvars, MPI_T_CATEGORY_GET_CVARS_T)
MEMBERS(pvars, MPI_T_CATEGORY_GET_PVARS_T)
MEMBERS(categories, MPI_T_CATEGORY_GET_CATEGORIES_T)

/* `limit`: what was in the catalogue when it was read; others may have come since. */
static void read_members(int tool_id, int category, int count, int limit, member_function *get,
                         struct members *members)
{
    members->indices = qmpi_allocate((size_t)count + 1, sizeof *members->indices);
    if (!count || get(tool_id, category, count, members->indices) != MPI_SUCCESS)
        return;
    for (int i = 0; i < count; i++) {
        const int index = members->indices[i];
        if (index >= 0 && index < limit)
            members->indices[members->count++] = index;
    }
}

static void read_category(int tool_id, int index, const struct catalogue *catalogue,
                          struct category *category)
{
    int name_length = 0, description_length = 0, cvars = 0, pvars = 0, categories = 0;
    CALL_NEXT(tool_id, T_category_get_info, MPI_T_CATEGORY_GET_INFO_T, index, NULL, &name_length,
              NULL, &description_length, &cvars, &pvars, &categories);
    category->name = qmpi_allocate((size_t)name_length + 1, 1);
    category->description = qmpi_allocate((size_t)description_length + 1, 1);
    CALL_NEXT(tool_id, T_category_get_info, MPI_T_CATEGORY_GET_INFO_T, index, category->name,
              &name_length, category->description, &description_length, NULL, NULL, NULL);
    read_members(tool_id, index, cvars, catalogue->cvar_count, get_cvars, &category->cvars);
    read_members(tool_id, index, pvars, catalogue->pvar_count, get_pvars, &category->pvars);
    read_members(tool_id, index, categories, catalogue->category_count, get_categories,
                 &category->categories);
}

static void read_cvars(struct catalogue *catalogue, const struct reader *reader)
{
    for (int i = 0; i < catalogue->cvar_count; i++) {
        struct variable *variable = &catalogue->cvars[i];
        struct early_value value;
        if (!catalogue_read_cvar_info(reader->tool_id, i, variable))
            continue;
        const char *reason = early_find(reader->early, variable->name, &value)
                                 ? recall(variable, &value)
                                 : read_cvar(reader->tool_id, variable, reader->has_world);
        resolve(reader->tool_id, variable, reason);
        catalogue->early |= variable->early;
    }
}

static void read_pvars(struct catalogue *catalogue, const struct reader *reader)
{
    const int tool_id = reader->tool_id;
    MPI_T_pvar_session session = MPI_T_PVAR_SESSION_NULL;
    CALL_NEXT(tool_id, T_pvar_session_create, MPI_T_PVAR_SESSION_CREATE_T, &session);
    for (int i = 0; i < catalogue->pvar_count; i++) {
        struct variable *variable = &catalogue->pvars[i];
        if (catalogue_read_pvar_info(tool_id, i, variable))
            resolve(tool_id, variable, read_pvar(reader, session, variable));
    }
    CALL_NEXT(tool_id, T_pvar_session_free, MPI_T_PVAR_SESSION_FREE_T, &session);
}

struct catalogue *catalogue_read(int tool_id, const struct watch *watch, const struct early *early,
                                 const char *patterns, bool has_world)
{
    const struct reader reader = {tool_id, watch, early, patterns, has_world};
    struct catalogue *catalogue = qmpi_allocate(1, sizeof *catalogue);
    CALL_NEXT(tool_id, T_cvar_get_num, MPI_T_CVAR_GET_NUM_T, &catalogue->cvar_count);
    CALL_NEXT(tool_id, T_pvar_get_num, MPI_T_PVAR_GET_NUM_T, &catalogue->pvar_count);
    CALL_NEXT(tool_id, T_category_get_num, MPI_T_CATEGORY_GET_NUM_T, &catalogue->category_count);
    catalogue->cvars = qmpi_allocate((size_t)catalogue->cvar_count + 1, sizeof(struct variable));
    catalogue->pvars = qmpi_allocate((size_t)catalogue->pvar_count + 1, sizeof(struct variable));
    catalogue->categories =
        qmpi_allocate((size_t)catalogue->category_count + 1, sizeof(struct category));
    read_cvars(catalogue, &reader);
    read_pvars(catalogue, &reader);
    for (int i = 0; i < catalogue->category_count; i++)
        read_category(tool_id, i, catalogue, &catalogue->categories[i]);
    return catalogue;
}

void catalogue_free(struct catalogue *catalogue)
{
    for (int i = 0; i < catalogue->cvar_count; i++)
        catalogue_clear(&catalogue->cvars[i]);
    for (int i = 0; i < catalogue->pvar_count; i++)
        catalogue_clear(&catalogue->pvars[i]);
    for (int i = 0; i < catalogue->category_count; i++) {
        struct category *category = &catalogue->categories[i];
        free(category->name);
        free(category->description);
        free(category->cvars.indices);
        free(category->pvars.indices);
        free(category->categories.indices);
    }
    free(catalogue->cvars);
    free(catalogue->pvars);
    free(catalogue->categories);
    free(catalogue);
}
