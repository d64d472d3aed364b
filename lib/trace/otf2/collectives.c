/* SPDX-License-Identifier: MIT */
/* How libotf2 lets the processes of a group communicate: by the functions that they pass. */
#include "trace/otf2/archive.h"

#include <stdlib.h>

static const struct trace_otf2_group *group_of(void *data)
{
    return ((struct archive *)data)->group;
}

static size_t size_of(OTF2_Type type)
{
    switch (type) {
    case OTF2_TYPE_UINT8:
    case OTF2_TYPE_INT8:
        return 1;
    case OTF2_TYPE_UINT16:
    case OTF2_TYPE_INT16:
        return 2;
    case OTF2_TYPE_UINT32:
    case OTF2_TYPE_INT32:
    case OTF2_TYPE_FLOAT:
        return 4;
    default:
        return 8;
    }
}

static OTF2_CallbackCode code(bool good)
{
    return good ? OTF2_CALLBACK_SUCCESS : OTF2_CALLBACK_ERROR;
}

static OTF2_CallbackCode get_size(void *data, OTF2_CollectiveContext *context, uint32_t *size)
{
    (void)context;
    *size = (uint32_t)group_of(data)->size;
    return OTF2_CALLBACK_SUCCESS;
}

static OTF2_CallbackCode get_rank(void *data, OTF2_CollectiveContext *context, uint32_t *rank)
{
    (void)context;
    *rank = (uint32_t)group_of(data)->rank;
    return OTF2_CALLBACK_SUCCESS;
}

static OTF2_CallbackCode barrier(void *data, OTF2_CollectiveContext *context)
{
    (void)context;
    return code(group_of(data)->barrier(group_of(data)->context));
}

static OTF2_CallbackCode broadcast(void *data, OTF2_CollectiveContext *context, void *values,
                                   uint32_t count, OTF2_Type type, uint32_t root)
{
    (void)context;
    return code(root == OTF2_COLLECTIVES_ROOT &&
                group_of(data)->broadcast(group_of(data)->context, values, count * size_of(type)));
}

/* The sizes of all processes, of which only the root needs to know; NULL: memory is exhausted. */
static size_t *make_sizes(const struct trace_otf2_group *group, const uint32_t *counts,
                          uint32_t count, OTF2_Type type)
{
    size_t *sizes = calloc((size_t)group->size, sizeof *sizes);
    for (int i = 0; sizes && i < group->size; i++)
        sizes[i] = (counts ? counts[i] : count) * size_of(type);
    return sizes;
}

static OTF2_CallbackCode gather_sizes(void *data, const void *values, uint32_t count, void *all,
                                      const uint32_t *counts, OTF2_Type type, uint32_t root)
{
    const struct trace_otf2_group *group = group_of(data);
    const bool is_root = group->rank == OTF2_COLLECTIVES_ROOT;
    size_t *sizes = is_root ? make_sizes(group, counts, count, type) : NULL;
    const bool good =
        root == OTF2_COLLECTIVES_ROOT && (sizes || !is_root) &&
        group->gather(group->context, values, count * size_of(type), is_root ? all : NULL, sizes);
    free(sizes);
    return code(good);
}

static OTF2_CallbackCode gather(void *data, OTF2_CollectiveContext *context, const void *values,
                                void *all, uint32_t count, OTF2_Type type, uint32_t root)
{
    (void)context;
    return gather_sizes(data, values, count, all, NULL, type, root);
}

static OTF2_CallbackCode gatherv(void *data, OTF2_CollectiveContext *context, const void *values,
                                 uint32_t count, void *all, const uint32_t *counts, OTF2_Type type,
                                 uint32_t root)
{
    (void)context;
    return gather_sizes(data, values, count, all, counts, type, root);
}

static OTF2_CallbackCode scatter_sizes(void *data, const void *all, const uint32_t *counts,
                                       void *values, uint32_t count, OTF2_Type type, uint32_t root)
{
    const struct trace_otf2_group *group = group_of(data);
    const bool is_root = group->rank == OTF2_COLLECTIVES_ROOT;
    size_t *sizes = is_root ? make_sizes(group, counts, count, type) : NULL;
    const bool good =
        root == OTF2_COLLECTIVES_ROOT && (sizes || !is_root) &&
        group->scatter(group->context, is_root ? all : NULL, sizes, values, count * size_of(type));
    free(sizes);
    return code(good);
}

static OTF2_CallbackCode scatter(void *data, OTF2_CollectiveContext *context, const void *all,
                                 void *values, uint32_t count, OTF2_Type type, uint32_t root)
{
    (void)context;
    return scatter_sizes(data, all, NULL, values, count, type, root);
}

static OTF2_CallbackCode scatterv(void *data, OTF2_CollectiveContext *context, const void *all,
                                  const uint32_t *counts, void *values, uint32_t count,
                                  OTF2_Type type, uint32_t root)
{
    (void)context;
    return scatter_sizes(data, all, counts, values, count, type, root);
}

OTF2_ErrorCode archive_set_collectives(struct archive *archive)
{
    static const OTF2_CollectiveCallbacks callbacks = {.otf2_get_size = get_size,
                                                       .otf2_get_rank = get_rank,
                                                       .otf2_barrier = barrier,
                                                       .otf2_bcast = broadcast,
                                                       .otf2_gather = gather,
                                                       .otf2_gatherv = gatherv,
                                                       .otf2_scatter = scatter,
                                                       .otf2_scatterv = scatterv};
    /* The functions need no context; NULL would mean that there is none. */
    return OTF2_Archive_SetCollectiveCallbacks(archive->files, &callbacks, archive,
                                               (OTF2_CollectiveContext *)(void *)archive, NULL);
}
