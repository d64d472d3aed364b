/* SPDX-License-Identifier: MIT */
/* See opening.h. */
#define _GNU_SOURCE
#include "pmpi/opening.h"

#include "pmpi/closure.h"
#include "pmpi/sharing.h"
#include "util/util.h"

#include <dlfcn.h>
#include <stdbool.h>
#include <stdlib.h>

struct qmpi_opening {
    struct qmpi_layer *layer;
    char *path;
    struct qmpi_group *group; /* changed only while the loader's list stands still */
    bool ended;
    struct qmpi_opening *next;
};

static struct qmpi_opening *openings; /* grows only: by one for each library that is new */

struct qmpi_opening *qmpi_opening_begin(struct qmpi_layer *layer, const char *path)
{
    struct qmpi_opening *opening = qmpi_allocate(1, sizeof *opening);
    opening->layer = layer;
    opening->path = qmpi_copy(path);
    opening->next = __atomic_load_n(&openings, __ATOMIC_ACQUIRE);
    while (!__atomic_compare_exchange_n(&openings, &opening->next, opening, false, __ATOMIC_RELEASE,
                                        __ATOMIC_ACQUIRE))
        continue;
    return opening;
}

struct question {
    struct qmpi_opening *opening;
    const char *path;    /* the loader's name of the library */
    const void *address; /* make a group if this lies in it; NULL: in any case */
};

static void make_group(void *data, struct qmpi_closure *closure)
{
    const struct question *question = data;
    const int first = qmpi_closure_find(closure, question->path);
    if (question->opening->group || first < 0 || closure->objects[first].owned)
        return;
    int count;
    struct qmpi_elf_loaded *members = qmpi_closure_members(closure, first, &count);
    bool wanted = !question->address;
    for (int i = 0; i < count && !wanted; i++)
        wanted = qmpi_elf_loaded_contains(&members[i], question->address);
    if (wanted) {
        struct qmpi_layer *layer = question->opening->layer;
        char *shares = qmpi_shares(closure, first, layer);
        __atomic_store_n(&question->opening->group, qmpi_group_make(layer, members, count, shares),
                         __ATOMIC_RELEASE);
    }
    free(members);
}

struct qmpi_group *qmpi_opening_end(struct qmpi_opening *opening, void *handle)
{
    struct link_map *map = NULL;
    if (handle && dlinfo(handle, RTLD_DI_LINKMAP, &map) == 0) {
        struct question question = {opening, map->l_name, NULL};
        qmpi_closure_use(map->l_name, make_group, &question);
    }
    __atomic_store_n(&opening->ended, true, __ATOMIC_RELEASE);
    return opening->group;
}

/* As long as code of the library does not run, not all of its closure may be there: but then no
 * address of it is asked for. */
static void look_into(struct qmpi_opening *opening, const void *address)
{
    struct question question = {opening, opening->path, address};
    if (!__atomic_load_n(&opening->ended, __ATOMIC_ACQUIRE) &&
        !__atomic_load_n(&opening->group, __ATOMIC_ACQUIRE))
        qmpi_closure_use(opening->path, make_group, &question);
}

/* Whoever makes a group meanwhile, this thread or another, for this address or another: the answer
 * is the group that holds the address. */
struct qmpi_group *qmpi_opening_group_of(const void *address)
{
    struct qmpi_opening *opening = __atomic_load_n(&openings, __ATOMIC_ACQUIRE);
    struct qmpi_group *group = qmpi_group_of(address);
    for (; opening && !group; opening = opening->next)
        look_into(opening, address);
    return group ? group : qmpi_group_of(address);
}

struct adoption {
    struct qmpi_layer *layer;
    const struct qmpi_elf_loaded *object;
    struct qmpi_group *group;
};

static void adopt(void *data, struct qmpi_closure *closure)
{
    struct adoption *adoption = data;
    const int first = qmpi_closure_at(closure, adoption->object->base);
    if (first < 0)
        return;
    int count;
    struct qmpi_elf_loaded *members = qmpi_closure_members(closure, first, &count);
    char *shares = qmpi_shares(closure, first, adoption->layer);
    adoption->group = qmpi_group_make(adoption->layer, members, count, shares);
    free(members);
}

struct qmpi_group *qmpi_opening_adopt(struct qmpi_layer *layer,
                                      const struct qmpi_elf_loaded *object)
{
    struct adoption adoption = {layer, object, NULL};
    /* The program may have opened it, and may close it. */
    dlopen(object->name, RTLD_LAZY | RTLD_NOLOAD | RTLD_NODELETE);
    qmpi_closure_use(NULL, adopt, &adoption);
    return adoption.group ? adoption.group : qmpi_group_make(layer, object, 1, NULL);
}
