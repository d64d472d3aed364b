/* SPDX-License-Identifier: MIT */
/* See publish.h. */
#include "mpit/publish.h"

#include "mpit/handles.h"
#include "mpit/library.h"
#include "mpit/merged.h"
#include "registry/registry.h"
#include "util/util.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

/* ---- Labels ---------------------------------------------------------------------------------- */

/*
 * A layer may publish in its init, when the layers above it are not loaded yet. Whether they will
 * use the same tool is known from their libraries. If two tools from different libraries have the
 * same name, their labels depend on the order in which they are requested.
 */

QMPI_LOCK(labels_lock);
static char *labels[QMPI_LAYERS_MAX + 1];
static bool labels_forgotten[QMPI_LAYERS_MAX + 1];

static bool same_tool(const struct qmpi_layer *one, const struct qmpi_layer *other)
{
    if (one->tool && one->tool == other->tool)
        return true;
    return one->path && other->path && !strcmp(one->path, other->path);
}

static bool is_label_taken(const char *label)
{
    for (int tool_id = 1; qmpi_layer_get(tool_id); tool_id++) {
        if (labels[tool_id] && !strcmp(labels[tool_id], label))
            return true;
    }
    return false;
}

static char *make_label_text(const struct qmpi_layer *layer)
{
    int number = 1;
    for (int above = 1; above < layer->tool_id; above++)
        number += same_tool(qmpi_layer_get(above), layer);
    char *label = number == 1 ? qmpi_copy(layer->name) : qmpi_format("%s#%d", layer->name, number);
    while (is_label_taken(label)) {
        free(label);
        label = qmpi_format("%s#%d", layer->name, ++number);
    }
    return label;
}

static void make_label(void *data)
{
    const struct qmpi_layer *layer = data;
    labels[layer->tool_id] = make_label_text(layer);
}

const char *qmpi_mpit_label(int tool_id)
{
    const struct qmpi_layer *layer = qmpi_layer_get(tool_id);
    if (!layer || !layer->name)
        return NULL;
    pthread_mutex_lock(&labels_lock);
    const bool good = labels[tool_id] || labels_forgotten[tool_id] ||
                      qmpi_memory_catch_exhausted(make_label, (void *)(uintptr_t)layer);
    const char *label = labels_forgotten[tool_id] ? NULL : labels[tool_id];
    pthread_mutex_unlock(&labels_lock);
    if (!good)
        qmpi_memory_exhausted();
    return label;
}

void qmpi_mpit_label_forget(int tool_id)
{
    pthread_mutex_lock(&labels_lock);
    labels_forgotten[tool_id] = true;
    pthread_mutex_unlock(&labels_lock);
}

/* ---- Names and categories -------------------------------------------------------------------- */

QMPI_LOCK(categories_lock);
static struct qmpi_mpit_category *root_category,
    *layer_categories[QMPI_LAYERS_MAX + 1]; /* [tool_id] */

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

static bool is_name_in_library(const struct qmpi_mpit_item *item, const char *name)
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

static bool add_with_name(struct qmpi_mpit_item *item, char *name)
{
    const int var_class =
        item->space == QMPI_MPIT_PVARS ? ((const struct qmpi_mpit_variable *)item)->var_class : 0;
    item->name = name;
    if (!is_name_in_library(item, name) && qmpi_mpit_add(item, var_class))
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
    bool added = bare && add_with_name(item, qmpi_copy(name));
    if (added)
        free(whole);
    else
        added = add_with_name(item, whole);
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

/* Adds a category under its name. If a layer has published a category of this name, a number is
 * appended to the name of the new category, as in a label. */
static void add_numbered(struct qmpi_mpit_category *category, char *name)
{
    category->item.name = name;
    for (int number = 2; !qmpi_mpit_add(&category->item, 0); number++) {
        if (!qmpi_mpit_find_name(QMPI_MPIT_CATEGORIES, category->item.name, 0))
            return; /* no index is left */
        if (number > 2)
            free(category->item.name);
        category->item.name = qmpi_format("%s#%d", name, number);
    }
    if (category->item.name != name)
        free(name);
}

/* The categories `qmpi` and `qmpi.TOOL` have an empty short name, because no layer has named them.
 */
static struct qmpi_mpit_category *make_root_category(void)
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
                                     : qmpi_format("Variables of the tool %s", layer->name);
    category->item.category = root_category;
    add_numbered(category, qmpi_format("qmpi.%s", qmpi_mpit_label(tool_id)));
    return category;
}

