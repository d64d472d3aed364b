/* SPDX-License-Identifier: MIT */
/* See sends.h. */
#include "path/sends.h"

#include "util/util.h"

#include <stddef.h>

static bool is_complete(struct path_send *send)
{
    int flag = 0;
    return PMPI_Test(&send->request, &flag, MPI_STATUS_IGNORE) != MPI_SUCCESS || flag;
}

static void release(struct path_clock *clock, struct path_send *send)
{
    send->next = clock->idle;
    clock->idle = send;
}

/* Those that completed meanwhile, the oldest first. */
static void complete_pending(struct path_clock *clock)
{
    while (clock->pending && is_complete(clock->pending)) {
        struct path_send *send = clock->pending;
        clock->pending = send->next;
        release(clock, send);
    }
    if (!clock->pending)
        clock->pending_end = &clock->pending;
}

static struct path_send *take(struct path_clock *clock)
{
    struct path_send *send = clock->idle;
    if (!send)
        return qmpi_arena_take(sizeof *send);
    clock->idle = send->next;
    return send;
}

bool path_send(struct path_clock *clock, MPI_Comm shadow, int dest, int tag)
{
    if (clock->pending)
        complete_pending(clock);
    struct path_send *send = take(clock);
    if (!send)
        return PMPI_Send(&clock->value, 1, MPI_UINT64_T, dest, tag, shadow) == MPI_SUCCESS;
    send->value = clock->value;
    send->next = NULL;
    if (PMPI_Isend(&send->value, 1, MPI_UINT64_T, dest, tag, shadow, &send->request) !=
        MPI_SUCCESS) {
        release(clock, send);
        return false;
    }
    if (is_complete(send)) {
        release(clock, send);
    } else {
        *clock->pending_end = send;
        clock->pending_end = &send->next;
    }
    return true;
}

/* A clock whose message was never received need not complete: it is given up. */
void path_sends_end(struct path_clocks *clocks)
{
    for (struct path_clock *clock = clocks->all; clock; clock = clock->next) {
        complete_pending(clock);
        for (struct path_send *send = clock->pending; send; send = send->next)
            PMPI_Request_free(&send->request);
        clock->pending = NULL;
        clock->pending_end = &clock->pending;
    }
}
