/* SPDX-License-Identifier: MIT */
/* See merge_parts.h: the things that a result has arrays of. */
#include "profile/merge_parts.h"

#include <stdlib.h>
#include <string.h>

static int compare_numbers(uint64_t a, uint64_t b)
{
    return (a > b) - (a < b);
}

static int compare_ints(int a, int b)
{
    return (a > b) - (a < b);
}

/* ---- Functions ------------------------------------------------------------------------------- */

static int compare_functions(const void *mine, const void *its)
{
    const struct profile_function *a = mine, *b = its;
    return strcmp(a->name, b->name);
}

static void add_region_function(void *mine, const void *its, const struct sides *sides)
{
    struct profile_function *a = mine;
    struct profile_function gone = *(const struct profile_function *)its;
    merge_calls(&a->calls, &gone.calls, sides);
    a->ranks += gone.ranks;
    a->no_bytes += gone.no_bytes;
    for (int i = 0; i < PROFILE_SIZE_BINS; i++)
        a->sizes[i] += gone.sizes[i];
    for (int i = 0; i < PROFILE_TIME_BINS; i++)
        a->times[i] += gone.times[i];
    profile_function_clear(&gone);
}

static const struct merge_kind merge_region_functions = {
    sizeof(struct profile_function), compare_functions, NULL, add_region_function};

static bool prepare_function(void *mine, void *its, const struct sides *sides)
{
    struct profile_function *a = mine, *b = its;
    return merge_prepare_ranks(&a->by_rank, b ? &b->by_rank : NULL, sides);
}

static void add_function(void *mine, const void *its, const struct sides *sides)
{
    struct profile_function *a = mine, gone = *(const struct profile_function *)its;
    merge_ranks((struct merge_listed){&a->by_rank, &a->calls},
                (struct merge_listed){&gone.by_rank, &gone.calls}, sides);
    add_region_function(mine, its, sides);
}

const struct merge_kind merge_functions = {sizeof(struct profile_function), compare_functions,
                                           prepare_function, add_function};

/* ---- Call sites ------------------------------------------------------------------------------ */

static int compare_frames(const struct profile_frame *a, const struct profile_frame *b)
{
    const int order = compare_numbers(a->offset, b->offset);
    return order ? order : strcmp(a->module, b->module);
}

static int compare_callsites(const void *mine, const void *its)
{
    const struct profile_callsite *a = mine, *b = its;
    int order = strcmp(a->name, b->name), i = 0, k = 0;
    for (; !order; i++, k++) {
        while (i < a->frame_count && a->frames[i].inlined)
            i++;
        while (k < b->frame_count && b->frames[k].inlined)
            k++;
        if (i == a->frame_count || k == b->frame_count)
            return compare_ints(a->frame_count - i, b->frame_count - k);
        order = compare_frames(&a->frames[i], &b->frames[k]);
    }
    return order;
}

static int count_known(const struct profile_callsite *site)
{
    int count = 0;
    for (int i = 0; i < site->frame_count; i++)
        count += site->frames[i].function || site->frames[i].file;
    return count;
}

/* The frames of the side that knows more: files of a signal know only addresses. */
static void take_places(struct profile_callsite *mine, struct profile_callsite *its)
{
    if (count_known(its) <= count_known(mine))
        return;
    struct profile_frame *const frames = mine->frames;
    const int count = mine->frame_count;
    mine->frames = its->frames;
    mine->frame_count = its->frame_count;
    its->frames = frames;
    its->frame_count = count;
}

static bool prepare_callsite(void *mine, void *its, const struct sides *sides)
{
    struct profile_callsite *a = mine, *b = its;
    return merge_prepare_ranks(&a->by_rank, b ? &b->by_rank : NULL, sides) &&
           merge_prepare_waits(&a->waits, b ? &b->waits : NULL);
}

static void add_callsite(void *mine, const void *its, const struct sides *sides)
{
    struct profile_callsite *a = mine;
    struct profile_callsite gone = *(const struct profile_callsite *)its;
    merge_ranks((struct merge_listed){&a->by_rank, &a->calls},
                (struct merge_listed){&gone.by_rank, &gone.calls}, sides);
    merge_waits(&a->waits, &gone.waits, sides->every_rank);
    merge_calls(&a->calls, &gone.calls, sides);
    a->ranks += gone.ranks;
    a->messages += gone.messages;
    take_places(a, &gone);
    profile_callsite_clear(&gone);
}

