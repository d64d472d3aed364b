/* SPDX-License-Identifier: MIT */
/*
 * The time that this process spends in MPI, by region of the program. The tool asks the layer that
 * offers the service of regions.h for the current region. This layer may be above or below. Without
 * such a layer, or while that layer is switched off, all calls are outside of regions.
 */
#include "regions.h"

#include <qmpi/clock.h>
#include <qmpi/observer.h>
#include <stdatomic.h>
#include <stdio.h>

struct layer {
    int tool_id;
    _Atomic int offering_id; /* the layer that knows the regions, or 0 */
    _Atomic int names_id;    /* the last layer that knew them, or 0 */
    _Atomic uint64_t ticks[REGIONS_MAX];
    _Atomic long long calls[REGIONS_MAX];
};
static struct layer layers[256];
static const regions_table *_Atomic tables[256]; /* by offering_id */

/* Called when the service is found, and when the layer that offers it is switched off or on. */
static void regions_changed(int tool_id, int offering_id, const void *table, void *data)
{
    struct layer *layer = data;
    (void)tool_id;
    if (table) {
        tables[offering_id] = table;
        layer->names_id = offering_id;
    }
    layer->offering_id = offering_id;
}

static void report(const struct layer *layer)
{
    const int names_id = layer->names_id;
    int rank = 0;
    PMPI_Comm_rank(MPI_COMM_WORLD, &rank);
    for (int region = 0; region < REGIONS_MAX; region++) {
        uint64_t nanoseconds = 0;
        if (!layer->calls[region])
            continue;
        QMPIX_Clock_to_nanoseconds(layer->ticks[region], &nanoseconds);
        fprintf(stderr, "region_times (layer %d), rank %d: %s: %lld calls, %.6f s\n",
                layer->tool_id, rank,
                names_id ? tables[names_id]->name(names_id, region) : "(no region)",
                (long long)layer->calls[region], 1e-9 * (double)nanoseconds);
    }
}

static void before(const QMPIX_Call *call, QMPIX_Word *word)
{
    struct layer *layer = call->observer->data;
    const int offering_id = layer->offering_id;
    word->number = offering_id ? (unsigned)tables[offering_id]->current(offering_id) : 0;
    if (call->function->number == MPI_FINALIZE_T)
        report(layer);
}

static void after(const QMPIX_Call *call, QMPIX_Word *word)
{
    struct layer *layer = call->observer->data;
    uint64_t begin = 0, end = 0;
    if (call->function->number == MPI_PCONTROL_T)
        return; /* this call is not part of the program's work */
    QMPIX_Call_get_time(call, &begin, &end);
    layer->ticks[word->number] += end - begin;
    layer->calls[word->number]++;
}

static void init(int tool_id)
{
    struct layer *layer = &layers[tool_id];
    const QMPIX_Observer observer = {.size = sizeof observer,
                                     .before = before,
                                     .after = after,
                                     .data = layer,
                                     .flags = QMPIX_OBSERVE_TIME};
    layer->tool_id = tool_id;
    QMPIX_Register_tool_observer(tool_id, &observer);
    QMPIX_Service_watch(tool_id, "regions", QMPIX_SERVICE_VERSION(1, 0), regions_changed, layer);
}

__attribute__((constructor)) static void register_tool(void)
{
    QMPI_Register_tool_name("region_times", init);
}