static void (*publish_layer)(int tool_id, struct qmpi_mpit_category *category);

void qmpi_mpit_when_layer_appears(void (*publish)(int tool_id, struct qmpi_mpit_category *category))
{
    publish_layer = publish;
}

static void make_categories(void *data)
{
    const int tool_id = *(const int *)data;
    if (!root_category)
        root_category = make_root_category();
    if (tool_id && !layer_categories[tool_id])
        layer_categories[tool_id] = make_layer_category(tool_id);
}

static struct qmpi_mpit_category *get_layer_category(int tool_id)
{
    if (tool_id && !qmpi_mpit_label(tool_id))
        return NULL;
    pthread_mutex_lock(&categories_lock);
    const bool is_new = tool_id && !layer_categories[tool_id];
    const bool good = qmpi_memory_catch_exhausted(make_categories, &tool_id);
    pthread_mutex_unlock(&categories_lock);
    if (!good)
        qmpi_memory_exhausted();
    if (is_new)
        publish_layer(tool_id, layer_categories[tool_id]);
    return tool_id ? layer_categories[tool_id] : root_category;
}

struct qmpi_mpit_category *qmpi_mpit_category_for(int tool_id, const char *name)
{
    struct qmpi_mpit_category *category = get_layer_category(tool_id);
    if (!category || !name)
        return category;
    return *name ? qmpi_mpit_find_category(tool_id, name) : NULL;
}

/* ---- Variables ------------------------------------------------------------------------------- */

/*
 * QMPIX_Pvar_create, QMPIX_Cvar_create and QMPIX_Category_create check the description of a
 * variable or category against the rules of the standard, copy it, and publish it.
 */

/* Whether QMPIX_Enum_create has returned this enumeration. */
static bool is_enum(MPI_T_enum enumtype)
{
    return qmpi_mpit_is_ours(enumtype) && qmpi_mpit_slot_of(enumtype, QMPI_MPIT_ENUM);
}

/* Returns the type of a variable; NULL: invalid, or not allowed with this enumeration. */
static const struct qmpi_mpit_type *find_type(MPI_Datatype datatype, MPI_T_enum enumtype)
{
    const bool good = enumtype == MPI_T_ENUM_NULL || (datatype == MPI_INT && is_enum(enumtype));
    return good ? qmpi_mpit_type_of(datatype) : NULL;
}

/* Whether the value has exactly one source. An address cannot be the source for a variable that is
 * bound to an object or has the callback `open`. */
static bool has_source(const void *address, QMPIX_Var_read *read, QMPIX_Var_open *open,
                       int object_size)
{
    return !address != !read && !(address && (object_size || open));
}

/* Replaces members that are 0 by their defaults. */
static void set_defaults(struct qmpi_mpit_variable *variable)
{
    variable->verbosity = variable->verbosity ? variable->verbosity : MPI_T_VERBOSITY_USER_BASIC;
    variable->bind = variable->bind ? variable->bind : MPI_T_BIND_NO_OBJECT;
    variable->count = variable->count ? variable->count : 1;
    variable->object_size = qmpi_mpit_object_size(variable->bind);
}

/* Checks the members that control and performance variables share, and sets the category. */
static bool check_and_categorize(struct qmpi_mpit_variable *variable, const char *name,
                                 const char *category)
{
    if (!qmpi_mpit_is_name(name) || !variable->type || variable->count < 1 ||
        !qmpi_mpit_is_verbosity(variable->verbosity) || variable->object_size < 0 ||
        !has_source(variable->address, variable->read, variable->open, variable->object_size) ||
        (variable->address && (uintptr_t)variable->address % variable->type->size))
        return false;
    if (variable->item.tool_id < 1)
        return false;
    variable->item.category = qmpi_mpit_category_for(variable->item.tool_id, category);
    return variable->item.category != NULL;
}