const struct merge_kind merge_callsites = {sizeof(struct profile_callsite), compare_callsites,
                                           prepare_callsite, add_callsite};

/* ---- The matrix ------------------------------------------------------------------------------ */

static int compare_matrix_entries(const void *mine, const void *its)
{
    const struct profile_matrix_entry *a = mine, *b = its;
    const int order = compare_ints(a->from, b->from);
    return order ? order : compare_ints(a->to, b->to);
}

/* A rank's own sends and another one's reads from its window meet in one cell. */
static void add_matrix_entry(void *mine, const void *its, const struct sides *sides)
{
    struct profile_matrix_entry *a = mine;
    const struct profile_matrix_entry *b = its;
    (void)sides;
    a->messages += b->messages;
    a->bytes += b->bytes;
}

const struct merge_kind merge_matrix = {sizeof(struct profile_matrix_entry), compare_matrix_entries,
                                        NULL, add_matrix_entry};

/* ---- Communicators, files -------------------------------------------------------------------- */

static int compare_communicators(const void *mine, const void *its)
{
    const struct profile_communicator *a = mine, *b = its;
    int order = strcmp(a->name, b->name);
    if (!order)
        order = compare_ints(a->size, b->size);
    if (!order)
        order = compare_ints(a->first, b->first);
    return order ? order : compare_numbers(a->members, b->members);
}

static void add_communicator(void *mine, const void *its, const struct sides *sides)
{
    struct profile_communicator *a = mine;
    const struct profile_communicator *b = its;
    merge_calls(&a->calls, &b->calls, sides);
    if (b->instances > a->instances)
        a->instances = b->instances;
    free(b->name);
}

const struct merge_kind merge_communicators = {sizeof(struct profile_communicator),
                                               compare_communicators, NULL, add_communicator};

static int compare_files(const void *mine, const void *its)
{
    const struct profile_file *a = mine, *b = its;
    return strcmp(a->name, b->name);
}

static void add_file(void *mine, const void *its, const struct sides *sides)
{
    struct profile_file *a = mine;
    const struct profile_file *b = its;
    merge_calls(&a->calls, &b->calls, sides);
    a->opens += b->opens;
    a->read += b->read;
    a->written += b->written;
    free(b->name);
}

const struct merge_kind merge_files = {sizeof(struct profile_file), compare_files, NULL, add_file};

/* ---- Regions --------------------------------------------------------------------------------- */

static int compare_regions(const void *mine, const void *its)
{
    const struct profile_region *a = mine, *b = its;
    return strcmp(a->name, b->name);
}

static int compare_nodes(const void *mine, const void *its)
{
    const struct profile_node *a = mine, *b = its;
    return strcmp(a->host, b->host);
}

static void add_node(void *mine, const void *its, const struct sides *sides)
{
    struct profile_node *a = mine;
    const struct profile_node *b = its;
    (void)sides;
    a->useful += b->useful;
    free(b->host);
}

static const struct merge_kind merge_nodes = {sizeof(struct profile_node), compare_nodes, NULL,
                                              add_node};

static bool prepare_region(void *mine, void *its, const struct sides *sides)
{
    struct profile_region *a = mine, *b = its;
    if (!b)
        return true;
    void *array = a->functions;
    bool good = merge_prepare(&merge_region_functions, &array, a->function_count, b->functions,
                              b->function_count, sides);
    a->functions = array;
    array = a->nodes;
    good =
        good && merge_prepare(&merge_nodes, &array, a->node_count, b->nodes, b->node_count, sides);
    a->nodes = array;
    return good;
}

static void add_region(void *mine, const void *its, const struct sides *sides)
{
    struct profile_region *a = mine;
    const struct profile_region *b = its;
    a->entries += b->entries;
    merge_spread(&a->time, &b->time, sides);
    merge_spread(&a->mpi, &b->mpi, sides);
    merge_spread(&a->useful, &b->useful, sides);
    a->path = b->path > a->path ? b->path : a->path;
    a->node_count =
        merge_arrays(&merge_nodes, a->nodes, a->node_count, b->nodes, b->node_count, sides);
    free(b->nodes);
    a->function_count = merge_arrays(&merge_region_functions, a->functions, a->function_count,
                                     b->functions, b->function_count, sides);
    free(b->functions);
    free(b->name);
}

const struct merge_kind merge_regions = {sizeof(struct profile_region), compare_regions,
                                         prepare_region, add_region};
