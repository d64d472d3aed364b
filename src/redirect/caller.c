/* SPDX-License-Identifier: MIT */
/* See caller.h. Unwinding takes time, so it is used only where the return address of a frame is not
 * enough. */
#define _GNU_SOURCE
#include "redirect/caller.h"

#include "pmpi/pmpi.h"
#include "process/process.h"
#include "redirect/attributes.h"
#include "registry/registry.h"
#include "util/util.h"

#include <signal.h>
#include <string.h>

/* ---- Stacks ---------------------------------------------------------------------------------- */

/* Whether qmpi_dispatch_thread.stack is known. A signal handler may set the stack, too, but to the
 * same values as the interrupted code. */
static _Thread_local enum {
    UNKNOWN,
    KNOWN,
    SWITCHED /* this thread also runs on other stacks */
} state __attribute__((tls_model("initial-exec")));

static bool is_on_signal_stack(void)
{
    stack_t stack;
    return !sigaltstack(NULL, &stack) && (stack.ss_flags & SS_ONSTACK);
}

/*
 * Once code has run on another stack, no frame is certain any more: a user-level thread may have
 * restored, in qmpi_dispatch_thread.entry, a frame on the thread's own stack whose call had ended.
 */
__attribute__((noinline)) const char *qmpi_caller_examine_frame(const char *frame, const char *here)
{
    struct qmpi_call_stack *const own = &qmpi_dispatch_thread.stack;
    if (frame == qmpi_dispatch_thread.jumped_frame && frame)
        return NULL;
    if (state == UNKNOWN) {
        const struct qmpi_call_stack stack = qmpi_call_stack_of_thread();
        own->begin = stack.begin;
        own->end = stack.end;
        state = KNOWN;
    }
    if ((uintptr_t)here > own->begin && (uintptr_t)here <= own->end && (uintptr_t)frame <= own->end)
        return frame > here ? frame : NULL;
    if (state == KNOWN && !is_on_signal_stack()) {
        own->end = 0;
        state = SWITCHED;
    }
    return NULL;
}

/* ---- Unwinding ------------------------------------------------------------------------------- */

/* Searches return addresses, which are given innermost first. Returns the index of the wanted one,
 * or -1 if it is not among them. Only find_program_call uses `from`: its search starts at this
 * address. */
typedef int address_search(void *const *frames, int count, const void *from);

/* Returns whether an address is in a trampoline. */
static bool is_trampoline(const void *address)
{
    return (uintptr_t)address - (uintptr_t)qmpi_trampolines_begin <=
           (uintptr_t)qmpi_trampolines_end - (uintptr_t)qmpi_trampolines_begin;
}

/* Returns whether an address is in the code of thunks that left qmpi_dispatch_thread.entry
 * unchanged. */
static bool is_inner_thunk(const void *address)
{
    return (uintptr_t)address - (uintptr_t)qmpi_thunks_amid_begin <=
           (uintptr_t)qmpi_thunks_amid_end - (uintptr_t)qmpi_thunks_amid_begin;
}

bool qmpi_caller_is_between(const void *address)
{
    return qmpi_binding_holds(address) || qmpi_attributes_hold(address) ||
           qmpi_pmpi_holds(address) || qmpi_object_self_contains(address) ||
           is_trampoline(address) || is_inner_thunk(address);
}

/* Finds the program's call, starting at `caller`. */
static int find_program_call(void *const *frames, int count, const void *caller)
{
    int i = 0;
    while (i < count && frames[i] != caller)
        i++;
    while (i < count && qmpi_caller_is_between(frames[i]))
        i++;
    return i < count ? i : -1;
}

/* Finds the caller of the innermost trampoline. */
static int find_trampoline_caller(void *const *frames, int count, const void *from)
{
    int i = 0;
    (void)from;
    while (i < count && !is_trampoline(frames[i]))
        i++;
    return i + 1 < count ? i + 1 : -1;
}

