/* SPDX-License-Identifier: MIT */
/* See lane.h. */
#include "trace/otf2/lane.h"

#include "trace/map.h"

#include <stdlib.h>
#include <string.h>

/* ---- Regions --------------------------------------------------------------------------------- */

static void write_enter(struct archive_lane *lane, uint32_t region)
{
    ARCHIVE_LANE_CALL(lane, OTF2_EvtWriter_Enter(lane->writer, NULL, lane->time, region));
}

static void write_leave(struct archive_lane *lane, uint32_t region)
{
    ARCHIVE_LANE_CALL(lane, OTF2_EvtWriter_Leave(lane->writer, NULL, lane->time, region));
}

static void begin_region(struct archive_lane *lane, uint32_t region)
{
    uint32_t *regions =
        trace_grow(lane->regions, lane->region_count, &lane->region_room, sizeof *regions);
    if (!regions) {
        ARCHIVE_LANE_CALL(lane, OTF2_ERROR_MEM_ALLOC_FAILED);
        return;
    }
    lane->regions = regions;
    regions[lane->region_count++] = region;
    write_enter(lane, region);
}

static void end_region(struct archive_lane *lane, uint32_t region)
{
    size_t place = lane->region_count;
    while (place > 0 && lane->regions[place - 1] != region)
        place--;
    if (!place--)
        return;
    for (size_t i = lane->region_count; i-- > place;)
        write_leave(lane, lane->regions[i]);
    lane->region_count--;
    memmove(&lane->regions[place], &lane->regions[place + 1],
            (lane->region_count - place) * sizeof *lane->regions);
    for (size_t i = place; i < lane->region_count; i++)
        write_enter(lane, lane->regions[i]);
}

static void make_changes(struct archive_lane *lane)
{
    for (size_t i = 0; i < lane->change_count; i++) {
        if (lane->changes[i].begins)
            begin_region(lane, lane->changes[i].region);
        else
            end_region(lane, lane->changes[i].region);
    }
    lane->change_count = 0;
}

void archive_lane_change(struct archive_lane *lane, uint32_t region, bool begins)
{
    struct archive_change *changes =
        trace_grow(lane->changes, lane->change_count, &lane->change_room, sizeof *changes);
    if (!changes) {
        ARCHIVE_LANE_CALL(lane, OTF2_ERROR_MEM_ALLOC_FAILED);
        return;
    }
    lane->changes = changes;
    changes[lane->change_count++] = (struct archive_change){region, begins};
    if (!lane->depth)
        make_changes(lane);
}

/* ---- Calls ----------------------------------------------------------------------------------- */

struct archive_call *archive_lane_call(const struct archive_lane *lane)
{
    return lane->depth ? &lane->calls[lane->depth - 1] : NULL;
}

void archive_lane_enter(struct archive_lane *lane, OTF2_AttributeList *attributes,
                        uint32_t function)
{
    struct archive_call *calls = trace_grow(lane->calls, lane->depth, &lane->room, sizeof *calls);
    if (!calls) {
        ARCHIVE_LANE_CALL(lane, OTF2_ERROR_MEM_ALLOC_FAILED);
        return;
    }
    lane->calls = calls;
    calls[lane->depth++] = (struct archive_call){.function = function};
    ARCHIVE_LANE_CALL(lane, OTF2_EvtWriter_Enter(lane->writer, attributes, lane->time, function));
}

void archive_lane_leave(struct archive_lane *lane)
{
    if (!lane->depth)
        return;
    write_leave(lane, lane->calls[--lane->depth].function);
    if (!lane->depth)
        make_changes(lane);
}

void archive_lane_end(struct archive_lane *lane)
{
    while (lane->depth)
        archive_lane_leave(lane);
    while (lane->region_count)
        write_leave(lane, lane->regions[--lane->region_count]);
}

void archive_lane_clear(struct archive_lane *lane)
{
    free(lane->calls);
    free(lane->regions);
    free(lane->changes);
}
