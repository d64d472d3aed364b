/* SPDX-License-Identifier: MIT */
/* See objects.h. */
#define _GNU_SOURCE
#include "tools/log/objects.h"

#include "toolkit/toolkit.h"
#include "util/util.h"

#include <stdlib.h>
#include <string.h>

struct object {
    QMPIX_Kind kind;
    uint64_t handle;
    char *name;        /* NULL if it has none */
    const char *maker; /* NULL if it is not known */
    bool is_shared;    /* several functions have returned the handle */
    bool is_met;       /* `processes` is set */
    struct object_processes processes;
    struct object *next;
};

bool objects_make(struct objects *objects)
{
    pthread_mutex_init(&objects->lock, NULL);
    objects->bucket_count = 256;
    objects->buckets = qmpi_memory_take(objects->bucket_count * sizeof(struct object *));
    return objects->buckets != NULL;
}

/* Takes the lock. Returns false if this call interrupts the log's own work and the lock is held.
 * Waiting could last for ever, because the interrupted work may hold the lock. The call is then
 * printed without names. */
static bool lock_objects(struct objects *objects)
{
    return !(thread_level_interrupts() ? pthread_mutex_trylock(&objects->lock)
                                       : pthread_mutex_lock(&objects->lock));
}

static void unlock_objects(struct objects *objects)
{
    pthread_mutex_unlock(&objects->lock);
}

static uint64_t handle_number(const void *from, size_t size)
{
    uint64_t number = 0;
    memcpy(&number, from, size < sizeof number ? size : sizeof number);
    return number;
}

static struct object **bucket_of(const struct objects *objects, QMPIX_Kind kind, uint64_t handle)
{
    const uint64_t hash = (handle + (uint64_t)kind * 31) * UINT64_C(0x9e3779b97f4a7c15);
    return &objects->buckets[(hash >> 32) & (objects->bucket_count - 1)];
}

/* Doubles the number of buckets, because there can be very many objects, such as pending requests.
 * The former buckets are not freed, because memory from qmpi_memory_take never is. If memory is
 * exhausted, only the lists become longer. */
static void grow_buckets(struct objects *objects)
{
    struct objects larger = {.bucket_count = 2 * objects->bucket_count};
    larger.buckets = qmpi_memory_take(larger.bucket_count * sizeof *larger.buckets);
    if (!larger.buckets)
        return;
    for (size_t i = 0; i < objects->bucket_count; i++) {
        for (struct object *object = objects->buckets[i], *next; object; object = next) {
            struct object **bucket = bucket_of(&larger, object->kind, object->handle);
            next = object->next;
            object->next = *bucket;
            *bucket = object;
        }
    }
    objects->buckets = larger.buckets;
    objects->bucket_count = larger.bucket_count;
}

/* Returns the link that leads to the object, or the link to which it would be added. */
static struct object **find_object(struct objects *objects, QMPIX_Kind kind, uint64_t handle)
{
    struct object **place = bucket_of(objects, kind, handle);
    while (*place && ((*place)->handle != handle || (*place)->kind != kind))
        place = &(*place)->next;
    return place;
}

static struct object *provide_object(struct objects *objects, QMPIX_Kind kind, uint64_t handle)
{
    struct object **place = find_object(objects, kind, handle);
    if (*place)
        return *place;
    if (objects->count >= 2 * objects->bucket_count) {
        grow_buckets(objects);
        place = find_object(objects, kind, handle);
    }
    struct object *object = objects->free;
    if (object)
        objects->free = object->next;
    else
        object = qmpi_memory_take(sizeof *object);
    if (!object)
        return NULL;
    *object = (struct object){.kind = kind, .handle = handle};
    objects->count++;
    return *place = object;
}

static void drop_object(struct objects *objects, struct object **place)
{
    struct object *gone = *place;
    *place = gone->next;
    objects->count--;
    free(gone->name);
    gone->next = objects->free;
    objects->free = gone;
}

void objects_name(struct objects *objects, QMPIX_Kind kind, const void *from, size_t size,
                  const char *name)
{
    if (!lock_objects(objects))
        return;
    char *copy = *name ? strdup(name) : NULL;
    struct object *object = provide_object(objects, kind, handle_number(from, size));
    if (object) {
        free(object->name);
        object->name = copy;
    }
    unlock_objects(objects);
    if (!object)
        free(copy);
}

void objects_made(struct objects *objects, QMPIX_Kind kind, const void *from, size_t size,
                  const char *maker)
{
    if (!lock_objects(objects))
        return;
    struct object *object = provide_object(objects, kind, handle_number(from, size));
    if (object && object->maker && strcmp(object->maker, maker) != 0)
        object->is_shared = true;
    if (object)
        object->maker = maker;
    unlock_objects(objects);
}

void objects_forget(struct objects *objects, QMPIX_Kind kind, const void *from, size_t size)
{
    if (!lock_objects(objects))
        return;
    struct object **place = find_object(objects, kind, handle_number(from, size));
    if (*place && !(*place)->is_shared)
        drop_object(objects, place);
    unlock_objects(objects);
}

void objects_forget_all(struct objects *objects)
{
    if (!lock_objects(objects))
        return;
    for (size_t i = 0; i < objects->bucket_count; i++) {
        while (objects->buckets[i])
            drop_object(objects, &objects->buckets[i]);
    }
    unlock_objects(objects);
}

void objects_add_name(struct objects *objects, struct text *text, QMPIX_Kind kind, const void *from,
                      size_t size)
{
    if (!lock_objects(objects))
        return;
    const struct object *object = *find_object(objects, kind, handle_number(from, size));
    if (object && object->name) {
        text_quoted(text, object->name, strlen(object->name), false);
        text_char(text, '@');
    } else if (object && object->maker && !object->is_shared) {
        text_string(text, object->maker);
        text_char(text, '@');
    }
    unlock_objects(objects);
}

/* ---- Communicators --------------------------------------------------------------------------- */

static void query_topology(MPI_Comm comm, struct object_processes *processes)
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

static void query_comm(MPI_Comm comm, struct object_processes *processes)
{
    int inter = 0;
    *processes = (struct object_processes){.indegree = -1, .outdegree = -1, .dimensions = -1};
    PMPI_Comm_test_inter(comm, &inter);
    PMPI_Comm_size(comm, &processes->local);
    PMPI_Comm_rank(comm, &processes->rank);
    processes->peers = processes->local;
    processes->is_inter = inter != 0;
    if (inter)
        PMPI_Comm_remote_size(comm, &processes->peers);
    else
        query_topology(comm, processes);
}

void objects_meet(struct objects *objects, MPI_Comm comm)
{
    struct object_processes processes;
    if (comm == MPI_COMM_NULL || objects_processes(objects, comm, &processes))
        return;
    query_comm(comm, &processes);
    if (!lock_objects(objects))
        return;
    struct object *object =
        provide_object(objects, QMPIX_KIND_COMM, handle_number(&comm, sizeof comm));
    if (object) {
        object->processes = processes;
        object->is_met = true;
    }
    unlock_objects(objects);
}

bool objects_processes(struct objects *objects, MPI_Comm comm, struct object_processes *processes)
{
    if (!lock_objects(objects))
        return false;
    const struct object *object =
        *find_object(objects, QMPIX_KIND_COMM, handle_number(&comm, sizeof comm));
    const bool is_met = object && object->is_met;
    if (is_met)
        *processes = object->processes;
    unlock_objects(objects);
    return is_met;
}
