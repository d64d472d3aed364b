/* SPDX-License-Identifier: MIT */
/* See objects.h. */
#define _GNU_SOURCE
#include "tools/profile/record/objects.h"

#include "util/util.h"

#include <limits.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

/* A row of a table that maps the name of a file to its number. */
struct file_name_row {
    uint64_t key[2];      /* the hash and the length, which together identify a name */
    int64_t number_after; /* the number + 1; 0: no number was assigned yet */
};

bool objects_make(struct layer *layer)
{
    layer->comms = (struct layer_comms){.handles = {.changes = 1}, .world = MPI_GROUP_NULL};
    return table_make(&layer->comms.freed, 3, sizeof(struct layer_comm_sum)) &&
           table_make(&layer->files.numbers, 2, sizeof(struct file_name_row));
}

/* ---- Properties of a communicator ------------------------------------------------------------ */

/* Adds a process to the hash of the members. The hash does not depend on the order of the
 * processes, so that both sides of an intercommunicator get the same. */
static void add_member(struct layer_comm *comm, int world)
{
    uint64_t word = (uint64_t)(unsigned)world + 1;
    word *= UINT64_C(0x9e3779b97f4a7c15);
    word ^= word >> 32;
    word *= UINT64_C(0xbf58476d1ce4e5b9);
    comm->members += word ^ word >> 29;
    if (world >= 0 && (comm->first < 0 || world < comm->first))
        comm->first = world;
}

/* Makes room for the ranks of further processes. If memory is exhausted, the ranks of all processes
 * are unknown. */
static void extend_world(struct layer_comm *comm, int before, int size)
{
    int *world = before && !comm->world
                     ? NULL
                     : realloc(comm->world, (size_t)(before + size + 1) * sizeof *world);
    if (!world)
        free(comm->world);
    comm->world = world;
}

static void add_members(struct layer_comm *comm, MPI_Group group, MPI_Group world)
{
    enum { PART = 256 };
    int size, ranks[PART], theirs[PART];
    if (PMPI_Group_size(group, &size) != MPI_SUCCESS)
        return;
    const int before = comm->size;
    comm->size += size;
    comm->peers = size;
    if (world != MPI_GROUP_NULL)
        extend_world(comm, before, size);
    for (int from = 0; from < size && world != MPI_GROUP_NULL; from += PART) {
        const int count = size - from < PART ? size - from : PART;
        for (int i = 0; i < count; i++)
            ranks[i] = from + i;
        if (PMPI_Group_translate_ranks(group, count, ranks, world, theirs) != MPI_SUCCESS) {
            free(comm->world);
            comm->world = NULL;
            return;
        }
        for (int i = 0; i < count; i++) {
            const int its = theirs[i] == MPI_UNDEFINED ? -1 : theirs[i];
            add_member(comm, its);
            if (comm->world)
                comm->world[before + from + i] = its;
        }
    }
}

static void describe_comm(struct layer_comm *comm, MPI_Comm handle, MPI_Group world)
{
    MPI_Group group;
    QMPIX_Comm_identity identity = {.size = sizeof identity};
    int is_inter = 0, length;
    *comm = (struct layer_comm){.handle = handle, .live = true, .first = -1};
    PMPI_Comm_get_name(handle, comm->name, &length);
    PMPI_Comm_test_inter(handle, &is_inter);
    if (PMPI_Comm_group(handle, &group) == MPI_SUCCESS) {
        add_members(comm, group, world);
        PMPI_Group_free(&group);
    }
    if (is_inter && PMPI_Comm_remote_group(handle, &group) == MPI_SUCCESS) {
        add_members(comm, group, world);
        PMPI_Group_free(&group);
    }
    if (QMPIX_Comm_get_identity(handle, &identity) == MPI_SUCCESS)
        comm->id = identity.id;
}

/* ---- Numbers --------------------------------------------------------------------------------- */

