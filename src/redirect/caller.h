/* SPDX-License-Identifier: MIT */
/*
 * The calling address of the current MPI call: the return address in the program, or in a tool that
 * called MPI_X.
 */
#ifndef QMPI_REDIRECT_CALLER_H
#define QMPI_REDIRECT_CALLER_H

#include "dispatch/dispatch.h"

#include <qmpi/observer.h>

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * Returns the frame if it is certainly in use by the current call, and NULL otherwise. `here` is
 * the frame of the caller.
 *
 * User-level threads may be switched within a call, in a callback or in the MPI library, and their
 * calls may return in any order; qmpi_dispatch_thread.entry may then belong to a call of another
 * user-level thread, or to a call that has ended.
 */
const char *qmpi_caller_examine_frame(const char *frame, const char *here);

/*
 * Returns the calling address, which is found by unwinding, or NULL if there is none. Called after
 * a longjmp, with user-level threads, or if the position of the stored frame shows that it is no
 * longer in use.
 */
void *qmpi_caller_by_unwinding(void);

/* Returns whether a frame is certainly in use by the current call: the usual case of
 * qmpi_caller_examine_frame. */
static inline bool qmpi_caller_frame_is_in_use(const char *frame, const char *here)
{
    return QMPI_FRAME_ALL(frame > here, (uintptr_t)here > qmpi_dispatch_thread.stack.begin,
                          (uintptr_t)frame <= qmpi_dispatch_thread.stack.end,
                          frame != qmpi_dispatch_thread.jumped_frame);
}

/*
 * Returns whether `frame` is in use by the call to which a record belongs. `frame` is that of an
 * entry into the layers. The record of the first layer is in this frame, or in that of a function
 * that the entry calls, at most QMPI_RECORD_DISTANCE_MAX bytes below `frame`. No other frame, on
 * any stack, is so close above the record. Returns false if the record is NULL.
 */
enum { QMPI_RECORD_DISTANCE_MAX = 1024 };
static inline bool qmpi_caller_frame_is_of(const char *frame, const QMPIX_Call *call)
{
    return (uintptr_t)call - (uintptr_t)frame >= -(uintptr_t)QMPI_RECORD_DISTANCE_MAX &&
           frame != qmpi_dispatch_thread.jumped_frame;
}

/* Returns the entry into the QMPI layers. The frame in it is NULL unless it is certainly in use. */
static inline struct qmpi_frame_entry qmpi_caller_entry(void)
{
    struct qmpi_frame_entry entry = qmpi_dispatch_thread.entry;
    const char *const here = QMPI_THIS_FRAME();
    if (__builtin_expect(!qmpi_caller_frame_is_in_use(entry.frame, here), 0))
        entry.frame = qmpi_caller_examine_frame(entry.frame, here);
    return entry;
}

/*
 * Returns the address from which the current MPI call of this thread entered the QMPI layers; NULL
 * outside a call. After a longjmp out of a call, and with user-level threads, it is found by
 * unwinding.
 */
static inline void *qmpi_caller_of_layers(void)
{
    const struct qmpi_frame_entry entry = qmpi_caller_entry();
    return entry.frame ? qmpi_frame_return_address(entry) : qmpi_caller_by_unwinding();
}

/*
 * Returns the calling address in the program if `caller` is in code between the program and the
 * layers (qmpi_caller_is_between), such as a language binding or a PMPI tool. Otherwise, or if that
 * address is not found, returns `caller`. Must be called within the call to which `caller` belongs.
 */
void *qmpi_caller_of_program(void *caller);

/*
 * Returns whether an address is in code between a call of the program and the QMPI layers. This
 * includes addresses in libqmpi itself, for calls that a PMPI tool or a binding has made as a tail
 * call.
 */
bool qmpi_caller_is_between(const void *address);

#endif
