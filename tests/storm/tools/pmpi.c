/* SPDX-License-Identifier: MIT */
/*
 * A PMPI tool. Its environment contains the number of its layer (option env.STORM_LAYER). It counts
 * the calls that reach it, in the ledger and in a variable of its own. Macros select how it is
 * built:
 *   WRAPS     the functions that it wraps: STORM_PMPI_ALL, STORM_PMPI_HALF or STORM_PMPI_FEW
 *   BY_NAME   it looks up the next function by dlsym in each call
 *   KEEPS     with BY_NAME: it looks up each function only once
 *   DEPENDS   it needs a library of its own that stores its state (state.c)
 *   SHARES    it needs a library with MPI calls that plugins of the program also need (plugin.c)
 *   OPENS     it opens a library in its constructor, and closes the library in MPI_Init and
 *             MPI_Init_thread (1), or in MPI_Finalize (2)
 *   TALKS     it makes an MPI call of its own in MPI_Barrier and, unless STORM_QUIET is set, in its
 *             constructor
 */
#include "pmpi.h"

#include "../plugin.h"

#include <dlfcn.h>

static int layer, tool_calls;

#ifdef DEPENDS
int storm_state_enter(int layer);
#else
#define storm_state_enter(layer) (layer)
#endif

#ifdef SHARES
void storm_shared_calls(const struct storm_use *use);
#endif

#ifdef OPENS
static void *opened;
static int (*opened_function)(int);
#endif

static void close_what_was_opened(int function)
{
#ifdef OPENS
    if (opened && function == (OPENS == 1 ? STORM_Init : STORM_Finalize)) {
        dlclose(opened);
        opened = NULL;
        opened_function = NULL;
    }
    if (opened_function && opened_function(20) != 21)
        storm_wrong(ledger, "layer %d: the library that it opened is another one", layer);
#else
    (void)function;
#endif
}

struct storm_tool_call storm_pmpi_tool_call(int function)
{
    storm_add(&ledger->layer[layer].down[function], 1);
    return storm_tool_call_begin();
}

static void talk(void)
{
#ifdef TALKS
    const struct storm_tool_call call = storm_pmpi_tool_call(STORM_Initialized);
    int flag = -1;
    PMPI_Initialized(&flag);
    storm_tool_call_end(&call);
#endif
}

static void note(int function)
{
    const int owner = storm_state_enter(layer);
    if (owner != layer)
        storm_wrong(ledger, "layer %d: its state is layer %d's", layer, owner);
    storm_seen(layer, function);
    __atomic_add_fetch(&tool_calls, 1, __ATOMIC_RELAXED);
    close_what_was_opened(function == STORM_Init_thread ? STORM_Init : function);
    if (function == STORM_Barrier)
        talk();
}

#ifdef BY_NAME
#define FOUND(X, PMPI) ((__typeof__(&X))(uintptr_t)dlsym(RTLD_NEXT, PMPI))
#ifdef KEEPS
#define NEXT(X, PMPI)                                                                              \
    static __typeof__(&X) saved;                                                                   \
    if (!__atomic_load_n(&saved, __ATOMIC_ACQUIRE))                                                \
        __atomic_store_n(&saved, FOUND(X, PMPI), __ATOMIC_RELEASE);
#define CALL(X) saved
#else
#define NEXT(X, PMPI) const __typeof__(&X) found = FOUND(X, PMPI);
#define CALL(X) found
#endif
#else
#define NEXT(X, PMPI)
#define CALL(X) (P##X)
#endif

/* The parentheses around the name prevent the expansion of macros of mpi.h. */
#define WRAP(RESULT, X, NAME, PARAMETERS, ARGUMENTS)                                               \
    RESULT(NAME) PARAMETERS                                                                        \
    {                                                                                              \
        note(STORM_##X);                                                                           \
        NEXT(NAME, "P" #NAME)                                                                      \
        return CALL(NAME) ARGUMENTS;                                                               \
    }
WRAPS(WRAP)

__attribute__((constructor)) static void begin(void)
{
    const char *number = getenv("STORM_LAYER");
    layer = number ? atoi(number) : 0;
    ledger = storm_open_ledger();
    if (layer < 1 || layer >= STORM_LAYERS)
        return;
    storm_add(&ledger->layer[layer].inits, 1);
#define TAKES(RESULT, X, NAME, PARAMETERS, ARGUMENTS) storm_takes(layer, STORM_##X);
    WRAPS(TAKES)
#ifdef OPENS
    opened = dlopen(getenv("STORM_HELP"), RTLD_NOW | (layer % 2 ? RTLD_LOCAL : RTLD_GLOBAL));
    opened_function = opened ? (int (*)(int))(uintptr_t)dlsym(opened, "storm_help") : NULL;
#endif
    if (!getenv("STORM_QUIET"))
        talk();
}

__attribute__((destructor)) static void end(void)
{
    uint64_t sum = 0;
    for (int i = 0; i < STORM_FUNCTIONS; i++)
        sum += ledger->layer[layer].seen[i];
    if (ledger->caller && sum < (uint64_t)tool_calls)
        storm_wrong(ledger, "layer %d: %d calls in its own variable", layer, tool_calls);
#ifdef SHARES
    if (tool_calls < 0)
        storm_shared_calls(NULL);
#endif
}
