/* SPDX-License-Identifier: MIT */
/*
 * The processes of an archive, by rank. Of ranks that only communicators name, because they were
 * not recorded, the archive has a process without events: the other ranks keep their numbers.
 */
#include "trace/otf2/plan_parts.h"

#include "trace/event.h"

#include <stdlib.h>
#include <string.h>

/* ---- Processes ------------------------------------------------------------------------------- */

static int compare_ranks(const void *a, const void *b)
{
    const struct archive_rank *one = a, *other = b;
    const int64_t first = one->rank < 0 ? INT64_MAX : one->rank,
                  second = other->rank < 0 ? INT64_MAX : other->rank;
    if (first != second)
        return first < second ? -1 : 1;
    /* One that has a part first; those without a rank by location. */
    if (!one->part != !other->part)
        return one->part ? -1 : 1;
    return one->location < other->location ? -1 : one->location > other->location;
}

static bool add_rank(struct archive_plan *plan, size_t *room, struct archive_rank rank)
{
    struct archive_rank *ranks = trace_grow(plan->ranks, plan->rank_count, room, sizeof *ranks);
    plan->failed |= !ranks;
    if (!ranks)
        return false;
    plan->ranks = ranks;
    ranks[plan->rank_count++] = rank;
    return true;
}

/* Of a communicator of which no process was seen yet: each of its members once. All that are not
 * known are one. */
static void add_members(struct archive_plan *plan, size_t *room, struct trace_map *seen,
                        const int *group, int size)
{
    for (int i = 0; group && i < size; i++) {
        const int rank = group[i] < 0 ? TRACE_UNDEFINED : group[i];
        bool is_new = false;
        trace_map_add(seen, &rank, sizeof rank, &is_new);
        if (is_new && !add_rank(plan, room, (struct archive_rank){.rank = rank}))
            return;
    }
}

/* Numbers of threads in the archive that other processes do not have. */
static void number_missing(struct archive_plan *plan)
{
    struct trace_map used = {0};
    for (size_t i = 0; i < plan->rank_count; i++) {
        if (plan->ranks[i].part)
            trace_map_add(&used, &plan->ranks[i].location, sizeof(uint64_t), NULL);
    }
    for (size_t i = 0; i < plan->rank_count; i++) {
        struct archive_rank *rank = &plan->ranks[i];
        if (rank->part)
            continue;
        bool is_free = false;
        for (rank->location = rank->rank < 0 ? plan->rank_count : (uint64_t)rank->rank;
             !is_free && !used.failed; rank->location++)
            trace_map_add(&used, &rank->location, sizeof(uint64_t), &is_free);
        rank->location--;
    }
    plan->failed |= used.failed;
    trace_map_clear(&used);
}

void plan_find_ranks(struct archive_plan *plan)
{
    struct trace_map seen = {0}, comms = {0};
    size_t room = 0, count = 0;
    for (size_t i = 0; i < plan->part_count && !plan->failed; i++) {
        const struct archive_part *part = &plan->parts[i];
        int rank = part->process ? part->process->rank : (int)part->location;
        bool is_new = true;
        if (rank >= 0)
            trace_map_add(&seen, &rank, sizeof rank, &is_new);
        else
            rank = TRACE_UNDEFINED;
        add_rank(plan, &room,
                 (struct archive_rank){is_new ? rank : TRACE_UNDEFINED, part, part->location});
    }
    for (size_t i = 0; i < plan->part_count && !plan->failed; i++) {
        const struct trace_process *process = plan->parts[i].process;
        for (size_t k = 0; process && k < process->comm_count; k++) {
            const struct trace_comm *comm = &process->comms[k];
            bool is_new = true;
            if (comm->id)
                trace_map_add(&comms, &comm->id, sizeof comm->id, &is_new);
            if (is_new) {
                add_members(plan, &room, &seen, comm->group, comm->size);
                add_members(plan, &room, &seen, comm->remote, comm->remote_size);
            }
        }
    }
    plan->failed |= seen.failed || comms.failed;
    count = plan->rank_count;
    trace_map_clear(&seen);
    trace_map_clear(&comms);
    if (count)
        qsort(plan->ranks, count, sizeof *plan->ranks, compare_ranks);
    number_missing(plan);
}

uint64_t plan_find_rank(const struct archive_plan *plan, int rank)
{
    const struct archive_rank *ranks = plan->ranks;
    if (rank < 0) { /* the last one, if it is not known which */
        const struct archive_rank *last = plan->rank_count ? &ranks[plan->rank_count - 1] : NULL;
        return last && last->rank < 0 && !last->part ? plan->rank_count - 1 : 0;
    }
    if ((size_t)rank < plan->rank_count && ranks[rank].rank == rank) /* as in most traces */
        return (uint64_t)rank;
    size_t begin = 0, end = plan->rank_count;
    while (begin < end) {
        const size_t middle = begin + (end - begin) / 2;
        if (ranks[middle].rank == rank)
            return middle;
        if (ranks[middle].rank < 0 || ranks[middle].rank > rank)
            end = middle;
        else
            begin = middle + 1;
    }
    return 0;
}