/* Adds a communicator that is not live. Its number is unused, and `unused` has room for all
 * numbers, so that release_number cannot fail. Returns false if memory is exhausted. */
static bool add_comm(struct layer_comms *comms)
{
    const size_t count = (size_t)comms->count + 1;
    if (!QMPI_MEMORY_RESERVE(comms->all, comms->room, count) ||
        !QMPI_MEMORY_RESERVE(comms->unused, comms->unused_room, count))
        return false;
    struct layer_comm *comm = calloc(1, sizeof *comm);
    if (!comm)
        return false;
    comms->unused[comms->unused_count++] = comms->count;
    comms->all[comms->count++] = comm;
    return true;
}

/* Returns an unused number, or -1 if memory is exhausted. */
static int take_number(struct layer_comms *comms)
{
    if (!comms->unused_count && !add_comm(comms))
        return -1;
    return comms->unused[--comms->unused_count];
}

/* Returns whether a communicator has this number. The element may be NULL if a fatal signal has
 * interrupted add_comm. */
static bool is_live(const struct layer_comms *comms, int number)
{
    return comms->all[number] && comms->all[number]->live;
}

/* Makes the number of a communicator available for reuse. */
static void release_number(struct layer_comms *comms, int number)
{
    comms->all[number]->live = false;
    free(comms->all[number]->world);
    comms->all[number]->world = NULL;
    comms->unused[comms->unused_count++] = number;
}

/* MPI describes the communicator before the lock is taken, because no MPI call may be made while
 * the lock is held. */
int objects_meet_comm(struct layer *layer, MPI_Comm handle)
{
    struct layer_comms *comms = &layer->comms;
    struct layer_comm comm;
    if (handle == MPI_COMM_NULL)
        return -1;
    describe_comm(&comm, handle, comms->world);
    pthread_mutex_lock(&layer->lock);
    int number = objects_find_comm(comms, handle);
    const bool is_new = number < 0 && (number = take_number(comms)) >= 0;
    if (is_new) {
        *comms->all[number] = comm;
        if (!handles_set(&comms->handles, HANDLE_WORD(handle), number)) {
            release_number(comms, number);
            number = -1;
        }
    }
    pthread_mutex_unlock(&layer->lock);
    if (!is_new)
        free(comm.world);
    if (number < 0)
        threads_out_of_memory(layer->tool_id);
    return number;
}

void objects_rename_comm(struct layer *layer, MPI_Comm handle, const char *name)
{
    const int number = objects_find_comm(&layer->comms, handle);
    if (number < 0 || !name)
        return;
    pthread_mutex_lock(&layer->lock);
    char *copy = layer->comms.all[number]->name;
    strncpy(copy, name, MPI_MAX_OBJECT_NAME - 1);
    copy[MPI_MAX_OBJECT_NAME - 1] = '\0';
    pthread_mutex_unlock(&layer->lock);
}

/* ---- Freed communicators --------------------------------------------------------------------- */

/* Returns the row for communicators with this name and these processes, or NULL if memory is
 * exhausted. */
static struct layer_comm_sum *find_sum(struct table *sums, const struct layer_comm *comm)
{
    const uint64_t key[3] = {table_hash_text(comm->name), (uint64_t)comm->size, comm->members};
    struct layer_comm_sum *sum = table_get(sums, key, 3);
    if (sum && !sum->instances) {
        sum->comm = *comm;
        sum->comm.world = NULL; /* It is freed with the communicator. */
    }
    return sum;
}

/* Adds the figures of a live communicator, and counts it as an instance if a call on it has ended.
 */
static void sum_number(int tool_id, int number, struct layer_comm_sum *sum)
{
    struct thread_stats stats = {0};
    for (const struct thread_profile *thread = threads_first(tool_id); thread;
         thread = thread->next) {
        const struct thread_object_row *row = table_seek(&thread->comms, (uint64_t)number);
        if (row)
            thread_stats_add(&stats, &row->stats);
    }
    sum->instances += stats.calls > 0;
    thread_stats_add(&sum->stats, &stats);
}

