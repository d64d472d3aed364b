/* SPDX-License-Identifier: MIT */
/*
 * The calls that exist only in MPICH's variant, with the prototypes and numbers of its mpi.h; the
 * two that announce a tool and its data are shared with ours: see registry/tool.c and
 * registry/layer.c. MPICH's own check nothing; these return error classes, and set outputs only on
 * success.
 */
#include "mpich/mpich.h"
#include "pmpi/pmpi.h"
#include "process/process.h"
#include "redirect/redirect.h"
#include "registry/registry.h"

/* From here on the names are mpi.h's. */
typedef QMPI_Context our_context;
#undef QMPI_Context
#undef QMPI_Functions_enum
#undef QMPI_Get_function

#if QMPI_MPICH_COUNT

_Static_assert(sizeof(QMPI_Context) == sizeof(struct qmpi_mpich_context) &&
                   _Alignof(QMPI_Context) == _Alignof(struct qmpi_mpich_context),
               "mpi.h's context is another one than that of the generated functions");

QMPI_API int QMPI_Register_function(int calling_tool_id, QMPI_MPICH_NUMBER function_enum,
                                    void (*function_ptr)(void));
QMPI_API int QMPI_Get_function(int calling_tool_id, QMPI_MPICH_NUMBER function_enum,
                               void (**function_ptr)(void), int *next_tool_id);
QMPI_API int QMPI_Get_tool_storage(QMPI_Context context, int tool_id, void **storage);
QMPI_API int QMPI_Get_calling_address(QMPI_Context context, void **address);

int QMPI_Register_function(int calling_tool_id, QMPI_MPICH_NUMBER function_enum,
                           void (*function_ptr)(void))
{
    const unsigned place = (unsigned)function_enum;
    if (place >= QMPI_MPICH_COUNT)
        return MPI_ERR_ARG;
    return qmpi_layer_intercept_mpich(calling_tool_id, qmpi_mpich_numbers[place], function_ptr);
}

/* Checks are few: there is a row for every tool, which holds NULL where nothing is. */
int QMPI_Get_function(int calling_tool_id, QMPI_MPICH_NUMBER function_enum,
                      void (**function_ptr)(void), int *next_tool_id)
{
    const unsigned place = (unsigned)function_enum, id = (unsigned)calling_tool_id;
    if (place >= QMPI_MPICH_COUNT || id >= qmpi_chain_height || !function_ptr || !next_tool_id)
        return MPI_ERR_ARG;
    const our_context *row = __atomic_load_n(&qmpi_chain_nexts[id], __ATOMIC_ACQUIRE);
    const our_context next = __atomic_load_n(&row[qmpi_mpich_numbers[place]], __ATOMIC_ACQUIRE);
    if (!next)
        return MPI_ERR_ARG;
    *function_ptr = ((const struct qmpi_node *)next)->mpich_function;
    *next_tool_id = next->tool_id;
    return MPI_SUCCESS;
}

/* Tool 0 is MPI, which has none. */
int QMPI_Get_tool_storage(QMPI_Context context, int tool_id, void **storage)
{
    (void)context;
    if (!storage || tool_id < 0 || tool_id > QMPIX_stack.layers || !QMPIX_stack.storage)
        return MPI_ERR_ARG;
    *storage = QMPIX_stack.storage[tool_id];
    return MPI_SUCCESS;
}

/*
 * What this thread was told last, by the caller: tools ask in every call, and calls come again. One
 * pointer each, to what never changes: a signal handler whose calls ask, too, finds an answer whole
 * and leaves one whole.
 */
static _Thread_local const struct qmpi_mpich_address *answers[16];

static __attribute__((noinline)) int
find_address(void *caller, const struct qmpi_mpich_address **answer, void **address)
{
    const bool direct = !qmpi_binding_any && !qmpi_pmpi_is_used;
    const void *place = direct ? caller : qmpi_caller_of_program(caller);
    const struct qmpi_mpich_address *found = place ? qmpi_mpich_address(place) : NULL;
    *address = found ? (void *)(uintptr_t)found->text : NULL;
    if (direct) /* else it may be found by unwinding, and be another one next time */
        *answer = found;
    return MPI_SUCCESS;
}

int QMPI_Get_calling_address(QMPI_Context context, void **address)
{
    (void)context;
    if (!address)
        return MPI_ERR_ARG;
    void *const caller = qmpi_caller_of_layers();
    const struct qmpi_mpich_address **answer =
        &answers[(uintptr_t)caller / 4 % (sizeof answers / sizeof *answers)];
    const struct qmpi_mpich_address *known = *answer;
    if (!known || known->address != caller)
        return find_address(caller, answer, address);
    *address = (void *)(uintptr_t)known->text;
    return MPI_SUCCESS;
}

#endif
