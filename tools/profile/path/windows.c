/* SPDX-License-Identifier: MIT */
/* See windows.h. */
#include "path/windows.h"

#include "util/util.h"

void path_window_add(struct path_windows *windows, MPI_Win window, struct path_comm *comm)
{
    struct path_window *made = windows->unused;
    if (made)
        windows->unused = made->next;
    else if (!(made = qmpi_arena_take(sizeof *made)))
        return;
    *made = (struct path_window){window, comm, windows->first};
    windows->first = made;
    comm->users++;
}

struct path_comm *path_window_find(const struct path_windows *windows, MPI_Win window)
{
    const struct path_window *it = windows->first;
    while (it && it->window != window)
        it = it->next;
    return it ? it->comm : NULL;
}

struct path_comm *path_window_remove(struct path_windows *windows, MPI_Win window)
{
    struct path_window **place = &windows->first;
    while (*place && (*place)->window != window)
        place = &(*place)->next;
    struct path_window *it = *place;
    if (!it)
        return NULL;
    *place = it->next;
    it->next = windows->unused;
    windows->unused = it;
    return it->comm;
}
