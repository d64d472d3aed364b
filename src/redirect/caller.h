/* SPDX-License-Identifier: MIT */
/*
 * The calling address of the current MPI call: the return address in the program, or in a tool that
 * called MPI_X.
 */
#ifndef QMPI_REDIRECT_CALLER_H
#define QMPI_REDIRECT_CALLER_H

#include "dispatch/dispatch.h"

#include <stdbool.h>
#include <stddef.h>

/*
 * Finds the calling address by unwinding: after a longjmp, or if the position of the stored frame
 * shows that it is no longer in use.
 */
void *qmpi_caller_by_unwinding(void);

/* Returns the frame of the entry into the QMPI layers if it is certainly in use; NULL: not so. */
static inline const char *qmpi_caller_frame(void)
{
    const char *const frame = qmpi_entry_frame;
    const bool above = frame > (const char *)QMPI_THIS_FRAME();
    return frame && above && frame != qmpi_jumped_frame ? frame : NULL;
}

/*
 * Returns the address from which the current MPI call of this thread entered the QMPI layers; NULL
 * outside a call. After a longjmp out of a call, it is found by unwinding.
 */
static inline void *qmpi_caller_of_layers(void)
{
    const char *const frame = qmpi_entry_frame;
    const bool above = frame > (const char *)QMPI_THIS_FRAME();
    if (!frame)
        return NULL;
    return above && frame != qmpi_jumped_frame ? qmpi_frame_return_address(frame)
                                               : qmpi_caller_by_unwinding();
}

/*
 * Returns the calling address in the program if `caller` is in a language binding or in a PMPI
 * tool. Must be called within the call to which `caller` belongs.
 */
void *qmpi_caller_of_program(void *caller);

/*
 * Whether code is between a call of the program and the QMPI layers. This is libqmpi itself if a
 * PMPI tool or a binding left its frame to the call that it ended with.
 */
bool qmpi_is_between(const void *address);

#endif
