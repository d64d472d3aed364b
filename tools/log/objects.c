/* SPDX-License-Identifier: MIT */
/* See objects.h. */
#define _GNU_SOURCE
#include "objects.h"

#include "toolkit/toolkit.h"
#include "util/util.h"

#include <stdlib.h>
#include <string.h>

struct object {
    QMPIX_Kind kind;
    uint64_t handle;
    char *name;        /* NULL: none */
    const char *maker; /* NULL: not known */
    bool is_shared;    /* by makers */
    bool is_met;
    struct processes processes;
    struct object *next;
};

void objects_make(struct objects *objects)
{
    pthread_mutex_init(&objects->lock, NULL);
}

/* What interrupts the log's own work may have struck it with the lock: it does without names. */
static bool take_lock(struct objects *objects)
{
    return !(thread_level_interrupts() ? pthread_mutex_trylock(&objects->lock)
                                       : pthread_mutex_lock(&objects->lock));
}

static void give_lock(struct objects *objects)
{
    pthread_mutex_unlock(&objects->lock);
}

static uint64_t number_of(const void *from, size_t size)
{
    uint64_t number = 0;
    memcpy(&number, from, size < sizeof number ? size : sizeof number);
    return number;
}

/* Where the object is, or where it would be. */
static struct object **find(struct objects *objects, QMPIX_Kind kind, uint64_t handle)
{
    const uint64_t hash = (handle ^ handle >> 7 ^ handle >> 21) + (uint64_t)kind * 31;
    struct object **place = &objects->buckets[hash % 256];
    while (*place && ((*place)->handle != handle || (*place)->kind != kind))
        place = &(*place)->next;
    return place;
}

static struct object *get(struct objects *objects, QMPIX_Kind kind, uint64_t handle)
{
    struct object **place = find(objects, kind, handle);
    if (*place)
        return *place;
    struct object *object = objects->free;
    if (object)
        objects->free = object->next;
    else
        object = qmpi_arena_take(sizeof *object);
    if (object)
        *object = (struct object){.kind = kind, .handle = handle};
    return *place = object;
}

static void drop(struct objects *objects, struct object **place)
{
    struct object *gone = *place;
    *place = gone->next;
    free(gone->name);
    gone->next = objects->free;
    objects->free = gone;
}

void objects_name(struct objects *objects, QMPIX_Kind kind, const void *from, size_t size,
                  const char *name)
{
    if (!take_lock(objects))
        return;
    char *copy = *name ? strdup(name) : NULL;
    struct object *object = get(objects, kind, number_of(from, size));
    if (object) {
        free(object->name);
        object->name = copy;
    }
    give_lock(objects);
    if (!object)
        free(copy);
}

void objects_made(struct objects *objects, QMPIX_Kind kind, const void *from, size_t size,
                  const char *maker)
{
    if (!take_lock(objects))
        return;
    struct object *object = get(objects, kind, number_of(from, size));
    if (object && object->maker && strcmp(object->maker, maker) != 0)
        object->is_shared = true;
    if (object)
        object->maker = maker;
    give_lock(objects);
}

void objects_forget(struct objects *objects, QMPIX_Kind kind, const void *from, size_t size)
{
    if (!take_lock(objects))
        return;
    struct object **place = find(objects, kind, number_of(from, size));
    if (*place && !(*place)->is_shared)
        drop(objects, place);
    give_lock(objects);
}

void objects_forget_all(struct objects *objects)
{
    if (!take_lock(objects))
        return;
    for (size_t i = 0; i < sizeof objects->buckets / sizeof *objects->buckets; i++) {
        while (objects->buckets[i])
            drop(objects, &objects->buckets[i]);
    }
    give_lock(objects);
}

void objects_add_name(struct objects *objects, struct text *text, QMPIX_Kind kind, const void *from,
                      size_t size)
{
    if (!take_lock(objects))
        return;
    const struct object *object = *find(objects, kind, number_of(from, size));
    if (object && object->name) {
        text_quoted(text, object->name, strlen(object->name), false);
        text_char(text, '@');
    } else if (object && object->maker && !object->is_shared) {
        text_string(text, object->maker);
        text_char(text, '@');
    }
    give_lock(objects);
}

/* ---- Communicators --------------------------------------------------------------------------- */

static void ask_topology(MPI_Comm comm, struct processes *processes)
{
    int topology = MPI_UNDEFINED, weighted;
    PMPI_Topo_test(comm, &topology);
    if (topology == MPI_CART) {
        PMPI_Cartdim_get(comm, &processes->dimensions);
        processes->indegree = processes->outdegree = 2 * processes->dimensions;
    } else if (topology == MPI_GRAPH) {
        PMPI_Graph_neighbors_count(comm, processes->rank, &processes->indegree);
        processes->outdegree = processes->indegree;
    } else if (topology == MPI_DIST_GRAPH) {
        PMPI_Dist_graph_neighbors_count(comm, &processes->indegree, &processes->outdegree,
                                        &weighted);
    }
}

static void ask(MPI_Comm comm, struct processes *processes)
{
    int inter = 0;
    *processes = (struct processes){.indegree = -1, .outdegree = -1, .dimensions = -1};
    PMPI_Comm_test_inter(comm, &inter);
    PMPI_Comm_size(comm, &processes->local);
    PMPI_Comm_rank(comm, &processes->rank);
    processes->peers = processes->local;
    processes->is_inter = inter != 0;
    if (inter)
        PMPI_Comm_remote_size(comm, &processes->peers);
    else
        ask_topology(comm, processes);
}

void objects_meet(struct objects *objects, MPI_Comm comm)
{
    struct processes processes;
    if (comm == MPI_COMM_NULL || objects_processes(objects, comm, &processes))
        return;
    ask(comm, &processes);
    if (!take_lock(objects))
        return;
    struct object *object = get(objects, QMPIX_KIND_COMM, number_of(&comm, sizeof comm));
    if (object) {
        object->processes = processes;
        object->is_met = true;
    }
    give_lock(objects);
}

bool objects_processes(struct objects *objects, MPI_Comm comm, struct processes *processes)
{
    if (!take_lock(objects))
        return false;
    const struct object *object = *find(objects, QMPIX_KIND_COMM, number_of(&comm, sizeof comm));
    const bool is_met = object && object->is_met;
    if (is_met)
        *processes = object->processes;
    give_lock(objects);
    return is_met;
}
