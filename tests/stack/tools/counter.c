/* SPDX-License-Identifier: MIT */
/*
 * Counts the calls of each function, also with several threads, and how often its init runs for
 * each layer. Prints these numbers in MPI_Finalize.
 */
#include "trace.h"

#include <qmpi/qmpi.h>
#include <qmpi/wrappers.h>

#include <stdatomic.h>

static atomic_long calls[256][MPI_LAST_FUNC];
static atomic_int inits[256];

static void counter_add(QMPI_Context context, enum QMPI_Functions_enum number)
{
    int tool_id = 0;
    QMPIX_Context_get_tool_id(context, &tool_id);
    atomic_fetch_add_explicit(&calls[tool_id][number], 1, memory_order_relaxed);
    if (number != MPI_FINALIZE_T)
        return;
    trace("counter %d inits %d", tool_id, atomic_load(&inits[tool_id]));
    for (int i = 0; i < MPI_LAST_FUNC; i++) {
        if (calls[tool_id][i])
            trace("counter %d %s %ld", tool_id, QMPIX_Function_name((enum QMPI_Functions_enum)i),
                  atomic_load(&calls[tool_id][i]));
    }
}

#define WRAP(RESULT, X, NUMBER, PARAMETERS, ARGUMENTS)                                             \
    static RESULT counter_##X PARAMETERS                                                           \
    {                                                                                              \
        counter_add(context, NUMBER);                                                              \
        return QMPIX_NEXT(context, X) ARGUMENTS;                                                   \
    }
QMPIX_FOR_EACH_FUNCTION(WRAP)

static void init(int tool_id)
{
    atomic_fetch_add(&inits[tool_id], 1);
#define REGISTER(RESULT, X, NUMBER, PARAMETERS, ARGUMENTS)                                         \
    QMPI_Register_tool_function(tool_id, NUMBER, (void (*)(void))counter_##X);
    QMPIX_FOR_EACH_FUNCTION(REGISTER)
}

__attribute__((constructor)) static void register_tool(void)
{
    QMPI_Register_tool_name("counter", init);
}