/* Whether the variable has a callback for writing if it needs one, and no callback for writing or
 * resetting that could not be called. A GENERIC variable that is written by a callback cannot be
 * atomic, because its callbacks for reading and resetting are called one after the other. */
static bool has_valid_callbacks(const struct qmpi_mpit_variable *variable)
{
    const bool present = variable->style == QMPI_MPIT_PRESENT;
    const bool generic = variable->var_class == MPI_T_PVAR_CLASS_GENERIC;
    if (!present || variable->readonly || variable->address)
        return !variable->write && !variable->reset;
    return variable->write && (generic || !variable->reset) && !(generic && variable->atomic);
}

static void save_initial_values(struct qmpi_mpit_variable *variable)
{
    if (variable->var_class != MPI_T_PVAR_CLASS_GENERIC || !variable->address)
        return;
    variable->initial = qmpi_allocate((size_t)variable->count, sizeof *variable->initial);
    for (int i = 0; i < variable->count; i++)
        variable->initial[i] = qmpi_mpit_load(variable->type, variable->address, i);
}

static int publish_or_free(struct qmpi_mpit_variable *variable, const char *name,
                           const char *description, int flags, int *index)
{
    if (qmpi_mpit_publish(&variable->item, name, description, flags & QMPIX_BARE_NAME, index))
        return MPI_SUCCESS;
    free(variable->initial);
    free(variable);
    return MPI_ERR_ARG;
}

struct item_creation {
    int (*create)(int tool_id, const void *what, int *index);
    int tool_id;
    const void *what;
    int *index;
    int result;
};

static void call_create(void *data)
{
    struct item_creation *creation = data;
    creation->result = creation->create(creation->tool_id, creation->what, creation->index);
}

static int create_if_memory(int (*function)(int, const void *, int *), int tool_id,
                            const void *what, int *index)
{
    struct item_creation creation = {function, tool_id, what, index, MPI_ERR_NO_MEM};
    return qmpi_memory_catch_exhausted(call_create, &creation) ? creation.result : MPI_ERR_NO_MEM;
}

static int create_pvar(int tool_id, const void *what, int *index)
{
    const QMPIX_Pvar *pvar = what;
    const int flags =
        QMPIX_BARE_NAME | QMPIX_PVAR_READONLY | QMPIX_PVAR_CONTINUOUS | QMPIX_PVAR_ATOMIC;
    if (!pvar || pvar->size < sizeof *pvar || pvar->flags & ~flags)
        return MPI_ERR_ARG;
    struct qmpi_mpit_variable *variable = qmpi_allocate(1, sizeof *variable);
    *variable = (struct qmpi_mpit_variable){
        .item = {.space = QMPI_MPIT_PVARS, .tool_id = tool_id},
        .verbosity = pvar->verbosity,
        .type = find_type(pvar->datatype, pvar->enumtype),
        .count = pvar->count,
        .enumtype = pvar->enumtype,
        .bind = pvar->bind,
        .address = pvar->address,
        .read = pvar->read,
        .write = pvar->write,
        .reset = pvar->reset,
        .open = pvar->open,
        .user = pvar->user,
        .var_class = pvar->var_class,
        .readonly = pvar->flags & QMPIX_PVAR_READONLY,
        .continuous = pvar->flags & QMPIX_PVAR_CONTINUOUS,
        .atomic = pvar->flags & QMPIX_PVAR_ATOMIC,
    };
    set_defaults(variable);
    if (!check_and_categorize(variable, pvar->name, pvar->category) ||
        !qmpi_mpit_class_allows(variable->var_class, variable->type, &variable->style) ||
        !has_valid_callbacks(variable)) {
        free(variable);
        return MPI_ERR_ARG;
    }
    save_initial_values(variable);
    variable->simple = variable->address && variable->count == 1 &&
                       variable->style == QMPI_MPIT_SUM &&
                       variable->type->element == QMPI_MPIT_UINT64;
    return publish_or_free(variable, pvar->name, pvar->description, pvar->flags, index);
}

