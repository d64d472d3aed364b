/* SPDX-License-Identifier: MIT */
/* A tool for MPICH's variant of QMPI, built with MPICH's own mpi.h. Its wrappers look up the next
 * function in each call. */
#include "tool.h"

#include <mpi.h>

#include "storm_mpich.h"

static void note(QMPI_Context context, int tool_id, int number)
{
    void *text = NULL, *storage = NULL;
    if (tool_id < 1 || tool_id >= STORM_LAYERS) {
        storm_wrong(ledger, "MPICH variant, function %d: layer %d", number, tool_id);
        return;
    }
    storm_seen(tool_id, number);
    if (QMPI_Get_tool_storage(context, tool_id, &storage) != MPI_SUCCESS ||
        storage != &ledger->layer[tool_id])
        storm_wrong(ledger, "layer %d, function %d: storage %p", tool_id, number, storage);
    QMPI_Get_calling_address(context, &text);
    storm_check_caller(tool_id, number,
                       text ? (const char *)(uintptr_t)strtoull(text, NULL, 16) : NULL);
}

#define WRAP(RESULT, X, NUMBER, PARAMETERS, ARGUMENTS)                                             \
    static RESULT mpich_##X PARAMETERS                                                             \
    {                                                                                              \
        void (*function)(void) = NULL;                                                             \
        int next = -1;                                                                             \
        note(context, tool_id, STORM_##X);                                                         \
        QMPI_Get_function(tool_id, NUMBER, &function, &next);                                      \
        return ((QMPI_##X##_t *)function)ARGUMENTS;                                                \
    }
STORM_MPICH(WRAP)

static void init(int tool_id)
{
    storm_add(&ledger->layer[tool_id].inits, 1);
    QMPI_Register_tool_storage(tool_id, &ledger->layer[tool_id]);
#define REGISTER(RESULT, X, NUMBER, PARAMETERS, ARGUMENTS)                                         \
    storm_takes(tool_id, STORM_##X);                                                               \
    QMPI_Register_function(tool_id, NUMBER, (void (*)(void))mpich_##X);
    STORM_MPICH(REGISTER)
}

__attribute__((constructor)) static void register_tool(void)
{
    ledger = storm_open_ledger();
    QMPI_Register_tool_name("storm_mpich", init);
}
