/* SPDX-License-Identifier: MIT */
/* See comms.h. */
#include "record/comms.h"

#include "layer.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

bool comms_make(struct comms *comms)
{
    *comms = (struct comms){.handles = {.changes = 1}, .world = MPI_GROUP_NULL};
    return table_make(&comms->freed, 3, sizeof(struct freed_comm));
}

void comms_begin(struct layer *layer, MPI_Session session)
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
        comms_meet(layer, MPI_COMM_WORLD); /* the first call on it may never end */
}

/* ---- What a communicator is ------------------------------------------------------------------ */

/* The same for the same processes in any order, so that both sides of an intercommunicator agree.
 */
static void add_member(struct comm *comm, int world)
{
    uint64_t word = (uint64_t)(unsigned)world + 1;
    word *= UINT64_C(0x9e3779b97f4a7c15);
    word ^= word >> 32;
    word *= UINT64_C(0xbf58476d1ce4e5b9);
    comm->members += word ^ word >> 29;
    if (world >= 0 && (comm->first < 0 || world < comm->first))
        comm->first = world;
}

static void add_members(struct comm *comm, MPI_Group group, MPI_Group world)
{
    enum { PART = 256 };
    int size, ranks[PART], theirs[PART];
    if (PMPI_Group_size(group, &size) != MPI_SUCCESS)
        return;
    comm->size += size;
    for (int from = 0; from < size && world != MPI_GROUP_NULL; from += PART) {
        const int count = size - from < PART ? size - from : PART;
        for (int i = 0; i < count; i++)
            ranks[i] = from + i;
        if (PMPI_Group_translate_ranks(group, count, ranks, world, theirs) != MPI_SUCCESS)
            return;
        for (int i = 0; i < count; i++)
            add_member(comm, theirs[i] == MPI_UNDEFINED ? -1 : theirs[i]);
    }
}

static void describe(struct comm *comm, MPI_Comm handle, MPI_Group world)
{
    MPI_Group group;
    int is_inter = 0, length;
    *comm = (struct comm){.handle = handle, .live = true, .first = -1};
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
}

/* ---- Numbers --------------------------------------------------------------------------------- */

static struct comm *comm_at(const struct comms *comms, int number)
{
    return comms->numbers.objects[number];
}

static int new_number(struct comms *comms)
{
    const int number = numbering_take(&comms->numbers);
    if (number < 0 || comm_at(comms, number))
        return number;
    comms->numbers.objects[number] = calloc(1, sizeof(struct comm));
    if (comm_at(comms, number))
        return number;
    numbering_release(&comms->numbers, number);
    return -1;
}

/* MPI is asked before the lock is taken: no MPI call under it. */
int comms_meet(struct layer *layer, MPI_Comm handle)
{
    struct comms *comms = &layer->comms;
    struct comm comm;
    if (handle == MPI_COMM_NULL)
        return -1;
    describe(&comm, handle, comms->world);
    pthread_mutex_lock(&layer->lock);
    int number = comms_find(comms, handle);
    if (number < 0 && (number = new_number(comms)) >= 0) {
        *comm_at(comms, number) = comm;
        if (!handles_set(&comms->handles, HANDLE_WORD(handle), number)) {
            comm_at(comms, number)->live = false;
            numbering_release(&comms->numbers, number);
            number = -1;
        }
    }
    pthread_mutex_unlock(&layer->lock);
    if (number < 0)
        threads_out_of_memory(layer->tool_id);
    return number;
}

void comms_rename(struct layer *layer, MPI_Comm handle, const char *name)
{
    const int number = comms_find(&layer->comms, handle);
    if (number < 0 || !name)
        return;
    pthread_mutex_lock(&layer->lock);
    char *copy = comm_at(&layer->comms, number)->name;
    strncpy(copy, name, MPI_MAX_OBJECT_NAME - 1);
    copy[MPI_MAX_OBJECT_NAME - 1] = '\0';
    pthread_mutex_unlock(&layer->lock);
}

/* ---- Freed ones ------------------------------------------------------------------------------ */

static struct freed_comm *group_of(struct table *freed, const struct comm *comm)
{
    const uint64_t key[3] = {table_hash_text(comm->name), (uint64_t)comm->size, comm->members};
    struct freed_comm *group = table_get(freed, key, 3);
    if (group && !group->instances)
        group->comm = *comm;
    return group;
}

static void sum_number(int tool_id, int number, struct stats *sum)
{
    for (const struct thread *thread = threads_first(tool_id); thread; thread = thread->next) {
        const struct numbered_row *row = table_seek(&thread->comms, (uint64_t)number);
        if (row)
            stats_add(sum, &row->stats);
    }
}

