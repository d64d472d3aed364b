/* SPDX-License-Identifier: MIT */
/*
 * See gather.h. The ranks form a binomial tree. Each rank merges the results of its children into
 * its own, one after the other, and passes the sum on. So no rank holds more than the sum of its
 * own part of the tree and the result of one child.
 */
#include "tools/profile/collect/gather.h"

#include "tools/profile/collect/pack.h"
#include "tools/profile/collect/rank_result.h"
#include "tools/profile/collect/save.h"
#include "tools/profile/result/profile.h"
#include "util/util.h"

#include <stdlib.h>
#include <string.h>

/* The facts about all ranks that the first one prints at the end. */
struct notice {
    unsigned long long on;        /* the number of ranks on which the layer has been switched on */
    unsigned long long lost;      /* a lower bound of the number of ranks whose data is missing */
    unsigned long long unmatched; /* the number of ends of regions that were not open */
    int unmatched_rank;           /* the lowest rank with such an end */
    char unmatched_name[128];     /* the region of the first such end on this rank */
};

/* The message that precedes a result. */
struct head {
    unsigned long long size; /* in bytes; 0: memory was exhausted, and no result follows */
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

static void print_notice(const struct layer *layer, const struct notice *notice)
{
    if (notice->lost)
        qmpi_printf(
            "profile (layer %d): out of memory: the data of at least %llu rank%s is missing",
            layer->tool_id, notice->lost, notice->lost == 1 ? "" : "s");
    if (notice->unmatched)
        qmpi_printf(
            "profile (layer %d): MPI_Pcontrol(-1, name) was called %llu time%s for a region "
            "that was not open (first \"%s\", on rank %d); these calls are ignored\n"
            "  hint: start the region with MPI_Pcontrol(1, name) in the same process",
            layer->tool_id, notice->unmatched, notice->unmatched == 1 ? "" : "s",
            notice->unmatched_name, notice->unmatched_rank);
}

/* Sends the result to the parent, provided that the parent replies that it has room. Returns false
 * if an MPI call failed. */
static bool send_result(struct profile_result *result, const struct notice *notice, int parent,
                        MPI_Comm comm)
{
    size_t size = 0;
    int room = 0;
    char *bytes = result ? pack_make(result, &size) : NULL;
    struct head head = {size, *notice};
    if (result && !bytes)
        head.notice.lost += (unsigned long long)result->ranks;
    bool good = tool_world_send(comm, parent, &head, sizeof head);
    if (good && bytes)
        good = tool_world_receive(comm, parent, &room, sizeof room);
    if (good && room)
        good = tool_world_send(comm, parent, bytes, size);
    free(bytes);
    return good;
}

struct merging {
    struct profile_result **result;
    char *bytes;
    size_t size;
    unsigned long long lost; /* the number of ranks whose data could not be merged */
};

static void merge_child(void *data)
{
    struct merging *merging = data;
    struct profile_result **result = merging->result;
    struct profile_result *its = pack_read(merging->bytes, merging->size);
    const int ranks = its ? its->ranks : 0;
    if (its && !*result) {
        *result = its;
        merging->lost = 0;
    } else {
        merging->lost = its && profile_merge(*result, its) ? 0
                        : ranks                            ? (unsigned long long)ranks
                                                           : 1;
    }
}

/* Merges a child's result into *result. Returns false if an MPI call failed. */
static bool take_result(struct profile_result **result, struct notice *notice, int child,
                        MPI_Comm comm)
{
    struct head head;
    if (!tool_world_receive(comm, child, &head, sizeof head))
        return false;
    add_notice(notice, &head.notice);
    if (!head.size)
        return true;
    char *bytes = malloc(head.size);
    const int room = bytes != NULL;
    bool good = tool_world_send(comm, child, &room, sizeof room);
    if (good && room)
        good = tool_world_receive(comm, child, bytes, head.size);
    struct merging merging = {result, bytes, head.size, 1};
    if (good && room)
        qmpi_call_stack_run(merge_child, &merging);
    free(bytes);
    notice->lost += merging.lost;
    return good;
}

struct building {
    struct layer *layer;
    struct profile_result *result;
};

static void make_own_result(void *data)
{
    struct building *building = data;
    building->result = rank_result_make(building->layer, NULL, false);
}

/* Returns false if an MPI call failed. */
QMPI_COMPUTES static bool gather_ranks(struct layer *layer, MPI_Comm comm)
{
    int rank, size;
    struct notice notice = process_notice(layer);
    if (PMPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN) != MPI_SUCCESS ||
        PMPI_Comm_rank(comm, &rank) != MPI_SUCCESS || PMPI_Comm_size(comm, &size) != MPI_SUCCESS)
        return false;
    struct building building = {layer, NULL};
    qmpi_call_stack_run(make_own_result, &building);
    struct profile_result *result = building.result;
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
        print_notice(layer, &notice);
    if (reports && result) {
        /* If output= contains %r, the checkpoint may have the same name as the result. Therefore,
         * the checkpoint is removed before the result is written, and no further one may follow.
         * Otherwise, finish_gather would remove the result. */
        save_stop_checkpoints(layer);
        save_remove_checkpoint(layer);
        save_job_result(layer, result);
        result = NULL;
    }
    profile_result_free(result);
    return good;
}

static void finish_gather(struct layer *layer, bool good)
{
    save_stop_checkpoints(layer);
    if (!good)
        return; /* This process writes its own result when it exits. */
    atomic_store(&layer->reported, true);
    save_remove_checkpoint(layer);
}

static bool gather_and_finish(struct layer *layer, MPI_Comm comm)
{
    struct qmpi_arithmetic before;
    qmpi_arithmetic_begin(&before);
    const bool good = gather_ranks(layer, comm);
    qmpi_arithmetic_end(&before);
    finish_gather(layer, good);
    PMPI_Comm_free(&comm);
    return good;
}

void gather_on(struct layer *layer, MPI_Comm comm)
{
    gather_and_finish(layer, comm);
}

void gather_world(struct layer *layer)
{
    MPI_Comm comm;
    layer->has_failed =
        !tool_world_create_comm(layer->tool_id, &comm) || !gather_and_finish(layer, comm);
    save_stop_checkpoints(layer); /* also without a communicator */
}
