/* SPDX-License-Identifier: MIT */
/*
 * A thread of a process while its events are written: its writer, the calls in progress, and the
 * regions that are open around them. Enters and leaves of an archive must nest. Calls do; regions
 * of the program may overlap. If a region ends that is not the innermost one, the regions inside it
 * are ended, too, and begun again. Regions begin and end between calls, after the MPI_Pcontrol that
 * begins or ends them.
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
    OTF2_EvtWriter *writer;
    OTF2_TimeStamp time; /* time of the last event */
    OTF2_ErrorCode error;
    struct trace_thread_call *calls;
    size_t depth, room;
    uint32_t *regions; /* numbers of open regions, the innermost one last */
    size_t region_count, region_room;
    struct trace_thread_change {
        uint32_t region;
        bool begins;
    } * changes; /* changes that wait until no call is in progress */
    size_t change_count, change_room;
    struct trace_event entered; /* a call that was not written yet: see events.c */
    bool has_entered;
};

/* Calls a function of libotf2 for the thread, and stores its error. After an error, no function is
 * called any more, because libotf2 3.0 uses memory that it has freed if it cannot write a file. */
#define TRACE_THREAD_CALL(thread, call)                                                            \
    do {                                                                                           \
        if ((thread)->error == OTF2_SUCCESS)                                                       \
            (thread)->error = (call);                                                              \
    } while (0)

/* Returns the innermost call in progress; NULL: there is none, or its events are lost. */
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
