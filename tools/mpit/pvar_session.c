/* SPDX-License-Identifier: MIT */
/* See pvar_session.h. */
#include "pvar_session.h"

#include "toolkit/toolkit.h"
#include "util/util.h"
#include "variable.h"

#include <stdlib.h>

const char *watch_open(int tool_id, MPI_T_pvar_session session, const struct variable *variable,
                       bool has_world, MPI_T_pvar_handle *handle, int *count)
{
    MPI_Comm world = MPI_COMM_WORLD;
    const bool bound = variable->bind != MPI_T_BIND_NO_OBJECT;
    if (!variable->type)
        return "its datatype is not one of MPI_T's";
    if (bound && (variable->bind != MPI_T_BIND_MPI_COMM || !has_world))
        return "it is bound to an object";
    const int result = CALL_NEXT(tool_id, T_pvar_handle_alloc, MPI_T_PVAR_HANDLE_ALLOC_T, session,
                                 variable->index, bound ? &world : NULL, handle, count);
    return result == MPI_SUCCESS ? NULL : "no handle can be allocated";
}

static void follow(struct watch *watch, const struct variable *variable)
{
    struct watched *all = realloc(watch->all, ((size_t)watch->count + 1) * sizeof *all);
    if (!all)
        return;
    watch->all = all;
    struct watched *watched = &all[watch->count];
    if (watch_open(watch->tool_id, watch->session, variable, watch->has_world, &watched->handle,
                   &watched->count))
        return;
    if (!variable->continuous)
        CALL_NEXT(watch->tool_id, T_pvar_start, MPI_T_PVAR_START_T, watch->session,
                  watched->handle);
    watched->index = variable->index;
    watched->name = qmpi_copy(variable->name);
    watched->var_class = variable->var_class;
    watched->type = variable->type;
    watch->count++;
}

void watch_extend(struct watch *watch)
{
    int count = 0;
    if (watch->session == MPI_T_PVAR_SESSION_NULL)
        return;
    CALL_NEXT(watch->tool_id, T_pvar_get_num, MPI_T_PVAR_GET_NUM_T, &count);
    for (; watch->seen < count; watch->seen++) {
        struct variable variable;
        if (!catalogue_read_pvar_info(watch->tool_id, watch->seen, &variable))
            continue;
        if (watch->wants(watch->data, &variable))
            follow(watch, &variable);
        catalogue_clear(&variable);
    }
}

void watch_begin(struct watch *watch, int tool_id, bool has_world,
                 bool (*wants)(void *data, const struct variable *variable), void *data)
{
    *watch = (struct watch){.tool_id = tool_id,
                            .has_world = has_world,
                            .wants = wants,
                            .data = data,
                            .session = MPI_T_PVAR_SESSION_NULL};
    if (CALL_NEXT(tool_id, T_pvar_session_create, MPI_T_PVAR_SESSION_CREATE_T, &watch->session) !=
        MPI_SUCCESS)
        watch->session = MPI_T_PVAR_SESSION_NULL;
    watch_extend(watch);
}

const struct watched *watch_find(const struct watch *watch, int index)
{
    int low = 0, high = watch->count;
    while (low < high) {
        const int middle = low + (high - low) / 2;
        if (watch->all[middle].index < index)
            low = middle + 1;
        else
            high = middle;
    }
    return low < watch->count && watch->all[low].index == index ? &watch->all[low] : NULL;
}

void *watch_read(const struct watch *watch, const struct watched *watched)
{
    void *data = value_room(watched->type, watched->count);
    if (CALL_NEXT(watch->tool_id, T_pvar_read, MPI_T_PVAR_READ_T, watch->session, watched->handle,
                  data) == MPI_SUCCESS)
        return data;
    free(data);
    return NULL;
}

void watch_end(struct watch *watch)
{
    for (int i = 0; i < watch->count; i++) {
        CALL_NEXT(watch->tool_id, T_pvar_handle_free, MPI_T_PVAR_HANDLE_FREE_T, watch->session,
                  &watch->all[i].handle);
        free(watch->all[i].name);
    }
    if (watch->session != MPI_T_PVAR_SESSION_NULL)
        CALL_NEXT(watch->tool_id, T_pvar_session_free, MPI_T_PVAR_SESSION_FREE_T, &watch->session);
    free(watch->all);
    *watch = (struct watch){.session = MPI_T_PVAR_SESSION_NULL};
}
