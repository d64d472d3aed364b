/* SPDX-License-Identifier: MIT */
/*
 * A tool of MPICH's variant that prints from which function the program calls four functions of
 * MPI. The variant returns the address as text, which must be the same if the tool asks for it
 * twice in a call. Each thread that calls MPI_Comm_rank on MPI_COMM_SELF must do so from one place.
 * The tool prints only the first of these calls of each thread, and counts how many came from the
 * same place and how many did not.
 */
#define _GNU_SOURCE
#include "trace.h"

#include <dlfcn.h>
#include <mpi.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>

static atomic_int right, wrong;

static const char *text_of(QMPI_Context context)
{
    void *first = NULL, *second = NULL;
    if (QMPI_Get_calling_address(context, &first) != MPI_SUCCESS ||
        QMPI_Get_calling_address(context, &second) != MPI_SUCCESS || first != second)
        trace("teller WRONG: %p and %p", first, second);
    return first;
}

static const void *address_of(const char *text)
{
    char *end = NULL;
    const uintptr_t number = text ? strtoull(text, &end, 16) : 0;
    if (text && *end)
        trace("teller WRONG: '%s' is no address", text);
    return (const void *)number; /* NOLINT: the text is an address */
}

static const char *name_of(const char *text)
{
    Dl_info info;
    const void *address = address_of(text);
    return address && dladdr(address, &info) && info.dli_sname ? info.dli_sname : "unknown";
}

static void check_thread(QMPI_Context context)
{
    static _Thread_local const char *first;
    const char *text = text_of(context);
    if (!first)
        trace("teller thread from %s", name_of(text));
    atomic_fetch_add(first && first != text ? &wrong : &right, 1);
    first = text;
}

#define WRAP(X, NUMBER, PARAMETERS, ARGUMENTS, MANY)                                               \
    static int teller_##X PARAMETERS                                                               \
    {                                                                                              \
        void (*function)(void) = NULL;                                                             \
        int next = -1;                                                                             \
        if (MANY)                                                                                  \
            check_thread(context);                                                                 \
        else                                                                                       \
            trace("teller %d MPI_" #X " from %s", tool_id, name_of(text_of(context)));             \
        QMPI_Get_function(tool_id, NUMBER, &function, &next);                                      \
        return ((QMPI_##X##_t *)function)ARGUMENTS;                                                \
    }
WRAP(Initialized, MPI_INITIALIZED_T, (QMPI_Context context, int tool_id, int *flag),
     (context, next, flag), 0)
WRAP(Init_thread, MPI_INIT_THREAD_T,
     (QMPI_Context context, int tool_id, int *argc, char ***argv, int required, int *provided),
     (context, next, argc, argv, required, provided), 0)
WRAP(Comm_rank, MPI_COMM_RANK_T, (QMPI_Context context, int tool_id, MPI_Comm comm, int *rank),
     (context, next, comm, rank), comm == MPI_COMM_SELF)
WRAP(Finalize, MPI_FINALIZE_T, (QMPI_Context context, int tool_id), (context, next), 0)

static void init(int tool_id)
{
    QMPI_Register_function(tool_id, MPI_INITIALIZED_T, (void (*)(void))teller_Initialized);
    QMPI_Register_function(tool_id, MPI_INIT_THREAD_T, (void (*)(void))teller_Init_thread);
    QMPI_Register_function(tool_id, MPI_COMM_RANK_T, (void (*)(void))teller_Comm_rank);
    QMPI_Register_function(tool_id, MPI_FINALIZE_T, (void (*)(void))teller_Finalize);
}

__attribute__((constructor)) static void register_tool(void)
{
    QMPI_Register_tool_name("teller", init);
}

__attribute__((destructor)) static void ask_outside_a_call(void)
{
    const QMPI_Context context = {NULL};
    void *address = &right;
    if (QMPI_Get_calling_address(context, &address) == MPI_SUCCESS)
        trace("teller outside a call: %s", address ? "an address" : "NULL");
    trace("teller right %d wrong %d", atomic_load(&right), atomic_load(&wrong));
}
