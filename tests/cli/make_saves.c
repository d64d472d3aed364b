/* SPDX-License-Identifier: MIT */
/* make_saves TEMPLATE FOLDER RANKS PEERS CALLSITES: writes files of the single processes of one
 * large run, like those that profile writes for processes that end without MPI_Finalize. The
 * template is the file of such a process. Each file is a copy of it with another rank, host, times,
 * peers, waits and windows, which differ as in a real run. The call sites of the template are
 * multiplied to CALLSITES. */
#define _GNU_SOURCE
#include "tools/profile/result/profile.h"
#include "util/util.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { RANKS_PER_NODE = 32, WAITS = 6 };

/* Returns a factor from 0.5 to 1.5 for a time of a rank. Times of a rank with the same number
 * `what` get the same factor. */
static double vary(int rank, int what)
{
    return 1 + 0.5 * sin(0.37 * rank + what);
}

static void vary_spread(struct profile_spread *spread, int rank, double factor)
{
    const double sum = factor * spread->sum;
    *spread = (struct profile_spread){sum, sum, sum, sum, 0, rank, rank};
}

static void vary_calls(struct profile_calls *calls, int rank, double factor)
{
    vary_spread(&calls->time, rank, factor);
    calls->shortest *= factor;
    calls->longest *= factor;
    if (calls->wait.sum > 0)
        vary_spread(&calls->wait, rank, factor);
}

static void replace(char **text, char *other)
{
    free(*text);
    *text = other;
}

/* Returns whether a rank sends to another one: it sends to about `peers` ranks, the nearest ones on
 * both sides, or to all other ranks if there are fewer. */
static bool is_peer(int rank, int other, int ranks, int peers)
{
    const int above = (other - rank + ranks) % ranks, lower = ranks - above;
    return above && (above < lower ? above : lower) <= (peers + 1) / 2;
}

static void set_peers(struct profile_result *result, int rank, int ranks, int peers)
{
    free(result->matrix);
    result->matrix = qmpi_allocate((size_t)ranks, sizeof *result->matrix);
    result->matrix_entry_count = 0;
    for (int to = 0; to < ranks; to++) {
        if (is_peer(rank, to, ranks, peers))
            result->matrix[result->matrix_entry_count++] =
                (struct profile_matrix_entry){rank, to, 1000, (uint64_t)(1e6 * vary(rank, to))};
    }
}

static char *copy(const char *text)
{
    return text ? qmpi_copy(text) : NULL;
}

/* Makes another call site with the figures of `site`. */
static struct profile_callsite multiply(const struct profile_callsite *site, int number)
{
    struct profile_callsite other = *site;
    other.name = qmpi_copy(site->name);
    other.frames = qmpi_allocate((size_t)site->frame_count, sizeof *other.frames);
    for (int i = 0; i < site->frame_count; i++) {
        const struct profile_frame *frame = &site->frames[i];
        other.frames[i] = *frame;
        other.frames[i].offset += 64 * (uint64_t)number;
        other.frames[i].module = qmpi_copy(frame->module);
        other.frames[i].function =
            i ? copy(frame->function) : qmpi_format("kernel_%d::exchange(double *, int)", number);
        other.frames[i].file = i ? copy(frame->file) : qmpi_format("/src/kernel_%d.cpp", number);
        other.frames[i].line = frame->line + number;
    }
    other.waits = (struct profile_waits){NULL, 0};
    return other;
}

static void set_waits(struct profile_callsite *site, int number, int rank, int ranks)
{
    struct profile_waits waits = {qmpi_allocate(WAITS, sizeof *waits.all), 0};
    for (int peer = 0; peer < ranks && waits.count < WAITS; peer++) {
        if (is_peer(rank, peer, ranks, WAITS))
            waits.all[waits.count++] = (struct profile_wait){
                rank, peer, 10, 0.1 * site->calls.time.sum * vary(rank, number + peer)};
    }
    free(site->waits.all);
    site->waits = waits;
}

static void set_callsites(struct profile_result *result, int rank, int ranks, size_t count)
{
    const size_t given = result->callsite_count;
    struct profile_callsite *sites =
        realloc(result->callsites, (count > given ? count : given) * sizeof *sites);
    if (!sites || !given)
        abort();
    for (size_t i = given; i < count; i++)
        sites[i] = multiply(&sites[i % given], (int)i);
    result->callsites = sites;
    result->callsite_count = count > given ? count : given;
    const double share = (double)given / (double)result->callsite_count;
    for (size_t i = 0; i < result->callsite_count; i++) {
        vary_calls(&sites[i].calls, rank, vary(rank, (int)i) * share);
        sites[i].calls.calls = (uint64_t)ceil(share * (double)sites[i].calls.calls);
        if (sites[i % given].waits.count)
            set_waits(&sites[i], (int)i, rank, ranks);
    }
}

static void set_windows(struct profile_result *result, int rank)
{
    struct profile_windows *windows = &result->windows;
    for (size_t i = 0; i < windows->rank_count; i++) {
        windows->ranks[i].rank = rank;
        for (size_t k = 0; k < windows->ranks[i].count; k++) {
            const double mpi = windows->ranks[i].mpi[k] * vary(rank, (int)k);
            windows->ranks[i].mpi[k] = (unsigned char)fmin(mpi, PROFILE_WINDOW_WHOLE);
        }
    }
}

static void set_rank(struct profile_result *result, int rank, int ranks)
{
    struct profile_process *process = result->processes;
    const double mpi = process->mpi * vary(rank, 0);
    result->rank = rank;
    process->rank = rank;
    replace(&process->host, qmpi_format("node%03d", rank / RANKS_PER_NODE));
    process->useful = fmax(process->application - mpi, 0);
    process->mpi = process->application - process->useful;
    process->memory += (uint64_t)rank * 4096;
    vary_spread(&result->application, rank, 1);
    vary_spread(&result->time, rank, process->mpi / fmax(result->time.sum, 1e-9));
    for (size_t i = 0; i < result->function_count; i++)
        vary_calls(&result->functions[i].calls, rank, vary(rank, (int)i));
    for (size_t i = 0; i < result->region_count; i++) {
        struct profile_region *region = &result->regions[i];
        vary_spread(&region->time, rank, 1);
        vary_spread(&region->mpi, rank, 1);
        vary_spread(&region->useful, rank, 1);
        for (size_t k = 0; k < region->node_count; k++)
            replace(&region->nodes[k].host, qmpi_copy(process->host));
    }
    for (size_t i = 0; i < result->communicator_count; i++)
        result->communicators[i].size = ranks;
}

int main(int argc, char **argv)
{
    if (argc != 6)
        return 2;
    const int ranks = atoi(argv[3]), peers = atoi(argv[4]), callsites = atoi(argv[5]);
    for (int rank = 0; rank < ranks; rank++) {
        char *problem = NULL, *path = qmpi_format("%s/save.%04d.json", argv[2], rank);
        struct profile_result *result = profile_json_read(argv[1], &problem);
        if (result && result->process_count == 1) {
            set_rank(result, rank, ranks);
            set_peers(result, rank, ranks, peers);
            set_callsites(result, rank, ranks, (size_t)callsites);
            set_windows(result, rank);
            profile_json_write(result, path, &problem);
        }
        if (problem || !result || result->process_count != 1) {
            qmpi_printf("%s", problem ? problem : "not the file of a single process");
            return 1;
        }
        profile_result_free(result);
        free(path);
    }
    return 0;
}
