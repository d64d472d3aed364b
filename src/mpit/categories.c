/* SPDX-License-Identifier: MIT */
/* See merged.h: categories and what is in them. */
#include "mpit/index.h"
#include "mpit/library.h"
#include "mpit/merged.h"
#include "mpit/text.h"

/* Both stamps only grow, and so does their sum. */
int qmpi_mpit_category_changed(int *update_number)
{
    if (!qmpi_mpit_is_initialised())
        return MPI_T_ERR_NOT_INITIALIZED;
    const int result = LIBRARY(category_changed, CATEGORY_CHANGED)(update_number);
    if (result == MPI_SUCCESS)
        *update_number += qmpi_mpit_changes();
    return result;
}

static int find(int index, struct qmpi_mpit_place *place)
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
    const int result = find(cat_index, &place);
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

/* How many members of one sort a category of the library has. */
static int library_members(int library, enum qmpi_mpit_space space)
{
    int counts[QMPI_MPIT_SPACES] = {0};
    LIBRARY(category_get_info, CATEGORY_GET_INFO)
    (library, NULL, NULL, NULL, NULL, &counts[QMPI_MPIT_CVARS], &counts[QMPI_MPIT_PVARS],
     &counts[QMPI_MPIT_CATEGORIES]);
    return counts[space];
}

static int list(int cat_index, enum qmpi_mpit_space space, int len, int indices[],
                list_function *library)
{
    struct qmpi_mpit_place place;
    int result = find(cat_index, &place);
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
        const int count = library_members(place.library, space);
        qmpi_mpit_translate(space, count < len ? count : len, indices);
    }
    return result;
}

int qmpi_mpit_category_get_cvars(int cat_index, int len, int indices[])
{
    return list(cat_index, QMPI_MPIT_CVARS, len, indices,
                LIBRARY(category_get_cvars, CATEGORY_GET_CVARS));
}

int qmpi_mpit_category_get_pvars(int cat_index, int len, int indices[])
{
    return list(cat_index, QMPI_MPIT_PVARS, len, indices,
                LIBRARY(category_get_pvars, CATEGORY_GET_PVARS));
}

int qmpi_mpit_category_get_categories(int cat_index, int len, int indices[])
{
    return list(cat_index, QMPI_MPIT_CATEGORIES, len, indices,
                LIBRARY(category_get_categories, CATEGORY_GET_CATEGORIES));
}

#if MPI_VERSION >= 4
int qmpi_mpit_category_get_num_events(int cat_index, int *num_events)
{
    struct qmpi_mpit_place place;
    const int result = find(cat_index, &place);
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
    const int result = find(cat_index, &place);
    if (result != MPI_SUCCESS || place.item)
        return result;
    return LIBRARY(category_get_events, CATEGORY_GET_EVENTS)(place.library, len, indices);
}
#endif
