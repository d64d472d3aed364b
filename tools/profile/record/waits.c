/* SPDX-License-Identifier: MIT */
/* See waits.h. */
#include "tools/profile/record/waits.h"

#include "toolkit/toolkit.h"
#include "tools/profile/record/traits.h"
#include "util/util.h"

#include <string.h>

/* A call that takes at most this time, plus a time for each byte, is assumed not to have waited. */
enum { FLOOR_NANOSECONDS = 10000, NANOSECONDS_PER_BYTE = 1 };

uint64_t waits_floor = UINT64_MAX;
/* ticks_of_bytes is the time that 2^TICK_BITS bytes explain. With this scale, counting a call needs
 * integers only, and does not set floating-point flags of the program. */
enum { TICK_BITS = 20 };
static uint64_t ticks_of_bytes;

QMPI_COMPUTES static void compute_times(double tick)
{
    const double ticks_per_nanosecond = 1e-9 / tick;
    waits_floor = (uint64_t)(FLOOR_NANOSECONDS * ticks_per_nanosecond);
    ticks_of_bytes =
        (uint64_t)(ticks_per_nanosecond * NANOSECONDS_PER_BYTE * (UINT64_C(1) << TICK_BITS));
}

void waits_start(void)
{
    struct qmpi_arithmetic before;
    qmpi_arithmetic_begin(&before);
    compute_times(ticks_length());
    qmpi_arithmetic_end(&before);
}

static uint64_t find_bytes_time(uint64_t bytes)
{
    __extension__ typedef unsigned __int128 wide;
    return (uint64_t)((wide)bytes * ticks_of_bytes >> TICK_BITS);
}

/* ---- Peers ----------------------------------------------------------------------------------- */

enum { UNKNOWN = -1 };

int waits_find_world_rank(MPI_Comm comm, int rank)
{
    int world = MPI_UNDEFINED;
    if (rank < 0 || comm == MPI_COMM_NULL ||
        QMPIX_Comm_world_rank(comm, rank, &world) != MPI_SUCCESS || world < 0)
        return UNKNOWN;
    return world;
}

/* Makes room for more peers. The memory of fewer peers is lost, which is less than that of the
 * largest number. Returns false if memory is exhausted; the waiting time is then divided among the
 * others. */
static bool make_room(struct thread_completed *completed)
{
    const size_t room = completed->room ? 2 * completed->room : 32;
    int *peers = qmpi_memory_take(room * sizeof *peers);
    if (!peers)
        return false;
    if (completed->count)
        memcpy(peers, completed->peers, completed->count * sizeof *peers);
    completed->peers = peers;
    completed->room = room;
    return true;
}

void waits_add_peer(struct thread_profile *thread, int peer, uint64_t bytes)
{
    struct thread_completed *completed = &thread->completed;
    completed->bytes += bytes;
    if (completed->count < completed->room || make_room(completed))
        completed->peers[completed->count++] = peer;
}

/* Finds the peer for which a blocking call waits, as a rank in MPI_COMM_WORLD: the sender if the
 * call receives, otherwise the receiver. Returns false if the call has no peer. */
static bool find_peer(const QMPIX_Call *call, const struct traits *traits, int *peer)
{
    const struct traits_awaited *awaited = &traits->awaited;
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
    *peer = waits_find_world_rank(comm, rank);
    return true;
}

/* ---- Counting -------------------------------------------------------------------------------- */

/* Adds a wait of the call number thread->completed.calls. */
static void add_wait(struct thread_profile *thread, const struct thread_site *site, int peer,
                     uint64_t time)
{
    const uint64_t key[] = {(uint64_t)(uintptr_t)site, (uint64_t)(int64_t)peer};
    struct thread_wait_row *row = table_get(&thread->peer_waits, key, 2);
    if (row) {
        figure_add(&row->calls, row->last_call != thread->completed.calls);
        figure_add(&row->time, time);
        row->last_call = thread->completed.calls;
    }
}

void waits_add(struct thread_profile *thread, const QMPIX_Call *call,
               const struct thread_site *site, uint64_t time, uint64_t bytes)
{
    const struct traits *traits = &traits_all[call->function->number];
    struct thread_completed *completed = &thread->completed;
    const bool completes = traits->receives == RECEIVES_COMPLETES;
    const bool has_peer = traits->awaited.source >= 0 || traits->awaited.destination >= 0;
    if (!completes && (!has_peer || traits->comm < 0))
        return;
    const uint64_t moved = completes ? completed->bytes : bytes;
    const uint64_t explained = waits_floor + find_bytes_time(moved);
    int peer = UNKNOWN;
    if (time <= explained || (!completes && !find_peer(call, traits, &peer)))
        return;
    const uint64_t waited = time - explained;
    completed->calls++;
    if (!completes || !completed->count)
        add_wait(thread, site, peer, waited);
    for (size_t i = 0; completes && i < completed->count; i++)
        add_wait(thread, site, completed->peers[i], waited / completed->count);
}
