/* SPDX-License-Identifier: MIT */
/* See caller.h. Unwinding takes time: it is done only for those who ask, where a frame's return
 * address alone does not tell. */
#define _GNU_SOURCE
#include "redirect/caller.h"

#include "pmpi/pmpi.h"
#include "process/process.h"
#include "redirect/attributes.h"
#include "util/util.h"

#include <stdint.h>

/* What is looked for among the return addresses of the stack, innermost first: the place of the
 * wanted one, or -1 where they do not reach that far. */
typedef int search(void *const *frames, int count, const void *from);

/* The code of the generated functions that note the caller. */
static bool is_trampoline(const void *address)
{
    return (uintptr_t)address - (uintptr_t)qmpi_trampolines_begin <=
           (uintptr_t)qmpi_trampolines_end - (uintptr_t)qmpi_trampolines_begin;
}

/* The code of thunks that do not, for somebody above seems to have. */
static bool is_amid(const void *address)
{
    return (uintptr_t)address - (uintptr_t)qmpi_thunks_amid_begin <=
           (uintptr_t)qmpi_thunks_amid_end - (uintptr_t)qmpi_thunks_amid_begin;
}

bool qmpi_is_between(const void *address)
{
    return qmpi_binding_holds(address) || qmpi_attributes_hold(address) ||
           qmpi_pmpi_layer_of(address) || qmpi_is_in_self(address) || is_trampoline(address) ||
           is_amid(address);
}

/* The program's call among those from `caller` on. */
static int find_program(void *const *frames, int count, const void *caller)
{
    int i = 0;
    while (i < count && frames[i] != caller)
        i++;
    while (i < count && qmpi_is_between(frames[i]))
        i++;
    return i < count ? i : -1;
}

/* What called the innermost trampoline. */
static int find_layers(void *const *frames, int count, const void *from)
{
    int i = 0;
    (void)from;
    while (i < count && !is_trampoline(frames[i]))
        i++;
    return i + 1 < count ? i + 1 : -1;
}

/* What called the innermost thunk that did not note its caller. */
static int find_amid(void *const *frames, int count, const void *from)
{
    int i = 0;
    (void)from;
    while (i < count && !is_amid(frames[i]))
        i++;
    return i + 1 < count ? i + 1 : -1;
}

/* The frame is near: few stacks are walked to their end. `all`: this one was. */
static __attribute__((noinline)) void *unwind(search *find, const void *from, bool *all)
{
    static const int depths[] = {10, 32, 256};
    void *frames[256];
    *all = false;
    for (size_t i = 0; i < sizeof depths / sizeof *depths; i++) {
        const int count = qmpi_unwind(frames, depths[i]);
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
    void *caller = unwind(find_layers, NULL, &all);
    if (!caller && all) /* what seemed to be a call above had been left */
        caller = unwind(find_amid, NULL, &all);
    /* qmpi_jumped_frame stays: if this call is made where the one was that was left, it restores
     * the frame of that one, which is the same, when it returns. */
    if (!caller && all)
        qmpi_entry_frame = NULL;
    return caller;
}

void *qmpi_caller_of_program(void *caller)
{
    bool all;
    void *found = caller && qmpi_is_between(caller) ? unwind(find_program, caller, &all) : NULL;
    return found ? found : caller;
}
