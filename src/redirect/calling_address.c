/* SPDX-License-Identifier: MIT */
/*
 * The public calls for the caller of an MPI call. Not in caller.c: whoever does not unwind is not
 * to pay for it.
 */
#include "pmpi/pmpi.h"
#include "process/process.h"
#include "redirect/caller.h"

#include <qmpi/observer.h>

#include <string.h>

__attribute__((noinline)) static void *find_any_caller(void)
{
    void *caller = qmpi_caller_of_layers();
    return qmpi_binding_any || qmpi_pmpi_is_used ? qmpi_caller_of_program(caller) : caller;
}

/* Nearly always the frame of the entry is in use, and was entered by the program. */
static inline bool is_usual(const char *frame)
{
    return frame > (const char *)QMPI_THIS_FRAME() && frame != qmpi_jumped_frame &&
           !(qmpi_binding_any | qmpi_pmpi_is_used);
}

int QMPI_Context_get_calling_address(QMPI_Context context, int tool_id, void *address)
{
    if (!context || !address || tool_id < 1 || tool_id > QMPIX_stack.layers)
        return MPI_ERR_ARG;
    const char *const frame = qmpi_entry_frame;
    void *caller =
        __builtin_expect(is_usual(frame), 1) ? qmpi_frame_return_address(frame) : find_any_caller();
    memcpy(address, &caller, sizeof caller);
    return MPI_SUCCESS;
}

__attribute__((noinline)) static int get_any_caller(const QMPIX_Call *call, void **caller)
{
    if (!call || !caller)
        return MPI_ERR_ARG;
    *caller = find_any_caller();
    return MPI_SUCCESS;
}

int QMPIX_Call_get_caller(const QMPIX_Call *call, void **caller)
{
    const char *const frame = qmpi_entry_frame;
    if (__builtin_expect(!call || !caller || !is_usual(frame), 0))
        return get_any_caller(call, caller);
    *caller = qmpi_frame_return_address(frame);
    return MPI_SUCCESS;
}
