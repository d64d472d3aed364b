/* SPDX-License-Identifier: MIT */
/* See enums.h. An enumeration of ours is a slot of the arena, and lives for the whole run. */
#include "mpit/enums.h"

#include "mpit/handle_pool.h"
#include "mpit/labels.h"
#include "mpit/library.h"
#include "mpit/publish.h"
#include "mpit/text.h"
#include "util/util.h"

#include <stdlib.h>
#include <string.h>

struct qmpi_mpit_enum {
    char *name;
    int count;
    QMPIX_Enum_item *items; /* their names are ours */
    struct qmpi_mpit_enum *next;
};

QMPI_LOCK(lock);
static struct qmpi_mpit_enum *all;

/* False: there is one of this name. */
static bool add(struct qmpi_mpit_enum *made)
{
    pthread_mutex_lock(&lock);
    const struct qmpi_mpit_enum *other = all;
    while (other && strcmp(other->name, made->name) != 0)
        other = other->next;
    if (!other) {
        made->next = all;
        all = made;
    }
    pthread_mutex_unlock(&lock);
    return !other;
}

static bool is_good(int tool_id, const QMPIX_Enum *enumeration)
{
    if (!enumeration || enumeration->size < sizeof *enumeration || tool_id < 1 ||
        !qmpi_mpit_is_name(enumeration->name) || enumeration->count < 1 || !enumeration->items)
        return false;
    for (int i = 0; i < enumeration->count; i++) {
        if (!enumeration->items[i].name || !*enumeration->items[i].name)
            return false;
    }
    return true;
}

int QMPIX_Enum_create(int tool_id, const QMPIX_Enum *enumeration, MPI_T_enum *enumtype)
{
    const char *label = qmpi_mpit_label(tool_id);
    if (!label || !enumtype || !is_good(tool_id, enumeration))
        return MPI_ERR_ARG;
    struct qmpi_mpit_slot *slot = qmpi_mpit_slot_take();
    if (!slot)
        return MPI_ERR_NO_MEM;
    struct qmpi_mpit_enum *made = qmpi_allocate(1, sizeof *made);
    made->name = qmpi_format("qmpi.%s.%s", label, enumeration->name);
    if (!add(made)) {
        qmpi_mpit_slot_give_back(slot);
        free(made->name);
        free(made);
        return MPI_ERR_ARG;
    }
    made->count = enumeration->count;
    made->items = qmpi_allocate((size_t)made->count, sizeof *made->items);
    for (int i = 0; i < made->count; i++) {
        made->items[i].name = qmpi_copy(enumeration->items[i].name);
        made->items[i].value = enumeration->items[i].value;
    }
    slot->enumeration = made;
    qmpi_mpit_slot_publish(slot, QMPI_MPIT_ENUM);
    *enumtype = (MPI_T_enum)(void *)slot;
    return MPI_SUCCESS;
}

int qmpi_mpit_enum_get_info(MPI_T_enum enumtype, int *num, char *name, int *name_len)
{
    if (!qmpi_mpit_is_initialised())
        return MPI_T_ERR_NOT_INITIALIZED;
    if (!qmpi_mpit_is_ours(enumtype))
        return LIBRARY(enum_get_info, ENUM_GET_INFO)(enumtype, num, name, name_len);
    const struct qmpi_mpit_slot *slot = qmpi_mpit_slot_of(enumtype, QMPI_MPIT_ENUM);
    if (!slot)
        return MPI_T_ERR_INVALID_HANDLE;
    if (num)
        *num = slot->enumeration->count;
    qmpi_mpit_give_text(slot->enumeration->name, name, name_len);
    return MPI_SUCCESS;
}

int qmpi_mpit_enum_get_item(MPI_T_enum enumtype, int index, int *value, char *name, int *name_len)
{
    if (!qmpi_mpit_is_initialised())
        return MPI_T_ERR_NOT_INITIALIZED;
    if (!qmpi_mpit_is_ours(enumtype))
        return LIBRARY(enum_get_item, ENUM_GET_ITEM)(enumtype, index, value, name, name_len);
    const struct qmpi_mpit_slot *slot = qmpi_mpit_slot_of(enumtype, QMPI_MPIT_ENUM);
    if (!slot)
        return MPI_T_ERR_INVALID_HANDLE;
    if (index < 0 || index >= slot->enumeration->count)
        return MPI_T_ERR_INVALID_INDEX;
    if (value)
        *value = slot->enumeration->items[index].value;
    qmpi_mpit_give_text(slot->enumeration->items[index].name, name, name_len);
    return MPI_SUCCESS;
}
