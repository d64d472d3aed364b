/* SPDX-License-Identifier: MIT */
/* See index.h. */
#include "mpit/index.h"

#include "mpit/library.h"
#include "util/util.h"

#include <stdlib.h>
#include <string.h>

/* Places are in blocks that never move, so that they can be read without a lock. */
enum { BLOCK = 1024, BLOCKS = 1024, HASHES = 2048 };

static struct table {
    /* Changed under the lock. `count` is stored with release order after the new place and its
     * block, so that a thread that loads `count` with acquire order finds both. */
    _Atomic(struct qmpi_mpit_place *) blocks[BLOCKS];
    atomic_int count;
    int *of_library;   /* [index in the library]: merged index */
    int library_count; /* number of indices of the library that have a merged index */
    int indexed_count; /* number of elements of `items` that have a merged index */
    struct qmpi_mpit_item **items;
    int items_count;
    size_t library_room, items_room;
    struct qmpi_mpit_item *names[HASHES]; /* [hash of the name]: list of items */
} tables[QMPI_MPIT_SPACES];

QMPI_LOCK(tables_lock);
/* Counts changes after they were made; clients that see a new number ask again. */
static atomic_int changes;

/* Whether an index is left; there are about a million. One is reserved for each published item that
 * has none yet. */
static bool has_free_index(const struct table *table)
{
    const int waiting = table->items_count - table->indexed_count;
    return atomic_load_explicit(&table->count, memory_order_relaxed) < BLOCK * BLOCKS - waiting;
}

/* Assigns the next index to a place. Returns false if memory is exhausted. */
static bool append_place(struct table *table, struct qmpi_mpit_place place)
{
    const int index = atomic_load_explicit(&table->count, memory_order_relaxed);
    struct qmpi_mpit_place *block = atomic_load(&table->blocks[index / BLOCK]);
    if (!block) {
        block = calloc(BLOCK, sizeof *block);
        if (!block)
            return false;
        atomic_store(&table->blocks[index / BLOCK], block);
    }
    block[index % BLOCK] = place;
    atomic_store_explicit(&table->count, index + 1, memory_order_release);
    return true;
}

static int count_in_library(enum qmpi_mpit_space space)
{
    int count = 0, result = MPI_T_ERR_NOT_INITIALIZED;
    if (!qmpi_mpit_is_held())
        return 0;
    if (space == QMPI_MPIT_CVARS)
        result = LIBRARY(cvar_get_num, CVAR_GET_NUM)(&count);
    else if (space == QMPI_MPIT_PVARS)
        result = LIBRARY(pvar_get_num, PVAR_GET_NUM)(&count);
    else
        result = LIBRARY(category_get_num, CATEGORY_GET_NUM)(&count);
    return result == MPI_SUCCESS ? count : 0;
}

/* Assigns indices to new items of the library and of layers. If memory is exhausted, the next call
 * assigns them. Called with the lock. */
static void assign_indices(enum qmpi_mpit_space space)
{
    struct table *table = &tables[space];
    const int library = count_in_library(space);
    while (table->library_count < library && has_free_index(table)) {
        struct qmpi_mpit_place place = {NULL, table->library_count};
        if (!QMPI_MEMORY_RESERVE(table->of_library, table->library_room,
                                 (size_t)table->library_count + 1))
            return;
        table->of_library[table->library_count] = atomic_load(&table->count);
        if (!append_place(table, place))
            return;
        table->library_count++;
    }
    while (table->indexed_count < table->items_count) {
        struct qmpi_mpit_item *item = table->items[table->indexed_count];
        struct qmpi_mpit_place place = {item, -1};
        const int index = atomic_load(&table->count);
        if (!append_place(table, place))
            return;
        item->index = index;
        table->indexed_count++;
    }
}

static void assign_indices_locked(enum qmpi_mpit_space space)
{
    pthread_mutex_lock(&tables_lock);
    assign_indices(space);
    pthread_mutex_unlock(&tables_lock);
}

static bool read_place(const struct table *table, int index, struct qmpi_mpit_place *place)
{
    if (index < 0 || index >= atomic_load_explicit(&table->count, memory_order_acquire))
        return false;
    *place =
        atomic_load_explicit(&table->blocks[index / BLOCK], memory_order_acquire)[index % BLOCK];
    return true;
}

bool qmpi_mpit_find(enum qmpi_mpit_space space, int index, struct qmpi_mpit_place *place)
{
    if (index < 0)
        return false;
    if (!read_place(&tables[space], index, place)) {
        assign_indices_locked(space);
        if (!read_place(&tables[space], index, place))
            return false;
    }
    return !place->item || !atomic_load(&place->item->gone);
}

struct qmpi_mpit_item *qmpi_mpit_find_published(enum qmpi_mpit_space space, int index)
{
    struct qmpi_mpit_place place;
    if (!read_place(&tables[space], index, &place) || !place.item || atomic_load(&place.item->gone))
        return NULL;
    return place.item;
}

int qmpi_mpit_count(enum qmpi_mpit_space space)
{
    assign_indices_locked(space);
    return atomic_load(&tables[space].count);
}