/* Finds the caller of the innermost thunk that left qmpi_dispatch_thread.entry unchanged. */
static int find_inner_thunk_caller(void *const *frames, int count, const void *from)
{
    int i = 0;
    (void)from;
    while (i < count && !is_inner_thunk(frames[i]))
        i++;
    return i + 1 < count ? i + 1 : -1;
}

/* Unwinds a few frames first, and more if necessary, because the wanted frame is usually near. Sets
 * `all` if the whole stack was searched. */
static __attribute__((noinline)) void *unwind_to(address_search *find, const void *from, bool *all)
{
    static const int depths[] = {10, 32, 256};
    void *frames[256];
    *all = false;
    for (size_t i = 0; i < sizeof depths / sizeof *depths; i++) {
        const int count = qmpi_call_stack_unwind(frames, depths[i]);
        const int at = find(frames, count, from);
        if (at >= 0)
            return frames[at];
        *all = count < depths[i];
        if (*all)
            break;
    }
    return NULL;
}

void *qmpi_caller_by_unwinding(void)
{
    bool all;
    if (!qmpi_dispatch_thread.entry.frame && state != SWITCHED)
        return NULL;
    void *caller = unwind_to(find_trampoline_caller, NULL, &all);
    if (!caller && all) /* longjmp had left the outer call */
        caller = unwind_to(find_inner_thunk_caller, NULL, &all);
    /* qmpi_dispatch_thread.jumped_frame is kept: this call may have the same frame as the call that
     * was left, and qmpi_dispatch_thread.entry gets this frame again when this call returns. */
    if (!caller && all)
        qmpi_dispatch_thread.entry.frame = NULL;
    return caller;
}

void *qmpi_caller_of_program(void *caller)
{
    bool all;
    void *found = caller && qmpi_caller_is_between(caller)
                      ? unwind_to(find_program_call, caller, &all)
                      : NULL;
    return found ? found : caller;
}

/* ---- The language binding -------------------------------------------------------------------- */

/* Returns the name of the exported function of a PMPI layer that contains an address, or NULL if
 * there is none. */
static const char *tool_function_at(const void *address)
{
    const struct qmpi_layer_group *group = qmpi_layer_group_of(address);
    for (int i = 0; group && i < group->count; i++) {
        if (qmpi_elf_loaded_contains(&group->objects[i], address))
            return qmpi_elf_loaded_function_at(&group->objects[i], address);
    }
    return NULL;
}

/* Returns the binding to which the code at an address belongs. Procedures of mpi_f08 may use
 * functions of the other binding, so that both are on the stack. The program may also call the
 * Fortran wrapper of a PMPI tool. */
static QMPIX_Binding binding_at(const void *address)
{
    const char *name;
    const bool is_binding = qmpi_binding_function_at(address, &name);
    if (!is_binding)
        name = tool_function_at(address);
    if (!name)
        return is_binding ? QMPIX_BINDING_FORTRAN : QMPIX_BINDING_C;
    const bool is_procedure = is_binding || qmpi_binding_is_procedure(name);
    /* MPICH's mpi_send_f08ts_ calls MPIR_Send_cdesc. In Open MPI, MPI_Send_f08 is a second name of
     * the procedure mpi_send_, which mpi_send_f08_ calls. */
    if (is_procedure &&
        ((strstr(name, "f08") && (*name == 'm' || *name == 'p')) || strstr(name, "_cdesc")))
        return QMPIX_BINDING_F08;
    return is_procedure ? QMPIX_BINDING_FORTRAN : QMPIX_BINDING_C;
}

/* Returns the binding through which a call with the return address `caller` has come from the
 * program. */
