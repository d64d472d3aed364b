/* SPDX-License-Identifier: MIT */
/* See peer_waits.h. */
#include "record/peer_waits.h"

#include "record/receives.h"
#include "record/traits.h"
#include "toolkit/toolkit.h"

/* What a call takes that does not wait: at most so long, and so long for each byte. */
enum { FLOOR_NANOSECONDS = 10000, NANOSECONDS_PER_BYTE = 1 };

uint64_t peer_waits_floor = UINT64_MAX;
static double ticks_per_nanosecond;

void peer_waits_start(void)
{
    ticks_per_nanosecond = 1e-9 / ticks_length();
    peer_waits_floor = (uint64_t)(FLOOR_NANOSECONDS * ticks_per_nanosecond);
}

/* ---- Peers ----------------------------------------------------------------------------------- */

enum { UNKNOWN = -1 };

int peer_waits_world(MPI_Comm comm, int rank)
{
    int world = MPI_UNDEFINED;
    if (rank < 0 || comm == MPI_COMM_NULL ||
        QMPIX_Comm_world_rank(comm, rank, &world) != MPI_SUCCESS || world < 0)
        return UNKNOWN;
    return world;
}

void peer_waits_add(struct thread *thread, int peer, uint64_t bytes)
{
    struct completed *completed = &thread->completed;
    completed->bytes += bytes;
    if (completed->count < COMPLETED_MAX)
        completed->peers[completed->count++] = peer;
}

/* Of a call that is given its peer: the sender, if it receives. False: it has no peer. */
static bool find_peer(const QMPIX_Call *call, const struct traits *traits, int *peer)
{
    const struct awaited *awaited = &traits->awaited;
    const MPI_Comm comm = argument_comm(call, traits->comm);
    int rank = awaited->source >= 0 ? argument_int(call, awaited->source) : MPI_PROC_NULL;
    if (rank == MPI_PROC_NULL && awaited->destination >= 0)
        rank = argument_int(call, awaited->destination);
    if (rank == MPI_PROC_NULL)
        return false;
    if (rank == MPI_ANY_SOURCE && awaited->status >= 0) {
        MPI_Status status;
        if (argument_status_at(call, awaited->status, 0, &status))
            rank = status.MPI_SOURCE;
    }
    *peer = peer_waits_world(comm, rank);
    return true;
}

/* ---- Noting ---------------------------------------------------------------------------------- */

static void add(struct thread *thread, const struct site *site, int peer, uint64_t time)
{
    const uint64_t key[] = {(uint64_t)(uintptr_t)site, (uint64_t)(int64_t)peer};
    struct peer_wait_row *row = table_get(&thread->peer_waits, key, 2);
    if (row) {
        note_add(&row->calls, 1);
        note_add(&row->time, time);
    }
}

void peer_waits_note(struct thread *thread, const QMPIX_Call *call, const struct site *site,
                     uint64_t time, uint64_t bytes)
{
    const struct traits *traits = &traits_all[call->function->number];
    const struct completed *completed = &thread->completed;
    const bool completes = traits->receives == RECEIVES_COMPLETES;
    const bool has_peer = traits->awaited.source >= 0 || traits->awaited.destination >= 0;
    if (!completes && (!has_peer || traits->comm < 0))
        return;
    const uint64_t moved = completes ? completed->bytes : bytes;
    const uint64_t explained =
        peer_waits_floor + (uint64_t)((double)moved * NANOSECONDS_PER_BYTE * ticks_per_nanosecond);
    int peer = UNKNOWN;
    if (time <= explained || (!completes && !find_peer(call, traits, &peer)))
        return;
    const uint64_t waited = time - explained;
    if (!completes || !completed->count)
        add(thread, site, peer, waited);
    for (int i = 0; completes && i < completed->count; i++)
        add(thread, site, completed->peers[i], waited / (uint64_t)completed->count);
}
