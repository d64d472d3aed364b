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
static inline void *find_caller(void)
{
    const char *const frame = qmpi_entry_frame;
    if (__builtin_expect(frame > (const char *)QMPI_THIS_FRAME() && frame != qmpi_jumped_frame &&
                             !(qmpi_binding_any | qmpi_pmpi_is_used),
                         1))
        return qmpi_frame_return_address(frame);
    return find_any_caller();
}

int QMPI_Context_get_calling_address(QMPI_Context context, int tool_id, void *address)
{
    if (!context || !address || tool_id < 1 || tool_id > QMPIX_stack.layers)
        return MPI_ERR_ARG;
    void *caller = find_caller();
    memcpy(address, &caller, sizeof caller);
    return MPI_SUCCESS;
}

int QMPIX_Call_get_caller(const QMPIX_Call *call, void **caller)
{
    if (!call || !caller)
        return MPI_ERR_ARG;
    *caller = find_caller();
    return MPI_SUCCESS;
}
