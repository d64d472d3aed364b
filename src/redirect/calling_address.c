/* SPDX-License-Identifier: MIT */
/*
 * The public call for the caller of an MPI call. Not in caller.c: whoever does not unwind is not to
 * pay for it.
 */
#include "pmpi/pmpi.h"
#include "process/process.h"
#include "redirect/caller.h"

#include <qmpi/qmpi.h>

#include <string.h>

int QMPI_Context_get_calling_address(QMPI_Context context, int tool_id, void *address)
{
    if (!context || !address || tool_id < 1 || tool_id > QMPIX_stack.layers)
        return MPI_ERR_ARG;
    void *caller = qmpi_caller_of_layers();
    if (qmpi_binding_any || qmpi_pmpi_is_used)
        caller = qmpi_caller_of_program(caller);
    memcpy(address, &caller, sizeof caller);
    return MPI_SUCCESS;
}
