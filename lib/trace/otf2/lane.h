/* SPDX-License-Identifier: MIT */
/*
 * A thread of a process while its events are written: its writer, the calls in progress, and the
 * regions that are open around them. Enters and leaves of an archive must nest. Calls do; regions
 * of the program may overlap. Where one ends that is not the innermost one, those inside it end,
 * too, and begin again. Regions begin and end between calls, after the MPI_Pcontrol that says so.
 */
#ifndef QMPI_TRACE_OTF2_LANE_H
#define QMPI_TRACE_OTF2_LANE_H

#include "trace/event.h"

#include <otf2/otf2.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct archive_call {
    uint32_t function;
    uint32_t comm; /* of a collective that has begun and not ended */
    bool is_collective;
};
struct archive_lane {
    OTF2_EvtWriter *writer;
    OTF2_TimeStamp time; /* of the last event */
    OTF2_ErrorCode error;
    struct archive_call *calls;
    size_t depth, room;
    uint32_t *regions; /* numbers of open ones, the innermost last */
    size_t region_count, region_room;
    struct archive_change {
        uint32_t region;
        bool begins;
    } * changes; /* that wait for the end of the calls */
    size_t change_count, change_room;
    struct trace_event entered; /* a call that is not written yet: see events.c */
    bool has_entered;
};

/* Calls a function of libotf2 for the lane, and notes its error. After an error, none is called: in
 * a file that it cannot write, libotf2 3.0 uses memory that it has freed. */
#define ARCHIVE_LANE_CALL(lane, call)                                                              \
    do {                                                                                           \
        if ((lane)->error == OTF2_SUCCESS)                                                         \
            (lane)->error = (call);                                                                \
    } while (0)

/* NULL: there is none, or its events are lost. */
struct archive_call *archive_lane_call(const struct archive_lane *lane);
void archive_lane_enter(struct archive_lane *lane, OTF2_AttributeList *attributes,
                        uint32_t function);
void archive_lane_leave(struct archive_lane *lane);

/* Begins or ends a region as soon as no call is in progress. */
void archive_lane_change(struct archive_lane *lane, uint32_t region, bool begins);

/* Ends what is open. */
void archive_lane_end(struct archive_lane *lane);

void archive_lane_clear(struct archive_lane *lane);

#endif
