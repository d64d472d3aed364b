/* SPDX-License-Identifier: MIT */
/*
 * See gather.h. A binomial tree: each rank merges one child's result after the other into its own
 * and passes on the sum, so that no rank has more than its own part of the tree and one child's.
 */
#include "collect/gather.h"

#include "collect/pack.h"
#include "collect/snapshot.h"
#include "profile/profile.h"
#include "save/process_report.h"
#include "util/util.h"

#include <stdlib.h>
#include <string.h>

enum { TAG = 1, PART = 1 << 30 };

/* What is to be said at the end, of all ranks at once. */
struct notice {
    unsigned long long on;        /* ranks on which the layer has been switched on */
    unsigned long long lost;      /* ranks whose data are missing */
    unsigned long long unmatched; /* ends of regions that were not open */
    int unmatched_rank;           /* the lowest rank of one, and the first it had */
    char unmatched_name[128];
};

/* What goes ahead of a result. */
struct head {
    unsigned long long size; /* 0: memory is out, there is no result */
    struct notice notice;
};

static void add_notice(struct notice *sum, const struct notice *more)
{
    sum->on += more->on;
    sum->lost += more->lost;
    if (more->unmatched && (!sum->unmatched || more->unmatched_rank < sum->unmatched_rank)) {
        sum->unmatched_rank = more->unmatched_rank;
        memcpy(sum->unmatched_name, more->unmatched_name, sizeof sum->unmatched_name);
    }
    sum->unmatched += more->unmatched;
}

static struct notice process_notice(const struct layer *layer)
{
    struct notice notice = {.on = atomic_load(&layer->was_on),
                            .unmatched = layer->regions.unmatched,
                            .unmatched_rank = layer->rank};
    memcpy(notice.unmatched_name, layer->regions.first_unmatched, sizeof notice.unmatched_name);
    return notice;
}

static void say(const struct layer *layer, const struct notice *notice)
{
    if (notice->lost)
        qmpi_printf("profile (layer %d): out of memory: the data of at least %llu ranks is missing",
                    layer->tool_id, notice->lost);
    if (notice->unmatched)
        qmpi_printf("profile (layer %d): MPI_Pcontrol(-1, name) ended a region that was not open "
                    "%llu times, first \"%s\" on rank %d; ignored\n  hint: start the region with "
                    "MPI_Pcontrol(1, name) in the same process",
                    layer->tool_id, notice->unmatched, notice->unmatched_name,
                    notice->unmatched_rank);
}

/* A message may hold no more than an int counts. */
static bool pass(char *bytes, unsigned long long size, int other, bool sending, MPI_Comm comm)
{
    bool good = true;
    for (unsigned long long at = 0; at < size && good; at += PART) {
        const int part = size - at < PART ? (int)(size - at) : PART;
        good = sending ? PMPI_Send(bytes + at, part, MPI_BYTE, other, TAG, comm) == MPI_SUCCESS
                       : PMPI_Recv(bytes + at, part, MPI_BYTE, other, TAG, comm,
                                   MPI_STATUS_IGNORE) == MPI_SUCCESS;
    }
    return good;
}

/* Sends the result when the other side says that it has room for it. */
static bool send_result(struct profile_result *result, const struct notice *notice, int parent,
                        MPI_Comm comm)
{
    size_t size = 0;
    int room = 0;
    char *bytes = result ? profile_wire_pack(result, &size) : NULL;
    struct head head = {size, *notice};
    if (result && !bytes)
        head.notice.lost += (unsigned long long)result->ranks;
    bool good = PMPI_Send(&head, sizeof head, MPI_BYTE, parent, TAG, comm) == MPI_SUCCESS;
    if (good && bytes)
        good = PMPI_Recv(&room, 1, MPI_INT, parent, TAG, comm, MPI_STATUS_IGNORE) == MPI_SUCCESS;
    if (good && room)
        good = pass(bytes, size, parent, true, comm);
    free(bytes);
    return good;
}

/* Merges a child's result into *result. */
static bool take_result(struct profile_result **result, struct notice *notice, int child,
                        MPI_Comm comm)
{
    struct head head;
    if (PMPI_Recv(&head, sizeof head, MPI_BYTE, child, TAG, comm, MPI_STATUS_IGNORE) != MPI_SUCCESS)
        return false;
    add_notice(notice, &head.notice);
    if (!head.size)
        return true;
    char *bytes = malloc(head.size);
    const int room = bytes != NULL;
    bool good = PMPI_Send(&room, 1, MPI_INT, child, TAG, comm) == MPI_SUCCESS;
    if (good && room)
        good = pass(bytes, head.size, child, false, comm);
    struct profile_result *its = good && room ? profile_wire_unpack(bytes, head.size) : NULL;
    free(bytes);
    const int ranks = its ? its->ranks : 0;
    if (its && !*result)
        *result = its;
    else if (!its || !profile_merge(*result, its))
        notice->lost += ranks ? (unsigned long long)ranks : 1;
    return good;
}

/* False: MPI would not. */
static bool gather(struct layer *layer, MPI_Comm comm)
{
    int rank, size;
    struct notice notice = process_notice(layer);
    if (PMPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN) != MPI_SUCCESS ||
        PMPI_Comm_rank(comm, &rank) != MPI_SUCCESS || PMPI_Comm_size(comm, &size) != MPI_SUCCESS)
        return false;
    struct profile_result *result = build_result(layer, NULL, false);
    bool good = true;
    notice.lost = result == NULL;
    for (int distance = 1; distance < size && good; distance *= 2) {
        if (rank & distance) {
            good = send_result(result, &notice, rank - distance, comm);
            break;
        }
        if (rank + distance < size)
            good = take_result(&result, &notice, rank + distance, comm);
    }
    const bool reports = good && rank == 0 && notice.on;
    if (reports)
        say(layer, &notice);
    if (reports && result) {
        process_remove_checkpoint(
            layer); /* first: with %r in output= it may have the result's name */
        process_write_all(layer, result);
        result = NULL;
    }
    profile_result_free(result);
    return good;
}

static void finish(struct layer *layer, bool good)
{
    if (!good)
        return; /* this process reports for itself when it exits */
    atomic_store(&layer->reported, true);
    process_remove_checkpoint(layer);
}

void gather_on(struct layer *layer, MPI_Comm comm)
{
    finish(layer, gather(layer, comm));
    PMPI_Comm_free(&comm);
}

void gather_world(struct layer *layer)
{
    MPI_Comm comm;
    if (tool_private_comm(&comm))
        gather_on(layer, comm);
}