void qmpi_mpit_translate(enum qmpi_mpit_space space, int count, int *indices)
{
    const struct table *table = &tables[space];
    pthread_mutex_lock(&tables_lock);
    assign_indices(space);
    for (int i = 0; i < count; i++) {
        if (indices[i] >= 0 && indices[i] < table->library_count)
            indices[i] = table->of_library[indices[i]];
    }
    pthread_mutex_unlock(&tables_lock);
}

int qmpi_mpit_index_of_library(enum qmpi_mpit_space space, int library)
{
    int index = library;
    qmpi_mpit_translate(space, 1, &index);
    return index;
}

static struct qmpi_mpit_item **hash_list(enum qmpi_mpit_space space, const char *name)
{
    unsigned hash = 5381;
    for (const char *at = name; *at; at++)
        hash = hash * 33 + (unsigned char)*at;
    return &tables[space].names[hash % HASHES];
}

static struct qmpi_mpit_item *find_name_locked(enum qmpi_mpit_space space, const char *name,
                                               int var_class)
{
    struct qmpi_mpit_item *item = *hash_list(space, name);
    for (; item; item = item->same_hash) {
        if (!strcmp(item->name, name) && !atomic_load(&item->gone) &&
            (space != QMPI_MPIT_PVARS ||
             ((const struct qmpi_mpit_variable *)item)->var_class == var_class))
            break;
    }
    return item;
}

struct qmpi_mpit_item *qmpi_mpit_find_name(enum qmpi_mpit_space space, const char *name,
                                           int var_class)
{
    pthread_mutex_lock(&tables_lock);
    struct qmpi_mpit_item *item = find_name_locked(space, name, var_class);
    pthread_mutex_unlock(&tables_lock);
    return item;
}

struct qmpi_mpit_category *qmpi_mpit_find_category(int tool_id, const char *name)
{
    const struct table *table = &tables[QMPI_MPIT_CATEGORIES];
    struct qmpi_mpit_item *found = NULL;
    pthread_mutex_lock(&tables_lock);
    for (int i = 0; !found && i < table->items_count; i++) {
        struct qmpi_mpit_item *item = table->items[i];
        if (item->tool_id == tool_id && !atomic_load(&item->gone) &&
            (!strcmp(item->short_name, name) || !strcmp(item->name, name)))
            found = item;
    }
    pthread_mutex_unlock(&tables_lock);
    return (struct qmpi_mpit_category *)found;
}

/* Makes room for an item in its table and in its category. Called with the lock. */
static bool make_room_for_item(const struct qmpi_mpit_item *item)
{
    struct table *table = &tables[item->space];
    if (!QMPI_MEMORY_RESERVE(table->items, table->items_room, (size_t)table->items_count + 1))
        return false;
    if (!item->category)
        return true;
    __typeof__(item->category->members[0]) *members = &item->category->members[item->space];
    return QMPI_MEMORY_RESERVE(members->items, members->room, (size_t)members->count + 1);
}

bool qmpi_mpit_add(struct qmpi_mpit_item *item, int var_class)
{
    struct table *table = &tables[item->space];
    item->index = -1;
    pthread_mutex_lock(&tables_lock);
    const bool is_new =
        has_free_index(table) && !find_name_locked(item->space, item->name, var_class);
    const bool has_memory = !is_new || make_room_for_item(item);
    if (is_new && has_memory) {
        table->items[table->items_count++] = item;
        item->same_hash = *hash_list(item->space, item->name);
        *hash_list(item->space, item->name) = item;
        if (item->category) {
            __typeof__(item->category->members[0]) *members = &item->category->members[item->space];
            members->items[members->count++] = item;
        }
        atomic_fetch_add(&changes, 1);
    }
    pthread_mutex_unlock(&tables_lock);
    if (!has_memory)
        qmpi_memory_exhausted();
    return is_new;
}

int qmpi_mpit_index_of(struct qmpi_mpit_item *item)
{
    pthread_mutex_lock(&tables_lock);
    if (item->index < 0)
        assign_indices(item->space);
    const int index = item->index;
    pthread_mutex_unlock(&tables_lock);
    return index;
}

int qmpi_mpit_changes(void)
{
    return atomic_load(&changes);
}

int qmpi_mpit_members(const struct qmpi_mpit_category *category, enum qmpi_mpit_space space,
                      int length, int *indices)
{
    int count = 0;
    pthread_mutex_lock(&tables_lock);
    assign_indices(space);
    for (int i = 0; i < category->members[space].count; i++) {
        const struct qmpi_mpit_item *item = category->members[space].items[i];
        if (atomic_load(&item->gone) || item->index < 0)
            continue;
        if (count < length)
            indices[count] = item->index;
        count++;
    }
    pthread_mutex_unlock(&tables_lock);
    return count;
}

void qmpi_mpit_withdraw(int tool_id)
{
    pthread_mutex_lock(&tables_lock);
    for (int space = 0; space < QMPI_MPIT_SPACES; space++) {
        for (int i = 0; i < tables[space].items_count; i++) {
            if (tables[space].items[i]->tool_id == tool_id)
                atomic_store(&tables[space].items[i]->gone, true);
        }
    }
    atomic_fetch_add(&changes, 1);
    pthread_mutex_unlock(&tables_lock);
}