/* This may write the figures of other threads, because no other thread may use a communicator while
 * it is being freed. */
static void clear_number(int tool_id, int number)
{
    for (struct thread_profile *thread = threads_first(tool_id); thread; thread = thread->next) {
        struct thread_object_row *row = table_seek(&thread->comms, (uint64_t)number);
        if (row)
            row->stats = (struct thread_stats){0};
    }
}

/* Returns whether a communicator exists. It may have been freed unseen, for example by another
 * tool. MPI itself is not asked, because it would invoke an error handler of the program if the
 * handle is invalid. The identity is asked for first: QMPIX_Comm_world_rank may need a further
 * communicator in a session, and MPI may have none left. */
static bool comm_exists(MPI_Comm handle)
{
    QMPIX_Comm_identity identity = {.size = sizeof identity};
    int world;
    return QMPIX_Comm_get_identity(handle, &identity) == MPI_SUCCESS ||
           QMPIX_Comm_world_rank(handle, 0, &world) == MPI_SUCCESS;
}

int objects_begin_free(struct layer *layer, MPI_Comm handle)
{
    const int number = objects_find_comm(&layer->comms, handle);
    if (number < 0)
        return -1;
    char name[MPI_MAX_OBJECT_NAME] = "";
    int length;
    if (comm_exists(handle) && PMPI_Comm_get_name(handle, name, &length) == MPI_SUCCESS)
        objects_rename_comm(layer, handle, name);
    pthread_mutex_lock(&layer->lock);
    handles_remove(&layer->comms.handles, HANDLE_WORD(handle));
    pthread_mutex_unlock(&layer->lock);
    return number;
}

void objects_free(struct layer *layer, int number)
{
    struct layer_comms *comms = &layer->comms;
    pthread_mutex_lock(&layer->lock);
    struct layer_comm_sum *sum = find_sum(&comms->freed, comms->all[number]);
    if (sum) {
        sum_number(layer->tool_id, number, sum);
        clear_number(layer->tool_id, number);
        release_number(comms, number);
    }
    pthread_mutex_unlock(&layer->lock);
    if (!sum)
        threads_out_of_memory(layer->tool_id);
}

/* ---- Results --------------------------------------------------------------------------------- */

bool objects_sum_comms(const struct layer *layer, struct table *sums)
{
    const struct layer_comms *comms = &layer->comms;
    struct table_place place = {0};
    if (!table_make(sums, 3, sizeof(struct layer_comm_sum)))
        return false;
    for (const struct layer_comm_sum *freed; (freed = table_next(&comms->freed, &place));) {
        struct layer_comm_sum *sum = find_sum(sums, &freed->comm);
        if (!sum)
            return false;
        sum->instances = freed->instances;
        sum->stats = freed->stats;
    }
    for (int number = 0; number < comms->count; number++) {
        if (!is_live(comms, number))
            continue;
        struct layer_comm_sum *sum = find_sum(sums, comms->all[number]);
        if (!sum)
            return false;
        sum_number(layer->tool_id, number, sum);
    }
    return true;
}

const struct layer_comm *objects_comm_of(const struct layer *layer, uint64_t handle)
{
    const struct layer_comms *comms = &layer->comms;
    const int number = handle ? handles_find(&comms->handles, handle) : -1;
    return number < 0 || !is_live(comms, number) ? NULL : comms->all[number];
}

bool objects_add_to_comm(const struct layer *layer, struct table *sums, uint64_t handle,
                         const struct thread_stats *stats)
{
    const struct layer_comms *comms = &layer->comms;
    const int number = handle ? handles_find(&comms->handles, handle) : -1;
    if (number < 0)
        return true;
    struct layer_comm_sum *sum = find_sum(sums, comms->all[number]);
    if (sum)
        thread_stats_add(&sum->stats, stats);
    return sum != NULL;
}