struct qmpi_mpit_variable *qmpi_mpit_new_cvar(int tool_id, const QMPIX_Cvar *cvar)
{
    struct qmpi_mpit_variable *variable = qmpi_allocate(1, sizeof *variable);
    *variable = (struct qmpi_mpit_variable){
        .item = {.space = QMPI_MPIT_CVARS, .tool_id = tool_id},
        .verbosity = cvar->verbosity,
        .type = find_type(cvar->datatype, cvar->enumtype),
        .count = cvar->count,
        .enumtype = cvar->enumtype,
        .bind = cvar->bind,
        .address = cvar->address,
        .read = cvar->read,
        .write = cvar->write,
        .open = cvar->open,
        .user = cvar->user,
        .scope = cvar->scope,
    };
    set_defaults(variable);
    return variable;
}

int QMPIX_Pvar_create(int tool_id, const QMPIX_Pvar *pvar, int *index)
{
    return qmpi_layer_note_registration(__func__,
                                        create_if_memory(create_pvar, tool_id, pvar, index));
}

static int create_cvar(int tool_id, const void *what, int *index)
{
    const QMPIX_Cvar *cvar = what;
    if (!cvar || cvar->size < sizeof *cvar || cvar->flags & ~QMPIX_BARE_NAME)
        return MPI_ERR_ARG;
    struct qmpi_mpit_variable *variable = qmpi_mpit_new_cvar(tool_id, cvar);
    const bool writable = qmpi_mpit_is_writable(variable);
    if (!check_and_categorize(variable, cvar->name, cvar->category) ||
        !qmpi_mpit_is_scope(cvar->scope) || !cvar->write != (!writable || cvar->address)) {
        free(variable);
        return MPI_ERR_ARG;
    }
    return publish_or_free(variable, cvar->name, cvar->description, cvar->flags, index);
}

int QMPIX_Cvar_create(int tool_id, const QMPIX_Cvar *cvar, int *index)
{
    return qmpi_layer_note_registration(__func__,
                                        create_if_memory(create_cvar, tool_id, cvar, index));
}

static int create_category(int tool_id, const void *what, int *index)
{
    const QMPIX_Category *category = what;
    if (!category || category->size < sizeof *category || !qmpi_mpit_is_name(category->name) ||
        category->flags & ~QMPIX_BARE_NAME || tool_id < 1)
        return MPI_ERR_ARG;
    struct qmpi_mpit_category *parent = qmpi_mpit_category_for(tool_id, category->parent);
    if (!parent)
        return MPI_ERR_ARG;
    struct qmpi_mpit_category *item = qmpi_mpit_new_category(tool_id);
    item->item.category = parent;
    if (qmpi_mpit_publish(&item->item, category->name, category->description,
                          category->flags & QMPIX_BARE_NAME, index))
        return MPI_SUCCESS;
    free(item);
    return MPI_ERR_ARG;
}

int QMPIX_Category_create(int tool_id, const QMPIX_Category *category, int *index)
{
    return qmpi_layer_note_registration(
        __func__, create_if_memory(create_category, tool_id, category, index));
}

/* ---- Enumerations ---------------------------------------------------------------------------- */

/* An enumeration of a layer occupies a slot (handles.h) and exists until the process ends. */

struct qmpi_mpit_enum {
    char *name;
    int count;
    QMPIX_Enum_item *items; /* with copies of the names */
    struct qmpi_mpit_enum *next;
};

QMPI_LOCK(enums_lock);
static struct qmpi_mpit_enum *enums;

