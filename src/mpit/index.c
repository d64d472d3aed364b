/* SPDX-License-Identifier: MIT */
/* See index.h. */
#include "mpit/index.h"

#include "mpit/library.h"
#include "util/util.h"

#include <stdlib.h>
#include <string.h>

/* Places never move, so that whoever has an index needs no lock: blocks of them, made on demand. */
enum { BLOCK = 1024, BLOCKS = 1024, HASHES = 2048 };

static struct table {
    _Atomic(struct qmpi_mpit_place *) blocks[BLOCKS];
    atomic_int count;
    int *of_library; /* merged indices by the library's */
    int library;     /* how many of the library's are in */
    int rank_name;   /* how many of `items` are in */
    struct qmpi_mpit_item **items;
    int items_count;
    struct qmpi_mpit_item *names[HASHES]; /* `items` by the hash of their names */
} tables[QMPI_MPIT_SPACES];

QMPI_LOCK(lock);
static atomic_int changes;

/* An array for one element more; the room doubles. */
static void *extend(void *array, int count, size_t size)
{
    if (count & (count - 1))
        return array;
    void *longer = realloc(array, (count ? 2 * (size_t)count : 1) * size);
    if (!longer) {
        qmpi_printf("out of memory\nhint: raise the memory limit of the process");
        abort();
    }
    return longer;
}

/* The tables end where their blocks do: a million variables. What was published has its place there
 * even before somebody asks for its index. */
static bool has_room(const struct table *table)
{
    const int waiting = table->items_count - table->rank_name;
    return atomic_load_explicit(&table->count, memory_order_relaxed) < BLOCK * BLOCKS - waiting;
}

static void append(struct table *table, struct qmpi_mpit_place place)
{
    const int index = atomic_load_explicit(&table->count, memory_order_relaxed);
    struct qmpi_mpit_place *block = atomic_load(&table->blocks[index / BLOCK]);
    if (!block) {
        block = qmpi_allocate(BLOCK, sizeof *block);
        atomic_store(&table->blocks[index / BLOCK], block);
    }
    block[index % BLOCK] = place;
    atomic_store_explicit(&table->count, index + 1, memory_order_release);
}

static int library_count(enum qmpi_mpit_space space)
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

/* Under the lock: what is new gets its index. */
static void refresh(enum qmpi_mpit_space space)
{
    struct table *table = &tables[space];
    const int library = library_count(space);
    while (table->library < library && has_room(table)) {
        struct qmpi_mpit_place place = {NULL, table->library};
        table->of_library = extend(table->of_library, table->library, sizeof(int));
        table->of_library[table->library] = atomic_load(&table->count);
        append(table, place);
        table->library++;
    }
    while (table->rank_name < table->items_count) {
        struct qmpi_mpit_item *item = table->items[table->rank_name];
        struct qmpi_mpit_place place = {item, -1};
        item->index = atomic_load(&table->count);
        append(table, place);
        table->rank_name++;
    }
}

static void refresh_locked(enum qmpi_mpit_space space)
{
    pthread_mutex_lock(&lock);
    refresh(space);
    pthread_mutex_unlock(&lock);
}

static bool known(const struct table *table, int index, struct qmpi_mpit_place *place)
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
    if (!known(&tables[space], index, place)) {
        refresh_locked(space);
        if (!known(&tables[space], index, place))
            return false;
    }
    return !place->item || !atomic_load(&place->item->gone);
}

struct qmpi_mpit_item *qmpi_mpit_find_published(enum qmpi_mpit_space space, int index)
{
    struct qmpi_mpit_place place;
    if (!known(&tables[space], index, &place) || !place.item || atomic_load(&place.item->gone))
        return NULL;
    return place.item;
}

int qmpi_mpit_count(enum qmpi_mpit_space space)
{
    refresh_locked(space);
    return atomic_load(&tables[space].count);
}