/* ---- Files ----------------------------------------------------------------------------------- */

static int assign_file_number(struct layer_files *files, const char *name)
{
    const size_t count = (size_t)files->count + 1;
    if (!QMPI_MEMORY_RESERVE(files->all, files->room, count))
        return -1;
    char *copy = strdup(name);
    if (!copy)
        return -1;
    files->all[files->count] = (struct layer_file){.name = copy};
    return files->count++;
}

static int get_file_number(struct layer_files *files, const char *name)
{
    const uint64_t key[2] = {table_hash_text(name), strlen(name)};
    struct file_name_row *row = table_get(&files->numbers, key, 2);
    if (!row)
        return -1;
    if (!row->number_after)
        row->number_after = assign_file_number(files, name) + 1;
    return (int)row->number_after - 1;
}

void objects_open_file(struct layer *layer, MPI_File handle, const char *name, bool counted)
{
    struct layer_files *files = &layer->files;
    pthread_mutex_lock(&layer->lock);
    const int number = get_file_number(files, name);
    const bool good = number >= 0 && handles_set(&files->handles, HANDLE_WORD(handle), number);
    if (good && counted)
        files->all[number].opens++;
    pthread_mutex_unlock(&layer->lock);
    if (!good)
        threads_out_of_memory(layer->tool_id);
}

int objects_begin_close(struct layer *layer, MPI_File file)
{
    const int number = objects_find_file(&layer->files, file);
    if (number < 0)
        return -1;
    pthread_mutex_lock(&layer->lock);
    handles_remove(&layer->files.handles, HANDLE_WORD(file));
    pthread_mutex_unlock(&layer->lock);
    return number;
}

void objects_sum_file(const struct layer *layer, int number, struct thread_stats *sum)
{
    for (const struct thread_profile *thread = threads_first(layer->tool_id); thread;
         thread = thread->next) {
        const struct thread_object_row *row = table_seek(&thread->files, (uint64_t)number);
        if (row)
            thread_stats_add(sum, &row->stats);
    }
}

/* ---- The beginning and end of MPI ------------------------------------------------------------ */

void objects_begin(struct layer *layer, MPI_Session session)
{
    MPI_Group group;
    int rank;
    if (!tool_world_group(session, &group))
        return;
    if (PMPI_Group_rank(group, &rank) == MPI_SUCCESS && rank >= 0)
        layer->rank = rank;
    pthread_mutex_lock(&layer->lock);
    MPI_Group old = layer->comms.world;
    layer->comms.world = group;
    pthread_mutex_unlock(&layer->lock);
    if (old != MPI_GROUP_NULL)
        PMPI_Group_free(&old);
    if (session == MPI_SESSION_NULL)
        /* Thus even a first call that never returns is listed with its communicator. */
        objects_meet_comm(layer, MPI_COMM_WORLD);
}

static void read_comm_names(struct layer *layer)
{
    struct layer_comms *comms = &layer->comms;
    for (int number = 0; number < comms->count; number++) {
        struct layer_comm *comm = comms->all[number];
        char name[MPI_MAX_OBJECT_NAME];
        int length;
        if (!is_live(comms, number) || !comm_exists(comm->handle) ||
            PMPI_Comm_get_name(comm->handle, name, &length) != MPI_SUCCESS)
            continue;
        pthread_mutex_lock(&layer->lock);
        memcpy(comm->name, name, sizeof name);
        pthread_mutex_unlock(&layer->lock);
    }
}

void objects_end(struct layer *layer, bool reads_names)
{
    if (reads_names)
        read_comm_names(layer);
    MPI_Group world = layer->comms.world;
    layer->comms.world = MPI_GROUP_NULL;
    if (world != MPI_GROUP_NULL)
        PMPI_Group_free(&world);
}
