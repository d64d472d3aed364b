/* SPDX-License-Identifier: MIT */
/*
 * A native tool with an interceptor for each function except MPI_Pcontrol. It calls the next
 * function by QMPIX_NEXT or, with -DLOOK_UP, looks it up in each call. Options:
 *   take=N    it intercepts N quarters of the functions
 *   seed=N    selects these functions
 *   talks=1   it makes MPI calls of its own in init and in MPI_Barrier
 */
#include "tool.h"

#include <qmpi/qmpi.h>
#include <qmpi/wrappers.h>

_Static_assert((int)MPI_LAST_FUNC <= STORM_FUNCTIONS, "the ledger has no room for all functions");

struct layer {
    int tool_id, talks;
};
static struct layer layers[256];
static _Thread_local int inside;

/* Makes a call to the layers below this one, a call that enters the stack at the top, and a call
 * that no layer sees. */
static void talk(int tool_id)
{
    const struct storm_tool_call call = storm_tool_call_begin();
    void (*function)(void) = NULL;
    QMPI_Context next = NULL;
    int number = -1, finalized = -1, version = 0;
    inside = 1;
    if (QMPI_Get_function(tool_id, MPI_INITIALIZED_T, &function, &next) == MPI_SUCCESS) {
        storm_add(&ledger->layer[tool_id].down[STORM_Initialized], 1);
        ((QMPI_Initialized_t *)function)(next, &number);
    }
    storm_add(&ledger->layer[tool_id].top[STORM_Get_version], 1);
    MPI_Get_version(&version, &number);
    PMPI_Finalized(&finalized); /* 1 in calls of a session that is open after MPI_Finalize */
    if (version != MPI_VERSION || (finalized != 0 && finalized != 1))
        storm_wrong(ledger, "layer %d: its own calls gave %d and %d", tool_id, version, finalized);
    inside = 0;
    storm_tool_call_end(&call);
}

__attribute__((noinline)) static int note(QMPI_Context context, int number)
{
    int tool_id = 0;
    void *storage = NULL, *address = NULL;
    if (QMPIX_Context_get_tool_id(context, &tool_id) != MPI_SUCCESS || tool_id < 1 ||
        tool_id >= STORM_LAYERS) {
        storm_wrong(ledger, "function %d: a context of layer %d", number, tool_id);
        return 1;
    }
    storm_seen(tool_id, number);
    if (QMPI_Context_get_storage(context, tool_id, &storage) != MPI_SUCCESS ||
        storage != &layers[tool_id] || context->function_id != number)
        storm_wrong(ledger, "layer %d, function %d: storage %p, context of function %d", tool_id,
                    number, storage, context->function_id);
    QMPI_Context_get_calling_address(context, tool_id, &address);
    storm_check_caller(tool_id, number, address);
    if (number == MPI_BARRIER_T && layers[tool_id].talks && !inside)
        talk(tool_id);
    return tool_id;
}

#ifdef LOOK_UP
#define NEXT(X, NUMBER)                                                                            \
    void (*native_function)(void) = NULL;                                                          \
    QMPI_Context native_next = NULL;                                                               \
    QMPI_Get_function(native_id, NUMBER, &native_function, &native_next);
#define FUNCTION(X) ((QMPI_##X##_t *)native_function)
#undef QMPIX_NEXT_CONTEXT
#define QMPIX_NEXT_CONTEXT(c) native_next
#else
#define NEXT(X, NUMBER) (void)native_id;
#define FUNCTION(X) QMPIX_NEXT(context, X)
#endif

#define WRAP(RESULT, X, NUMBER, PARAMETERS, ARGUMENTS)                                             \
    static RESULT native_##X PARAMETERS                                                            \
    {                                                                                              \
        const int native_id = note(context, NUMBER);                                               \
        NEXT(X, NUMBER)                                                                            \
        return FUNCTION(X) ARGUMENTS;                                                              \
    }
QMPIX_FOR_EACH_FUNCTION(WRAP)

static int option(int tool_id, const char *key, int otherwise)
{
    const char *value = NULL;
    return QMPIX_Tool_get_option(tool_id, key, &value) == MPI_SUCCESS ? atoi(value) : otherwise;
}

static void init(int tool_id)
{
    const int take = option(tool_id, "take", 4), seed = option(tool_id, "seed", 0);
    layers[tool_id] = (struct layer){tool_id, option(tool_id, "talks", 0)};
    storm_add(&ledger->layer[tool_id].inits, 1);
    QMPI_Register_tool_storage(tool_id, &layers[tool_id]);
#define REGISTER(RESULT, X, NUMBER, PARAMETERS, ARGUMENTS)                                         \
    if (storm_chosen(NUMBER, take, seed)) {                                                        \
        storm_takes(tool_id, NUMBER);                                                              \
        QMPI_Register_tool_function(tool_id, NUMBER, (void (*)(void))native_##X);                  \
    }
    QMPIX_FOR_EACH_FUNCTION(REGISTER)
    if (layers[tool_id].talks) {
        const struct storm_tool_call call = storm_tool_call_begin();
        int flag = 0;
        storm_add(&ledger->layer[tool_id].down[STORM_Initialized], 1);
        MPI_Initialized(&flag);
        storm_tool_call_end(&call);
    }
}

__attribute__((constructor)) static void register_tool(void)
{
    ledger = storm_open_ledger();
    QMPI_Register_tool_name(TOOL, init);
}