void qmpi_mpit_translate(enum qmpi_mpit_space space, int count, int *indices)
{
    const struct table *table = &tables[space];
    pthread_mutex_lock(&lock);
    refresh(space);
    for (int i = 0; i < count; i++) {
        if (indices[i] >= 0 && indices[i] < table->library)
            indices[i] = table->of_library[indices[i]];
    }
    pthread_mutex_unlock(&lock);
}

int qmpi_mpit_index_of_library(enum qmpi_mpit_space space, int library)
{
    int index = library;
    qmpi_mpit_translate(space, 1, &index);
    return index;
}

static struct qmpi_mpit_item **hashed(enum qmpi_mpit_space space, const char *name)
{
    unsigned hash = 5381;
    for (const char *at = name; *at; at++)
        hash = hash * 33 + (unsigned char)*at;
    return &tables[space].names[hash % HASHES];
}

static struct qmpi_mpit_item *find_name(enum qmpi_mpit_space space, const char *name, int var_class)
{
    struct qmpi_mpit_item *item = *hashed(space, name);
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
    pthread_mutex_lock(&lock);
    struct qmpi_mpit_item *item = find_name(space, name, var_class);
    pthread_mutex_unlock(&lock);
    return item;
}

struct qmpi_mpit_category *qmpi_mpit_find_category(int tool_id, const char *name)
{
    const struct table *table = &tables[QMPI_MPIT_CATEGORIES];
    struct qmpi_mpit_item *found = NULL;
    pthread_mutex_lock(&lock);
    for (int i = 0; !found && i < table->items_count; i++) {
        struct qmpi_mpit_item *item = table->items[i];
        if (item->tool_id == tool_id && !atomic_load(&item->gone) &&
            (!strcmp(item->short_name, name) || !strcmp(item->name, name)))
            found = item;
    }
    pthread_mutex_unlock(&lock);
    return (struct qmpi_mpit_category *)found;
}

bool qmpi_mpit_add(struct qmpi_mpit_item *item, int var_class)
{
    struct table *table = &tables[item->space];
    item->index = -1;
    pthread_mutex_lock(&lock);
    const bool is_new = has_room(table) && !find_name(item->space, item->name, var_class);
    if (is_new) {
        table->items = extend(table->items, table->items_count, sizeof(struct qmpi_mpit_item *));
        table->items[table->items_count++] = item;
        item->same_hash = *hashed(item->space, item->name);
        *hashed(item->space, item->name) = item;
        if (item->category) {
            __typeof__(item->category->members[0]) *members = &item->category->members[item->space];
            members->items =
                extend(members->items, members->count, sizeof(struct qmpi_mpit_item *));
            members->items[members->count++] = item;
        }
        atomic_fetch_add(&changes, 1);
    }
    pthread_mutex_unlock(&lock);
    return is_new;
}

int qmpi_mpit_index_of(struct qmpi_mpit_item *item)
{
    pthread_mutex_lock(&lock);
    if (item->index < 0)
        refresh(item->space);
    const int index = item->index;
    pthread_mutex_unlock(&lock);
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
    pthread_mutex_lock(&lock);
    refresh(space);
    for (int i = 0; i < category->members[space].count; i++) {
        const struct qmpi_mpit_item *item = category->members[space].items[i];
        if (atomic_load(&item->gone))
            continue;
        if (count < length)
            indices[count] = item->index;
        count++;
    }
    pthread_mutex_unlock(&lock);
    return count;
}

void qmpi_mpit_withdraw(int tool_id)
{
    pthread_mutex_lock(&lock);
    for (int space = 0; space < QMPI_MPIT_SPACES; space++) {
        for (int i = 0; i < tables[space].items_count; i++) {
            if (tables[space].items[i]->tool_id == tool_id)
                atomic_store(&tables[space].items[i]->gone, true);
        }
    }
    atomic_fetch_add(&changes, 1);
    pthread_mutex_unlock(&lock);
}
