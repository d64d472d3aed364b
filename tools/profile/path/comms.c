/* SPDX-License-Identifier: MIT */
/* See comms.h. */
#include "path/comms.h"

#include <stdlib.h>

/* ---- Creation -------------------------------------------------------------------------------- */

/* Takes the group. */
static bool is_within(MPI_Group group, MPI_Group world)
{
    MPI_Group rest = MPI_GROUP_EMPTY;
    int size = 1;
    if (PMPI_Group_difference(group, world, &rest) == MPI_SUCCESS) {
        PMPI_Group_size(rest, &size);
        if (rest != MPI_GROUP_EMPTY)
            PMPI_Group_free(&rest);
    }
    PMPI_Group_free(&group);
    return size == 0;
}

static bool is_of_world(MPI_Comm comm, bool is_inter, MPI_Group world)
{
    MPI_Group group;
    if (PMPI_Comm_group(comm, &group) != MPI_SUCCESS || !is_within(group, world))
        return false;
    return !is_inter ||
           (PMPI_Comm_remote_group(comm, &group) == MPI_SUCCESS && is_within(group, world));
}

/* By MPI_Comm_split, which unlike MPI_Comm_dup calls no attribute callbacks of the program. */
MPI_Comm path_comm_make_shadow(MPI_Comm comm, MPI_Group world)
{
    MPI_Comm shadow = MPI_COMM_NULL;
    int is_inter = 0, size = 0, rank = 0;
    PMPI_Comm_test_inter(comm, &is_inter);
    PMPI_Comm_size(comm, &size);
    PMPI_Comm_rank(comm, &rank);
    if ((size < 2 && !is_inter) ||
        (world != MPI_GROUP_NULL && !is_of_world(comm, is_inter != 0, world)) ||
        PMPI_Comm_split(comm, 0, rank, &shadow) != MPI_SUCCESS || shadow == MPI_COMM_NULL)
        return MPI_COMM_NULL;
    PMPI_Comm_set_errhandler(shadow, MPI_ERRORS_RETURN);
    return shadow;
}

/* ---- Numbers --------------------------------------------------------------------------------- */

void path_comm_add(struct path_comms *comms, MPI_Comm comm, MPI_Comm shadow, MPI_Comm neighbors,
                   int neighbor_count)
{
    struct path_comm *made = shadow == MPI_COMM_NULL ? NULL : malloc(sizeof *made);
    const int number = made ? numbering_take(&comms->numbers) : -1;
    int is_inter = 0;
    if (number < 0 || !handles_set(&comms->handles, HANDLE_WORD(comm), number)) {
        if (number >= 0)
            numbering_release(&comms->numbers, number);
        free(made); /* the other members cannot know that this one has none */
        return;
    }
    PMPI_Comm_test_inter(shadow, &is_inter);
    *made = (struct path_comm){.shadow = shadow,
                               .neighbors = neighbors,
                               .neighbor_count = neighbor_count,
                               .is_inter = is_inter != 0,
                               .serial = ++comms->created};
    comms->numbers.objects[number] = made;
}

/* ---- The end --------------------------------------------------------------------------------- */

/* Clocks of messages that were never received must not be taken for those of a later shadow. */
static void drain(MPI_Comm shadow)
{
    MPI_Status status;
    uint64_t value;
    int flag = 0;
    while (PMPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, shadow, &flag, &status) == MPI_SUCCESS && flag)
        PMPI_Recv(&value, 1, MPI_UINT64_T, status.MPI_SOURCE, status.MPI_TAG, shadow,
                  MPI_STATUS_IGNORE);
}

static void drop(struct path_comm *comm)
{
    drain(comm->shadow);
    if (comm->neighbors != MPI_COMM_NULL)
        PMPI_Comm_free(&comm->neighbors);
    PMPI_Comm_free(&comm->shadow);
    free(comm);
}

void path_comm_release(struct path_comm *comm)
{

    if (!--comm->users && comm->is_freed)
        drop(comm);
}

void path_comm_remove(struct path_comms *comms, MPI_Comm handle)
{
    const int number = handles_find(&comms->handles, HANDLE_WORD(handle));
    if (number < 0)
        return;
    struct path_comm *comm = comms->numbers.objects[number];
    handles_remove(&comms->handles, HANDLE_WORD(handle));
    comms->numbers.objects[number] = NULL;
    numbering_release(&comms->numbers, number);
    comm->is_freed = true;
    if (!comm->users)
        drop(comm);
}

static int compare_serials(const void *a, const void *b)
{
    const struct path_comm *one = *(struct path_comm *const *)a;
    const struct path_comm *other = *(struct path_comm *const *)b;
    if (!one || !other)
        return !one - !other;
    return one->serial < other->serial ? -1 : one->serial > other->serial;
}

/* In the order of their creation, which is the same on all members. */
void path_comms_end(struct path_comms *comms)
{
    struct numbering *numbers = &comms->numbers;
    if (numbers->count)
        qsort(numbers->objects, (size_t)numbers->count, sizeof *numbers->objects, compare_serials);
    for (int i = 0; i < numbers->count && numbers->objects[i]; i++)
        drop(numbers->objects[i]);
    numbers->count = numbers->spare_count = 0;
    *comms = (struct path_comms){.handles = comms->handles, .numbers = *numbers};
}