__attribute__((noinline)) static QMPIX_Binding find_binding(const void *caller)
{
    static const int depths[] = {16, 64, 256};
    void *frames[256];
    QMPIX_Binding binding = QMPIX_BINDING_C;
    for (size_t k = 0; k < sizeof depths / sizeof *depths; k++) {
        const int count = qmpi_call_stack_unwind(frames, depths[k]);
        int i = 0;
        while (i < count && frames[i] != caller)
            i++;
        for (; i < count && qmpi_caller_is_between(frames[i]); i++) {
            const QMPIX_Binding found = binding_at(frames[i]);
            binding = found > binding ? found : binding;
        }
        if (i < count || count < depths[k])
            break;
    }
    return binding;
}

static int get_binding(const void *caller, QMPIX_Binding *binding)
{
    *binding = caller && qmpi_binding_any && qmpi_caller_is_between(caller) ? find_binding(caller)
                                                                            : QMPIX_BINDING_C;
    return MPI_SUCCESS;
}

int QMPIX_Context_get_binding(QMPI_Context context, QMPIX_Binding *binding)
{
    if (!context || !binding)
        return MPI_ERR_ARG;
    return get_binding(qmpi_binding_any ? qmpi_caller_of_layers() : NULL, binding);
}

int QMPIX_Call_get_binding(const QMPIX_Call *call, QMPIX_Binding *binding)
{
    if (!call || !binding)
        return MPI_ERR_ARG;
    const struct qmpi_frame_entry entry = qmpi_dispatch_thread.entry;
    if (qmpi_binding_any && qmpi_caller_frame_is_of(entry.frame, call))
        return get_binding(qmpi_frame_return_address(entry), binding);
    return QMPIX_Context_get_binding(call->context, binding);
}

/* ---- Public calls ---------------------------------------------------------------------------- */

static void *find_any_caller(void)
{
    void *caller = qmpi_caller_of_layers();
    return qmpi_binding_any || qmpi_pmpi_is_used ? qmpi_caller_of_program(caller) : caller;
}

/* Returns whether neither a language binding nor a PMPI tool can call the entry points, which is
 * the usual case. */
static inline bool only_program_calls(void)
{
    return !(qmpi_binding_any | qmpi_pmpi_is_used);
}

/* A function of its own, so that the usual case needs no stack frame. */
__attribute__((noinline)) static int get_any_calling_address(void *address)
{
    void *caller = find_any_caller();
    memcpy(address, &caller, sizeof caller);
    return MPI_SUCCESS;
}

int QMPI_Context_get_calling_address(QMPI_Context context, int tool_id, void *address)
{
    if (!context || !address || tool_id < 1 || tool_id > QMPIX_stack.layers)
        return MPI_ERR_ARG;
    const struct qmpi_frame_entry entry = qmpi_dispatch_thread.entry;
    if (__builtin_expect(!qmpi_caller_frame_is_in_use(entry.frame, QMPI_THIS_FRAME()) ||
                             !only_program_calls(),
                         0))
        return get_any_calling_address(address);
    void *caller = qmpi_frame_return_address(entry);
    memcpy(address, &caller, sizeof caller);
    return MPI_SUCCESS;
}

__attribute__((noinline)) static int get_any_caller(const QMPIX_Call *call, void **caller)
{
    if (!call || !caller)
        return MPI_ERR_ARG;
    const struct qmpi_frame_entry entry = qmpi_dispatch_thread.entry;
    *caller = qmpi_caller_frame_is_of(entry.frame, call) ? qmpi_frame_return_address(entry)
                                                         : qmpi_caller_of_layers();
    if (!only_program_calls())
        *caller = qmpi_caller_of_program(*caller);
    return MPI_SUCCESS;
}

int QMPIX_Call_get_caller(const QMPIX_Call *call, void **caller)
{
    const struct qmpi_frame_entry entry = qmpi_dispatch_thread.entry;
    if (__builtin_expect(
            !caller || !qmpi_caller_frame_is_of(entry.frame, call) || !only_program_calls(), 0))
        return get_any_caller(call, caller);
    *caller = qmpi_frame_return_address(entry);
    return MPI_SUCCESS;
}
