/* SPDX-License-Identifier: MIT */
/* See channel.h. */
#include "trace/channel.h"

#include "trace/event.h"
#include "trace/table.h"

#include <stddef.h>

static const struct trace_comm *find_comm(const struct trace_process *process, uint32_t comm)
{
    return comm < process->comm_count && process->comms[comm].id ? &process->comms[comm] : NULL;
}

static int rank_in(const struct trace_process *process, const struct trace_comm *comm)
{
    if (comm->rank >= 0)
        return comm->rank;
    for (int i = 0; process->rank >= 0 && comm->group && i < comm->size; i++) {
        if (comm->group[i] == process->rank)
            return i;
    }
    return TRACE_UNDEFINED;
}

static int in_world(const int *group, int size, int rank)
{
    return group && rank >= 0 && rank < size ? group[rank] : TRACE_UNDEFINED;
}

/* The ranks of both ends as one number: a rank of an intercommunicator alone does not tell of which
 * group it is. */
static uint64_t ends(const struct trace_comm *comm, int me, int peer, bool is_send)
{
    uint64_t mine = (uint64_t)me, other = (uint64_t)peer;
    if (comm->remote) {
        const int my_world = in_world(comm->group, comm->size, me);
        const int other_world = in_world(comm->remote, comm->remote_size, peer);
        if (my_world >= 0 && other_world >= 0) {
            mine = (uint64_t)my_world;
            other = (uint64_t)other_world;
        } else {
            mine |= (uint64_t)comm->size << 32;
            other |= (uint64_t)comm->remote_size << 32;
        }
    }
    return is_send ? trace_mix_two(mine, other) : trace_mix_two(other, mine);
}

uint64_t trace_channel(const struct trace_process *process, uint32_t comm, int peer, int tag,
                       bool is_send)
{
    const struct trace_comm *it = find_comm(process, comm);
    const int me = it && peer >= 0 ? rank_in(process, it) : TRACE_UNDEFINED;
    if (me < 0)
        return 0;
    const uint64_t rest = trace_mix_two((uint32_t)tag, ends(it, me, peer, is_send));
    const uint64_t channel = trace_mix_two(it->id, rest);
    return channel ? channel : 1;
}

uint64_t trace_collective(const struct trace_process *process, uint32_t comm, uint64_t count)
{
    enum { BITS = 40 }; /* few bytes in a file: numbers of other communicators are far away */
    const struct trace_comm *it = find_comm(process, comm);
    return it ? (trace_mix(it->id) >> (64 - BITS) << 8) + count + 1 : 0;
}
