/* SPDX-License-Identifier: MIT */
/*
 * Calls functions of the layers below by QMPI_Get_function, in several ways.
 *   MPI_Comm_rank   intercepted; calls the next function, which it looks up in each call or, with
 *                   the option cache=yes, in init
 *   MPI_Barrier     intercepted; first calls MPI_Comm_size and MPI_Get_version of the layers below;
 *                   the tool does not intercept these two functions
 *   MPI_Finalized   intercepted; if MPI is finalized, calls MPI_Get_version by the pointer that it
 *                   looked up in init
 *   init            calls MPI_Initialized of the layers below
 * With the option below=N and without cache=yes, MPI_Barrier looks up functions as if the layer
 * were layer N, which is allowed.
 */
#include "trace.h"

#include <qmpi/qmpi.h>

#include <stdlib.h>
#include <string.h>

struct target {
    void (*function)(void);
    QMPI_Context next;
};

struct layer {
    int tool_id;
    int looks_as;
    int caches;
    struct target rank, size, version; /* looked up in init */
};

static struct target look_up(int tool_id, enum QMPI_Functions_enum number)
{
    struct target target = {NULL, NULL};
    if (QMPI_Get_function(tool_id, number, &target.function, &target.next) != MPI_SUCCESS)
        trace("lookup of %s below %d failed", QMPIX_Function_name(number), tool_id);
    return target;
}

static struct layer *layer_of(QMPI_Context context)
{
    int tool_id = 0;
    void *storage = NULL;
    QMPIX_Context_get_tool_id(context, &tool_id);
    QMPI_Context_get_storage(context, tool_id, &storage);
    return storage;
}

static int lookup_rank(QMPI_Context context, MPI_Comm comm, int *rank)
{
    const struct layer *layer = layer_of(context);
    trace("lookup %d MPI_Comm_rank", layer->tool_id);
    const struct target target =
        layer->caches ? layer->rank : look_up(layer->tool_id, MPI_COMM_RANK_T);
    return ((QMPI_Comm_rank_t *)target.function)(target.next, comm, rank);
}

static void call_version(const struct target *target)
{
    int version = 0, subversion = 0;
    ((QMPI_Get_version_t *)target->function)(target->next, &version, &subversion);
    trace("lookup: MPI version %d", version);
}

static int lookup_barrier(QMPI_Context context, MPI_Comm comm)
{
    const struct layer *layer = layer_of(context);
    trace("lookup %d MPI_Barrier", layer->tool_id);
    int size = -1;
    const struct target target =
        layer->caches ? layer->size : look_up(layer->looks_as, MPI_COMM_SIZE_T);
    ((QMPI_Comm_size_t *)target.function)(target.next, comm, &size);
    trace("lookup: size %d", size);
    const struct target version =
        layer->caches ? layer->version : look_up(layer->looks_as, MPI_GET_VERSION_T);
    call_version(&version);
    return QMPIX_NEXT(context, Barrier)(QMPIX_NEXT_CONTEXT(context), comm);
}

static int lookup_finalized(QMPI_Context context, int *flag)
{
    const struct layer *layer = layer_of(context);
    const int result = QMPIX_NEXT(context, Finalized)(QMPIX_NEXT_CONTEXT(context), flag);
    if (result == MPI_SUCCESS && *flag)
        call_version(&layer->version);
    return result;
}

static void init(int tool_id)
{
    const char *value = NULL;
    struct layer *layer = calloc(1, sizeof *layer);
    if (!layer)
        abort();
    layer->tool_id = layer->looks_as = tool_id;
    layer->caches =
        QMPIX_Tool_get_option(tool_id, "cache", &value) == MPI_SUCCESS && !strcmp(value, "yes");
    if (QMPIX_Tool_get_option(tool_id, "below", &value) == MPI_SUCCESS)
        layer->looks_as = atoi(value);
    layer->rank = look_up(tool_id, MPI_COMM_RANK_T);
    layer->size = look_up(tool_id, MPI_COMM_SIZE_T);
    layer->version = look_up(tool_id, MPI_GET_VERSION_T);
    QMPI_Register_tool_storage(tool_id, layer);
    QMPI_Register_tool_function(tool_id, MPI_COMM_RANK_T, (void (*)(void))lookup_rank);
    QMPI_Register_tool_function(tool_id, MPI_BARRIER_T, (void (*)(void))lookup_barrier);
    QMPI_Register_tool_function(tool_id, MPI_FINALIZED_T, (void (*)(void))lookup_finalized);

    int flag = -1;
    const struct target target = look_up(tool_id, MPI_INITIALIZED_T);
    ((QMPI_Initialized_t *)target.function)(target.next, &flag);
    trace("lookup: initialized %d in init", flag);
}

__attribute__((constructor)) static void register_tool(void)
{
    QMPI_Register_tool_name("lookup", init);
}
