/* SPDX-License-Identifier: MIT */
/* See comm_id.h. */
#include "observe/comm_id.h"

#include "observe/attributes.h"
#include "observe/occurrences.h"
#include "observe/record.h"
#include "observe/world.h"
#include "util/util.h"

#include <stdlib.h>

bool qmpi_comm_id_asked;

struct identity {
    uint64_t id; /* 0: not known yet (of the predefined communicators) */
    uint64_t parent;
    uint64_t members; /* a hash of their ranks in the world */
    int processes;
    uint64_t creations;                /* that were collective over the communicator */
    struct qmpi_occurrences by_groups; /* those that some of its members have called */
};

QMPI_LOCK(lock);

/* Without memory of their own, as their numbers of creations must never be lost. `none` has those
 * without a parent. */
static struct identity world, self, none;

/* ---- Hashes: the same on processors of any kind ---------------------------------------------- */

static uint64_t mix(uint64_t value)
{
    value += 0x9e3779b97f4a7c15;
    value = (value ^ value >> 30) * 0xbf58476d1ce4e5b9;
    value = (value ^ value >> 27) * 0x94d049bb133111eb;
    return value ^ value >> 31;
}

static uint64_t combine(uint64_t hash, uint64_t value)
{
    return mix(mix(hash) + value);
}

uint64_t qmpi_comm_id_of_text(const char *text)
{
    uint64_t hash = 1;
    for (; *text; text++)
        hash = combine(hash, (unsigned char)*text);
    return hash;
}

/* ---- Members --------------------------------------------------------------------------------- */

static bool hash_ranks(MPI_Group group, int count, uint64_t *hash)
{
    int *ranks = calloc(2 * (size_t)count + 1, sizeof *ranks);
    int *world_ranks = ranks + count;
    for (int i = 0; ranks && i < count; i++)
        ranks[i] = i;
    bool known = ranks && qmpi_world_translate(group, count, ranks, world_ranks);
    *hash = (uint64_t)count;
    for (int i = 0; known && i < count; i++) {
        known = world_ranks[i] != MPI_UNDEFINED;
        *hash = combine(*hash, (uint64_t)world_ranks[i]);
    }
    free(ranks);
    return known;
}

/* Takes the group, and adds its size to `processes`. */
static bool hash_group(MPI_Group group, int *processes, uint64_t *hash)
{
    int count = 0;
    QMPI_PMPI(Group_size, GROUP_SIZE)(group, &count);
    const bool known = hash_ranks(group, count, hash);
    *processes += count;
    QMPI_PMPI(Group_free, GROUP_FREE)(&group);
    return known;
}

/* Sets `members` and `processes`. The groups of an intercommunicator come in the same order on both
 * sides. False: some members are not in the world. */
static bool find_members(MPI_Comm comm, struct identity *identity)
{
    MPI_Group group;
    int inter = 0;
    uint64_t remote;
    if (QMPI_PMPI(Comm_test_inter, COMM_TEST_INTER)(comm, &inter) != MPI_SUCCESS ||
        QMPI_PMPI(Comm_group, COMM_GROUP)(comm, &group) != MPI_SUCCESS ||
        !hash_group(group, &identity->processes, &identity->members))
        return false;
    if (!inter)
        return true;
    if (QMPI_PMPI(Comm_remote_group, COMM_REMOTE_GROUP)(comm, &group) != MPI_SUCCESS ||
        !hash_group(group, &identity->processes, &remote))
        return false;
    const uint64_t local = identity->members;
    identity->members = local < remote ? combine(local, remote) : combine(remote, local);
    return true;
}

/* ---- Stored with the communicator ------------------------------------------------------------ */

static void drop(void *value)
{
    struct identity *identity = value;
    qmpi_occurrences_drop(&identity->by_groups);
    free(identity);
}

static struct qmpi_attribute attribute = QMPI_ATTRIBUTE(drop);

/* `name`: what it has in place of a parent and a number. */
static struct identity *find_predefined(struct identity *identity, MPI_Comm comm, uint64_t name)
{
    if (__atomic_load_n(&identity->id, __ATOMIC_ACQUIRE))
        return identity;
    pthread_mutex_lock(&lock);
    struct identity found = {.processes = 0};
    if (!identity->id && find_members(comm, &found)) {
        identity->members = found.members;
        identity->processes = found.processes;
        __atomic_store_n(&identity->id, combine(name, found.members), __ATOMIC_RELEASE);
    }
    pthread_mutex_unlock(&lock);
    return identity->id ? identity : NULL;
}

static struct identity *find(MPI_Comm comm)
{
    if (comm == MPI_COMM_WORLD)
        return find_predefined(&world, comm, 1);
    if (comm == MPI_COMM_SELF)
        return find_predefined(&self, comm, 2);
    return qmpi_attribute_of_comm(&attribute, comm);
}

static void set(MPI_Comm comm, const struct identity *found)
{
    struct identity *identity = malloc(sizeof *identity);
    if (!identity)
        return;
    *identity = *found;
    identity->id += !identity->id;
    qmpi_attribute_set_comm(&attribute, comm, identity);
}

/* ---- Creations ------------------------------------------------------------------------------- */

static uint64_t next_number(struct identity *parent)
{
    return __atomic_add_fetch(&parent->creations, 1, __ATOMIC_RELAXED);
}

static void set_child(MPI_Comm created, struct identity *child, const struct identity *parent,
                      uint64_t number)
{
    child->parent = parent->id;
    child->id = combine(combine(parent->id, number), child->members);
    set(created, child);
}

/* Of a nonblocking copy, only the handle may be used, for its attributes. */
void qmpi_comm_id_note_copy(MPI_Comm comm, MPI_Comm created)
{
    struct identity *parent = find(comm);
    if (!parent)
        return;
    const uint64_t number = next_number(parent);
    struct identity child = {.members = parent->members, .processes = parent->processes};
    if (created != MPI_COMM_NULL)
        set_child(created, &child, parent, number);
}

void qmpi_comm_id_note_part(MPI_Comm comm, MPI_Comm created)
{
    struct identity *parent = find(comm), child = {.processes = 0};
    if (!parent)
        return;
    const uint64_t number = next_number(parent);
    if (created != MPI_COMM_NULL && find_members(created, &child))
        set_child(created, &child, parent, number);
}

void qmpi_comm_id_note_group(MPI_Comm comm, MPI_Comm created, uint64_t tag)
{
    struct identity *parent = comm == MPI_COMM_NULL ? &none : find(comm), child = {.processes = 0};
    if (!parent || created == MPI_COMM_NULL || !find_members(created, &child))
        return;
    const uint64_t key = combine(child.members, tag);
    pthread_mutex_lock(&lock);
    const uint64_t number = qmpi_occurrences_count(&parent->by_groups, key);
    pthread_mutex_unlock(&lock);
    if (number) /* the key is no number of a creation that is collective over the parent */
        set_child(created, &child, parent, combine(key, number));
}

int QMPIX_Comm_get_identity(MPI_Comm comm, QMPIX_Comm_identity *identity)
{
    if (comm == MPI_COMM_NULL || !identity || identity->size < sizeof *identity)
        return MPI_ERR_ARG;
    const struct identity *found =
        qmpi_comm_id_asked && qmpi_world_may_hold(comm) ? find(comm) : NULL;
    if (!found)
        return MPI_ERR_OTHER;
    identity->id = found->id;
    identity->parent = found->parent;
    identity->processes = found->processes;
    return MPI_SUCCESS;
}
