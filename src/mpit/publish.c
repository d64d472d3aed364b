/* SPDX-License-Identifier: MIT */
/*
 * See publish.h. How names are made; and the categories that are there before anything is put into
 * them.
 */
#include "mpit/publish.h"

#include "mpit/labels.h"
#include "mpit/library.h"
#include "registry/registry.h"
#include "util/util.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

QMPI_LOCK(lock);
static struct qmpi_mpit_category *root, *rank_name[QMPI_LAYERS_MAX + 1];

bool qmpi_mpit_is_name(const char *name)
{
    if (!name || !*name || strlen(name) > 255)
        return false;
    for (; *name; name++) {
        if ((unsigned char)*name < ' ' || *name == 127)
            return false;
    }
    return true;
}

static bool library_has(const struct qmpi_mpit_item *item, const char *name)
{
    int index;
    if (!qmpi_mpit_is_held())
        return false;
    if (item->space == QMPI_MPIT_CVARS)
        return LIBRARY(cvar_get_index, CVAR_GET_INDEX)(name, &index) == MPI_SUCCESS;
    if (item->space == QMPI_MPIT_CATEGORIES)
        return LIBRARY(category_get_index, CATEGORY_GET_INDEX)(name, &index) == MPI_SUCCESS;
    return LIBRARY(pvar_get_index, PVAR_GET_INDEX)(
               name, ((const struct qmpi_mpit_variable *)item)->var_class, &index) == MPI_SUCCESS;
}

static bool add_under(struct qmpi_mpit_item *item, char *name)
{
    const int var_class =
        item->space == QMPI_MPIT_PVARS ? ((const struct qmpi_mpit_variable *)item)->var_class : 0;
    item->name = name;
    if (!library_has(item, name) && qmpi_mpit_add(item, var_class))
        return true;
    free(name);
    item->name = NULL;
    return false;
}

bool qmpi_mpit_publish(struct qmpi_mpit_item *item, const char *name, const char *description,
                       bool bare, int *index)
{
    const char *label = item->tool_id ? qmpi_mpit_label(item->tool_id) : NULL;
    if (bare || index)
        qmpi_mpit_hold();
    item->short_name = qmpi_copy(name);
    item->description = qmpi_copy(description ? description : "");
    char *whole = label ? qmpi_format("qmpi.%s.%s", label, name) : qmpi_format("qmpi.%s", name);
    bool added = bare && add_under(item, qmpi_copy(name));
    if (added)
        free(whole);
    else
        added = add_under(item, whole);
    if (added && index)
        *index = qmpi_mpit_index_of(item);
    if (!added) {
        free(item->short_name);
        free(item->description);
    }
    return added;
}

struct qmpi_mpit_category *qmpi_mpit_new_category(int tool_id)
{
    struct qmpi_mpit_category *category = qmpi_allocate(1, sizeof *category);
    category->item.space = QMPI_MPIT_CATEGORIES;
    category->item.tool_id = tool_id;
    return category;
}

/* Under its name or, where a layer has published that one, under the next one as labels.c has it.
 */
static void add_numbered(struct qmpi_mpit_category *category, char *name)
{
    category->item.name = name;
    for (int number = 2; !qmpi_mpit_add(&category->item, 0); number++) {
        if (!qmpi_mpit_find_name(QMPI_MPIT_CATEGORIES, category->item.name, 0))
            return; /* there is no room for it */
        if (number > 2)
            free(category->item.name);
        category->item.name = qmpi_format("%s#%d", name, number);
    }
    if (category->item.name != name)
        free(name);
}

/* `qmpi` and `qmpi.TOOL` have no NAME under which a layer's category could be. */
static struct qmpi_mpit_category *make_root(void)
{
    struct qmpi_mpit_category *category = qmpi_mpit_new_category(0);
    category->item.short_name = qmpi_copy("");
    category->item.description =
        qmpi_copy("Variables published by the layers of the stack of MPI tools");
    add_numbered(category, qmpi_copy("qmpi"));
    return category;
}

static struct qmpi_mpit_category *make_layer_category(int tool_id)
{
    const struct qmpi_layer *layer = qmpi_layer_get(tool_id);
    const QMPIX_Tool_info *info = layer->tool ? layer->tool->info : NULL;
    struct qmpi_mpit_category *category = qmpi_mpit_new_category(tool_id);
    category->item.short_name = qmpi_copy("");
    category->item.description = info && info->description
                                     ? qmpi_copy(info->description)
                                     : qmpi_format("Layer %d of the stack", tool_id);
    category->item.category = root;
    add_numbered(category, qmpi_format("qmpi.%s", qmpi_mpit_label(tool_id)));
    return category;
}

static void (*publish_layer)(int tool_id, struct qmpi_mpit_category *category);

void qmpi_mpit_when_layer_appears(void (*publish)(int tool_id, struct qmpi_mpit_category *category))
{
    publish_layer = publish;
}

static struct qmpi_mpit_category *layer_category(int tool_id)
{
    if (tool_id && !qmpi_mpit_label(tool_id))
        return NULL;
    pthread_mutex_lock(&lock);
    if (!root)
        root = make_root();
    const bool is_new = tool_id && !rank_name[tool_id];
    if (is_new)
        rank_name[tool_id] = make_layer_category(tool_id);
    pthread_mutex_unlock(&lock);
    if (is_new)
        publish_layer(tool_id, rank_name[tool_id]);
    return tool_id ? rank_name[tool_id] : root;
}

struct qmpi_mpit_category *qmpi_mpit_category_for(int tool_id, const char *name)
{
    struct qmpi_mpit_category *category = layer_category(tool_id);
    if (!category || !name)
        return category;
    return *name ? qmpi_mpit_find_category(tool_id, name) : NULL;
}
