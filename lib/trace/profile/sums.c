/* SPDX-License-Identifier: MIT */
/* See sums.h. */
#define _GNU_SOURCE
#include "trace/profile/sums.h"

void sums_add(struct sums *sums, uint64_t time, uint64_t sent, uint64_t received)
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

unsigned sums_bin(uint64_t number, unsigned bins)
{
    const unsigned bin = 63U ^ (unsigned)__builtin_clzll(number | 1);
    return bin < bins ? bin : bins - 1;
}

struct profile_spread sums_spread(double value, int rank)
{
    return (struct profile_spread){value, value, value, value, 0, rank, rank};
}

void sums_fill(struct profile_calls *calls, const struct sums *sums, double tick, int rank)
{
    *calls = (struct profile_calls){.calls = sums->calls,
                                    .time = sums_spread((double)sums->time * tick, rank),
                                    .shortest = (double)sums->shortest * tick,
                                    .longest = (double)sums->longest * tick,
                                    .polling = (double)sums->polling * tick,
                                    .wait = sums_spread(0, rank),
                                    .sent = sums->sent,
                                    .received = sums->received};
}
