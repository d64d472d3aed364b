/* SPDX-License-Identifier: MIT */
/* See merged.h: handles and values of control variables. */
#define _GNU_SOURCE
#include "mpit/library.h"
#include "mpit/merged.h"
#include "mpit/variable.h"

#include <string.h>

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

/* The library's own functions need not survive the null handle: Open MPI 4.1.4's do not. */
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

/* A string is as long as it is: what lies behind its end is not the caller's. */
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
