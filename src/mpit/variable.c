/* SPDX-License-Identifier: MIT */
/* Handles of variables of ours: qmpi_mpit_open, see variable.h. */
#include "mpit/variable.h"

#include <string.h>

int qmpi_mpit_open(const struct qmpi_mpit_variable *variable, const void *object_handle,
                   struct qmpi_mpit_slot **slot)
{
    int count = variable->count;
    if (variable->object_size && !object_handle)
        return MPI_T_ERR_INVALID;
    if (variable->open) {
        const int result =
            variable->open(variable->user, variable->object_size ? object_handle : NULL, &count);
        if (result != MPI_SUCCESS)
            return result;
        if (count < 1)
            return MPI_T_ERR_INVALID_HANDLE;
    }
    struct qmpi_mpit_slot *made = qmpi_mpit_slot_take();
    if (!made)
        return MPI_T_ERR_OUT_OF_HANDLES;
    made->variable = variable;
    made->count = count;
    if (variable->object_size) {
        memcpy(&made->handle, object_handle, (size_t)variable->object_size);
        made->object = &made->handle;
    }
    *slot = made;
    return MPI_SUCCESS;
}
