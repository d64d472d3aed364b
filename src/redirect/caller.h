/* SPDX-License-Identifier: MIT */
/*
 * The caller of the present MPI call: the address in the program, or in a tool that called MPI_X,
 * to which the call returns.
 */
#ifndef QMPI_REDIRECT_CALLER_H
#define QMPI_REDIRECT_CALLER_H

#include "dispatch/arch/frame.h"
#include "dispatch/chain.h"

#include <stdbool.h>
#include <stddef.h>

/*
 * The same, found by unwinding: after a longjmp, or where the noted `frame` says by its place that
 * it is no longer in use (`above` is false).
 */
void *qmpi_caller_by_unwinding(const char *frame, bool above);

/*
 * Where the present MPI call of this thread entered the native layers; NULL outside a call. After a
 * longjmp out of a call it is found by unwinding.
 */
static inline void *qmpi_caller_of_layers(void)
{
    const char *const frame = qmpi_entry_frame;
    const bool above = frame > (const char *)QMPI_THIS_FRAME();
    if (!frame)
        return NULL;
    return above && frame != qmpi_jumped_frame ? qmpi_frame_return_address(frame)
                                               : qmpi_caller_by_unwinding(frame, above);
}

/*
 * The address in the program behind `caller`, where `caller` lies in a language binding or in a
 * hosted tool. To be called below the call of which it is the caller.
 */
void *qmpi_caller_of_program(void *caller);

#endif