/* No other thread is in a call on a communicator that is being freed. */
static void clear_number(int tool_id, int number)
{
    for (struct thread *thread = threads_first(tool_id); thread; thread = thread->next) {
        struct numbered_row *row = table_seek(&thread->comms, (uint64_t)number);
        if (row)
            row->stats = (struct stats){0};
    }
}

int comms_begin_free(struct layer *layer, MPI_Comm handle)
{
    const int number = comms_find(&layer->comms, handle);
    if (number < 0)
        return -1;
    char name[MPI_MAX_OBJECT_NAME] = "";
    int length;
    PMPI_Comm_get_name(handle, name, &length);
    comms_rename(layer, handle, name);
    pthread_mutex_lock(&layer->lock);
    handles_remove(&layer->comms.handles, HANDLE_WORD(handle));
    pthread_mutex_unlock(&layer->lock);
    return number;
}

void comms_free(struct layer *layer, int number)
{
    struct comms *comms = &layer->comms;
    pthread_mutex_lock(&layer->lock);
    struct freed_comm *group = group_of(&comms->freed, comm_at(comms, number));
    if (group) {
        group->instances++;
        sum_number(layer->tool_id, number, &group->stats);
        clear_number(layer->tool_id, number);
        comm_at(comms, number)->live = false;
        numbering_release(&comms->numbers, number);
    }
    pthread_mutex_unlock(&layer->lock);
    if (!group)
        threads_out_of_memory(layer->tool_id);
}

/* ---- At the end ------------------------------------------------------------------------------ */

static bool add_flights(const struct comms *comms, const struct flights_seen *flights,
                        struct table *sum)
{
    for (size_t i = 0; i < flights->count; i++) {
        const struct flight_seen *flight = &flights->all[i];
        struct stats stats;
        const int number = flight->comm ? handles_find(&comms->handles, flight->comm) : -1;
        if (number < 0 || !flight_stats(flight, &stats))
            continue;
        struct freed_comm *group = group_of(sum, comm_at(comms, number));
        if (!group)
            return false;
        stats_add(&group->stats, &stats);
    }
    return true;
}

bool comms_sum(struct layer *layer, const struct flights_seen *flights, struct table *sum)
{
    struct comms *comms = &layer->comms;
    struct table_place place = {0};
    if (!table_make(sum, 3, sizeof(struct freed_comm)))
        return false;
    bool good = true;
    for (const struct freed_comm *freed; good && (freed = table_next(&comms->freed, &place));) {
        struct freed_comm *group = group_of(sum, &freed->comm);
        good = group != NULL;
        if (good) {
            group->instances = freed->instances;
            group->stats = freed->stats;
        }
    }
    for (int number = 0; good && number < comms->numbers.count; number++) {
        const struct comm *comm = comm_at(comms, number);
        if (!comm || !comm->live)
            continue;
        struct freed_comm *group = group_of(sum, comm);
        good = group != NULL;
        if (good) {
            group->instances++;
            sum_number(layer->tool_id, number, &group->stats);
        }
    }
    return good && add_flights(comms, flights, sum);
}

/* A communicator that was freed without our seeing it must not end the program: errors come back.
 */
static void read_names(struct layer *layer)
{
    struct comms *comms = &layer->comms;
    MPI_Errhandler world, self;
    const bool good = PMPI_Comm_get_errhandler(MPI_COMM_WORLD, &world) == MPI_SUCCESS &&
                      PMPI_Comm_get_errhandler(MPI_COMM_SELF, &self) == MPI_SUCCESS;
    if (!good)
        return;
    PMPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    PMPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
    for (int number = 0; number < comms->numbers.count; number++) {
        struct comm *comm = comm_at(comms, number);
        char name[MPI_MAX_OBJECT_NAME];
        int length;
        if (!comm || !comm->live || PMPI_Comm_get_name(comm->handle, name, &length) != MPI_SUCCESS)
            continue;
        pthread_mutex_lock(&layer->lock);
        memcpy(comm->name, name, sizeof name);
        pthread_mutex_unlock(&layer->lock);
    }
    PMPI_Comm_set_errhandler(MPI_COMM_WORLD, world);
    PMPI_Comm_set_errhandler(MPI_COMM_SELF, self);
    PMPI_Errhandler_free(&world);
    PMPI_Errhandler_free(&self);
}

void comms_end(struct layer *layer, bool names)
{
    if (names)
        read_names(layer);
    MPI_Group world = layer->comms.world;
    layer->comms.world = MPI_GROUP_NULL;
    if (world != MPI_GROUP_NULL)
        PMPI_Group_free(&world);
}
