/* SPDX-License-Identifier: MIT */
/*
 * Prints for some MPI calls the name of the function that contains the caller, as dladdr finds it.
 * In MPI_Barrier, the tool calls MPI_Comm_size itself, from a function that it exports. Calls of
 * MPI_Comm_rank on MPI_COMM_SELF, which four threads make, are checked and counted: all of a
 * thread's calls must have the same caller, which is printed for the first of them only. When the
 * process ends, the tool asks for the caller outside a call. With the option asks=no, the layer
 * does not ask for the caller of MPI_Comm_size.
 */
#define _GNU_SOURCE
#include "trace.h"

#include <qmpi/qmpi.h>

#include <dlfcn.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <string.h>

static QMPI_Context last_context; /* used outside a call, which the draft does not forbid */
static int last_tool_id;

static bool quiet[256]; /* [tool_id] */

struct tally {
    atomic_int right, wrong;
};
static struct tally tallies[256]; /* [tool_id] */

static const char *name_of(const void *address)
{
    Dl_info info;
    return address && dladdr(address, &info) && info.dli_sname ? info.dli_sname : "unknown";
}

static void *address_of(QMPI_Context context, int *tool_id)
{
    void *address = NULL;
    QMPIX_Context_get_tool_id(context, tool_id);
    if (QMPI_Context_get_calling_address(context, *tool_id, &address) != MPI_SUCCESS)
        trace("caller: the call failed");
    return address;
}

static void note(QMPI_Context context, const char *function)
{
    int tool_id = 0;
    const void *address = address_of(context, &tool_id);
    trace("caller %d %s from %s", tool_id, function, name_of(address));
}

/* Prints the caller of the thread's first call. Counts a call as wrong if its caller differs from
 * that of the thread's previous call, otherwise as right. */
static void check_thread(QMPI_Context context)
{
    static _Thread_local const void *first[256];
    int tool_id = 0;
    const void *address = address_of(context, &tool_id);
    if (!first[tool_id])
        trace("caller %d thread from %s", tool_id, name_of(address));
    if (first[tool_id] && first[tool_id] != address)
        atomic_fetch_add(&tallies[tool_id].wrong, 1);
    else
        atomic_fetch_add(&tallies[tool_id].right, 1);
    first[tool_id] = address;
}

static int caller_rank(QMPI_Context context, MPI_Comm comm, int *rank)
{
    if (comm == MPI_COMM_SELF)
        check_thread(context);
    else
        note(context, "MPI_Comm_rank");
    return QMPIX_NEXT(context, Comm_rank)(QMPIX_NEXT_CONTEXT(context), comm, rank);
}

static int caller_size(QMPI_Context context, MPI_Comm comm, int *size)
{
    if (!quiet[context->tool_id])
        note(context, "MPI_Comm_size");
    const int result = QMPIX_NEXT(context, Comm_size)(QMPIX_NEXT_CONTEXT(context), comm, size);
    __asm__ volatile("" ::: "memory"); /* prevents a tail call */
    return result;
}

__attribute__((noinline, visibility("default"))) int function_of_the_tool(MPI_Comm comm);
int function_of_the_tool(MPI_Comm comm)
{
    int size = 0;
    const int result = MPI_Comm_size(comm, &size);
    __asm__ volatile("" ::: "memory");
    return result;
}

static int caller_barrier(QMPI_Context context, MPI_Comm comm)
{
    note(context, "MPI_Barrier");
    function_of_the_tool(comm);
    note(context, "MPI_Barrier again");
    const int result = QMPIX_NEXT(context, Barrier)(QMPIX_NEXT_CONTEXT(context), comm);
    note(context, "MPI_Barrier at the end");
    return result;
}

static int caller_initialized(QMPI_Context context, int *flag)
{
    note(context, "MPI_Initialized");
    return QMPIX_NEXT(context, Initialized)(QMPIX_NEXT_CONTEXT(context), flag);
}

static int caller_init(QMPI_Context context, int *argc, char ***argv, int required, int *provided)
{
    note(context, "MPI_Init_thread");
    return QMPIX_NEXT(context, Init_thread)(QMPIX_NEXT_CONTEXT(context), argc, argv, required,
                                            provided);
}

static int caller_finalize(QMPI_Context context)
{
    int tool_id = 0;
    note(context, "MPI_Finalize");
    address_of(context, &tool_id);
    last_context = context;
    last_tool_id = tool_id;
    struct tally *tally = &tallies[tool_id];
    trace("caller %d right %d wrong %d", tool_id, atomic_load(&tally->right),
          atomic_load(&tally->wrong));
    return QMPIX_NEXT(context, Finalize)(QMPIX_NEXT_CONTEXT(context));
}

static void init(int tool_id)
{
    const char *asks = NULL;
    QMPIX_Tool_get_option(tool_id, "asks", &asks);
    quiet[tool_id] = asks && !strcmp(asks, "no");
    QMPI_Register_tool_function(tool_id, MPI_INITIALIZED_T, (void (*)(void))caller_initialized);
    QMPI_Register_tool_function(tool_id, MPI_INIT_THREAD_T, (void (*)(void))caller_init);
    QMPI_Register_tool_function(tool_id, MPI_COMM_RANK_T, (void (*)(void))caller_rank);
    QMPI_Register_tool_function(tool_id, MPI_COMM_SIZE_T, (void (*)(void))caller_size);
    QMPI_Register_tool_function(tool_id, MPI_BARRIER_T, (void (*)(void))caller_barrier);
    QMPI_Register_tool_function(tool_id, MPI_FINALIZE_T, (void (*)(void))caller_finalize);
}

__attribute__((constructor)) static void register_tool(void)
{
    QMPI_Register_tool_name("caller", init);
}

__attribute__((destructor)) static void ask_outside_a_call(void)
{
    void *address = &last_context;
    if (last_context &&
        QMPI_Context_get_calling_address(last_context, last_tool_id, &address) == MPI_SUCCESS)
        trace("caller outside a call: %s", address ? "an address" : "NULL");
}
