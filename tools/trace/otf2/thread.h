/* SPDX-License-Identifier: MIT */
/*
 * A thread of a process while its events are written: its writer of libotf2, the calls in progress,
 * and the open regions. In an archive, enters and leaves must nest. Calls do, but regions of the
 * program may overlap. If a region ends that is not the innermost one, the regions inside it are
 * ended, too, and begun again. In an archive, regions contain whole calls: they begin and end after
 * the MPI_Pcontrol that begins or ends them.
 */
#ifndef QMPI_TRACE_OTF2_THREAD_H
#define QMPI_TRACE_OTF2_THREAD_H

#include "tools/trace/file/event.h"

#include <otf2/otf2.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct trace_thread_call {
    uint32_t function;
    uint32_t comm; /* communicator of a collective that has begun and not ended */
    bool is_collective;
};
struct trace_thread {
    OTF2_EvtWriter *event_writer;
    OTF2_TimeStamp time; /* time of the last event */
    OTF2_ErrorCode error;
    struct trace_thread_call *calls;
    size_t depth, room;
    uint32_t *regions; /* numbers of open regions; the innermost one is last */
    size_t region_count, region_room;
    struct trace_thread_change {
        uint32_t region;
        bool begins;
    } * changes; /* changes that wait until no call is in progress */
    size_t change_count, change_room;
    /* A call whose begin is written together with the next event: see events.c. */
    struct trace_event entered;
    bool has_entered;
};

/* Calls a function of libotf2 for the thread, and stores its error. After an error, does not call
 * any more functions: if libotf2 3.0 cannot write a file, it uses memory that it has freed. */
#define TRACE_THREAD_CALL(thread, call)                                                            \
    do {                                                                                           \
        if ((thread)->error == OTF2_SUCCESS)                                                       \
            (thread)->error = (call);                                                              \
    } while (0)

/* Returns the innermost call in progress, or NULL if there is none or its TRACE_ENTER is lost. */
struct trace_thread_call *trace_thread_current(const struct trace_thread *thread);
void trace_thread_enter(struct trace_thread *thread, OTF2_AttributeList *attributes,
                        uint32_t function);
void trace_thread_leave(struct trace_thread *thread);

/* Begins or ends a region, as soon as no call is in progress. */
void trace_thread_change_region(struct trace_thread *thread, uint32_t region, bool begins);

/* Ends all open calls and regions. */
void trace_thread_end(struct trace_thread *thread);

void trace_thread_clear(struct trace_thread *thread);

#endif
