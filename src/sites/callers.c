/* SPDX-License-Identifier: MIT */
/*
 * The public call for the callers of an MPI call. Few stacks have a frame whose rule the walk does
 * not know: those are unwound in full.
 */
#include "dispatch/dispatch.h"
#include "redirect/redirect.h"
#include "sites/walk.h"
#include "util/util.h"

#include <qmpi/observer.h>

/* How many frames the libraries may have between us and the program's call. */
enum { BETWEEN_USUAL = 24, BETWEEN_MAX = 256 };

/* False: there may be more of what matters. */
static bool add_all(struct qmpi_callers *callers, void *const *frames, int count, int room,
                    const void *caller)
{
    int i = 0;
    while (i < count && frames[i] != caller)
        i++;
    for (; i < count; i++) {
        if (!qmpi_callers_add(callers, (uintptr_t)frames[i], qmpi_walk_code((uintptr_t)frames[i])))
            return true;
    }
    if (count == room)
        return false;
    qmpi_callers_end(callers);
    return true;
}

static __attribute__((noinline)) void unwind(struct qmpi_callers *callers, const void *caller)
{
    void *frames[BETWEEN_MAX];
    const int usual = callers->capacity + BETWEEN_USUAL;
    const int rooms[] = {usual < BETWEEN_MAX ? usual : BETWEEN_MAX, BETWEEN_MAX};
    for (size_t i = 0; i < sizeof rooms / sizeof *rooms; i++) {
        callers->count = callers->start_count = 0;
        if (add_all(callers, frames, qmpi_unwind(frames, rooms[i]), rooms[i], caller))
            return;
    }
}

int QMPIX_Call_get_callers(const QMPIX_Call *call, int capacity, void **callers, int *count)
{
    struct qmpi_callers found = {.all = callers, .capacity = capacity};
    if (!call || !count || capacity < 0 || (capacity && !callers))
        return MPI_ERR_ARG;
    const void *const frame = qmpi_caller_frame();
    if (capacity && (!frame || !qmpi_walk_up(&found, frame)))
        unwind(&found, qmpi_caller_of_layers());
    if (capacity && !found.count && (callers[0] = qmpi_caller_of_layers()))
        found.count = 1; /* the program is not on the stack */
    *count = found.count;
    return MPI_SUCCESS;
}
