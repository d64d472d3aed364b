/* SPDX-License-Identifier: MIT */
/* See sums.h. */
#include "tools/trace/profile/sums.h"

#include "standard/standard.h"

#include <string.h>

/* ---- Functions ------------------------------------------------------------------------------- */

/* Returns whether a call is blocking and may wait for the peer of its message. */
static bool may_wait(const QMPIX_Traits *traits)
{
    const unsigned others = QMPIX_TRAIT_NONBLOCKING | QMPIX_TRAIT_PERSISTENT | QMPIX_TRAIT_POLLS;
    switch (traits->role) {
    case QMPIX_ROLE_SEND:
    case QMPIX_ROLE_RECEIVE:
    case QMPIX_ROLE_SENDRECV:
    case QMPIX_ROLE_PROBE:
    case QMPIX_ROLE_MATCHED_PROBE:
        return !(traits->flags & others);
    default:
        return false;
    }
}

struct trace_sums_role trace_sums_find_role(const struct trace_function *function)
{
    QMPIX_Traits traits;
    standard_find_traits(function->name, &traits);
    const bool is_nonblocking = traits.flags & QMPIX_TRAIT_NONBLOCKING;
    struct trace_sums_role role = {
        .begins_mpi = traits.role == QMPIX_ROLE_INIT,
        .ends_mpi = traits.role == QMPIX_ROLE_FINALIZE,
        .aborts = traits.role == QMPIX_ROLE_ABORT,
        .begins_session = traits.role == QMPIX_ROLE_SESSION_INIT,
        .ends_session = traits.role == QMPIX_ROLE_SESSION_FINALIZE,
        .posts = is_nonblocking &&
                 (traits.role == QMPIX_ROLE_RECEIVE || traits.role == QMPIX_ROLE_MATCHED_RECEIVE),
        .starts = traits.role == QMPIX_ROLE_START,
        .is_one_sided = !strcmp(function->group, "one-sided"),
        .polls = traits.flags & QMPIX_TRAIT_POLLS,
        .completes = traits.role == QMPIX_ROLE_COMPLETE,
        .may_wait = may_wait(&traits),
        .sends_synchronously = is_nonblocking && traits.role == QMPIX_ROLE_SEND &&
                               traits.flags & QMPIX_TRAIT_SYNCHRONOUS,
        .fetches =
            traits.access == QMPIX_ACCESS_FETCH || traits.access == QMPIX_ACCESS_COMPARE_AND_SWAP,
        .frees_comm = traits.role == QMPIX_ROLE_COMM_FREE,
    };
    role.has_comm = !role.completes;
    role.has_transfers =
        role.starts || role.is_one_sided || !strcmp(function->group, "point-to-point");
    return role;
}

/* ---- Sums of calls --------------------------------------------------------------------------- */

void trace_sums_add(struct trace_sums_calls *sums, uint64_t time, uint64_t sent, uint64_t received)
{
    if (!sums->calls || time < sums->shortest)
        sums->shortest = time;
    if (time > sums->longest)
        sums->longest = time;
    sums->calls++;
    sums->time += time;
    sums->sent += sent;
    sums->received += received;
}

unsigned trace_sums_bin(uint64_t number, unsigned bins)
{
    const unsigned bin = 63U ^ (unsigned)__builtin_clzll(number | 1);
    return bin < bins ? bin : bins - 1;
}

struct profile_spread trace_sums_spread(double value, int rank)
{
    return (struct profile_spread){value, value, value, value, 0, rank, rank};
}

void trace_sums_fill(struct profile_calls *calls, const struct trace_sums_calls *sums, double tick,
                     int rank)
{
    *calls = (struct profile_calls){.calls = sums->calls,
                                    .time = trace_sums_spread((double)sums->time * tick, rank),
                                    .shortest = (double)sums->shortest * tick,
                                    .longest = (double)sums->longest * tick,
                                    .polling = (double)sums->polling * tick,
                                    .wait = trace_sums_spread(0, rank),
                                    .sent = sums->sent,
                                    .received = sums->received};
}

/* ---- Windows of time ------------------------------------------------------------------------- */

/* The maximum width in ticks, because the length of a tick may have any value in a damaged file. */
#define WIDEST (UINT64_C(1) << 62)

void trace_sums_begin_windows(struct trace_sums_windows *windows, uint64_t start, double tick)
{
    if (windows->start)
        return;
    const double width = PROFILE_WINDOW_WIDTH / tick;
    windows->width = width < 1 ? 1 : width < WIDEST ? (uint64_t)(width + 0.5) : WIDEST;
    windows->start = start;
}

static void double_width(struct trace_sums_windows *windows)
{
    for (int i = 0; i < PROFILE_WINDOWS_MOST; i++)
        windows->times[i] =
            i < PROFILE_WINDOWS_MOST / 2 ? windows->times[2 * i] + windows->times[2 * i + 1] : 0;
    windows->width *= 2;
    windows->doublings++;
}

void trace_sums_widen_windows(struct trace_sums_windows *windows, int doublings)
{
    while (windows->doublings < doublings)
        double_width(windows);
}

void trace_sums_add_window(struct trace_sums_windows *windows, uint64_t from, uint64_t to)
{
    if (!windows->start || to <= windows->start || to <= from)
        return;
    to -= windows->start;
    from = from > windows->start ? from - windows->start : 0;
    while (to / windows->width >= PROFILE_WINDOWS_MOST)
        double_width(windows);
    while (from < to) {
        const uint64_t number = from / windows->width,
                       left = windows->width - from % windows->width;
        const uint64_t time = left < to - from ? left : to - from;
        windows->times[number] += time;
        from += time;
    }
}