/* Returns false if there is an enumeration with this name. */
static bool add_enum(struct qmpi_mpit_enum *made)
{
    pthread_mutex_lock(&enums_lock);
    const struct qmpi_mpit_enum *other = enums;
    while (other && strcmp(other->name, made->name) != 0)
        other = other->next;
    if (!other) {
        made->next = enums;
        enums = made;
    }
    pthread_mutex_unlock(&enums_lock);
    return !other;
}

static bool is_valid_enum(int tool_id, const QMPIX_Enum *enumeration)
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

static int compare_item_names(const void *one, const void *other)
{
    const QMPIX_Enum_item *const *items[] = {one, other};
    return strcmp((*items[0])->name, (*items[1])->name);
}

static int compare_values(const void *one, const void *other)
{
    const QMPIX_Enum_item *const *items[] = {one, other};
    return ((*items[0])->value > (*items[1])->value) - ((*items[0])->value < (*items[1])->value);
}

/* Whether two of the items are equal, as `compare` defines it. */
static bool has_equal_items(const QMPIX_Enum *enumeration,
                            int (*compare)(const void *one, const void *other))
{
    const size_t count = (size_t)enumeration->count;
    const QMPIX_Enum_item **sorted = qmpi_allocate(count, sizeof *sorted);
    bool found = false;
    for (size_t i = 0; i < count; i++)
        sorted[i] = &enumeration->items[i];
    qsort(sorted, count, sizeof *sorted, compare);
    for (size_t i = 1; i < count && !found; i++)
        found = compare(&sorted[i - 1], &sorted[i]) == 0;
    free(sorted);
    return found;
}

struct enum_creation {
    int tool_id;
    const QMPIX_Enum *enumeration;
    struct qmpi_mpit_enum *made; /* NULL: no such layer, equal items, or memory is exhausted */
};

static void make_enum(void *data)
{
    struct enum_creation *creation = data;
    const QMPIX_Enum *enumeration = creation->enumeration;
    const char *label = qmpi_mpit_label(creation->tool_id);
    if (!label || has_equal_items(enumeration, compare_item_names) ||
        has_equal_items(enumeration, compare_values))
        return;
    struct qmpi_mpit_enum *made = qmpi_allocate(1, sizeof *made);
    made->name = qmpi_format("qmpi.%s.%s", label, enumeration->name);
    made->count = enumeration->count;
    made->items = qmpi_allocate((size_t)made->count, sizeof *made->items);
    for (int i = 0; i < made->count; i++) {
        made->items[i].name = qmpi_copy(enumeration->items[i].name);
        made->items[i].value = enumeration->items[i].value;
    }
    creation->made = made;
}

static void free_enum(struct qmpi_mpit_enum *made)
{
    for (int i = 0; i < made->count; i++)
        free((char *)(uintptr_t)made->items[i].name);
    free(made->items);
    free(made->name);
    free(made);
}

static int create_enum(int tool_id, const QMPIX_Enum *enumeration, MPI_T_enum *enumtype)
{
    struct enum_creation creation = {tool_id, enumeration, NULL};
    if (!enumtype || !is_valid_enum(tool_id, enumeration))
        return MPI_ERR_ARG;
    struct qmpi_mpit_slot *slot = qmpi_mpit_slot_take();
    if (!slot)
        return MPI_ERR_NO_MEM;
    const bool has_memory = qmpi_memory_catch_exhausted(make_enum, &creation);
    struct qmpi_mpit_enum *made = creation.made;
    if (!made || !add_enum(made)) {
        qmpi_mpit_slot_give_back(slot);
        if (made)
            free_enum(made);
        return has_memory ? MPI_ERR_ARG : MPI_ERR_NO_MEM;
    }
    slot->enumeration = made;
    qmpi_mpit_slot_publish(slot, QMPI_MPIT_ENUM);
    *enumtype = (MPI_T_enum)(void *)slot;
    return MPI_SUCCESS;
}

int QMPIX_Enum_create(int tool_id, const QMPIX_Enum *enumeration, MPI_T_enum *enumtype)
{
    return qmpi_layer_note_registration(__func__, create_enum(tool_id, enumeration, enumtype));
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
