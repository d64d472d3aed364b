/* SPDX-License-Identifier: MIT */
/*
 * See arrivals.h. Each process sends the first one an empty message with the tag of the layer, and
 * receives the decision with the same tag. News, with the tag QMPI_JOB_TAG, are ranks of processes
 * that have terminated. They concern all layers.
 */
#define _GNU_SOURCE
#include "job/arrivals.h"

#include "job/liveness.h"
#include "job/statement.h"
#include "process/process.h"
#include "util/util.h"

#include <stdlib.h>

/* How often processes are looked for, in seconds. This is no time limit. */
static const double interval = 0.2;

static MPI_Comm job_comm;
static const int *job_ranks; /* [place] */
static int job_size, own_place;
static struct qmpi_liveness_process self;

/* The processes of this host, and their ranks in job_comm, which are in ascending order. */
struct neighbor {
    int place;
    struct qmpi_liveness_process process;
};
static struct neighbor *neighbors; /* this process included */
static int neighbor_count;

/* What is known of each process. Any thread that waits in a layer may store it; no other data
 * depend on it, so relaxed order suffices. */
enum state { RUNS, HAS_ENDED, IS_REPORTED };
static unsigned char *states; /* [place] */

static bool has_ended(int place)
{
    return __atomic_load_n(&states[place], __ATOMIC_RELAXED) != RUNS;
}

static void note_end(int place)
{
    unsigned char runs = RUNS;
    __atomic_compare_exchange_n(&states[place], &runs, HAS_ENDED, false, __ATOMIC_RELAXED,
                                __ATOMIC_RELAXED);
}

/* ---- Starting -------------------------------------------------------------------------------- */

static void find_neighbors(const struct qmpi_liveness_process *all)
{
    const uint64_t host = all[own_place].host;
    for (int place = 0; place < job_size; place++) {
        if (!all[place].host || all[place].host != host)
            continue;
        neighbors = qmpi_memory_grow(neighbors, neighbor_count, sizeof *neighbors);
        neighbors[neighbor_count++] = (struct neighbor){place, all[place]};
    }
}

void qmpi_arrivals_start(MPI_Comm comm, const int *ranks, int count)
{
    struct qmpi_liveness_process *all = qmpi_allocate((size_t)count, sizeof *all);
    self = qmpi_liveness_self();
    job_comm = comm;
    job_ranks = ranks;
    job_size = count;
    states = qmpi_allocate((size_t)count, 1);
    if (QMPI_PMPI(Comm_rank, COMM_RANK)(comm, &own_place) == MPI_SUCCESS &&
        QMPI_PMPI(Allgather, ALLGATHER)(&self, (int)sizeof self, MPI_BYTE, all, (int)sizeof self,
                                        MPI_BYTE, comm) == MPI_SUCCESS)
        find_neighbors(all);
    free(all);
}

void qmpi_arrivals_stop(void)
{
    free(neighbors);
    free(states);
    neighbors = NULL;
    states = NULL;
    neighbor_count = 0;
}

void qmpi_arrivals_prepare(struct qmpi_arrivals *layer, int tag)
{
    layer->tag = tag;
    layer->requests = qmpi_allocate((size_t)layer->count, sizeof *layer->requests);
    layer->told = qmpi_allocate((size_t)layer->count, sizeof *layer->told);
}

/* ---- Messages -------------------------------------------------------------------------------- */

/* Sends a message so short that the MPI library does not wait for its receiver, who possibly never
 * receives it. `value` must exist as long as the communicator. */
static void send_and_forget(const int *value, int count, int place, int tag)
{
    MPI_Request request = MPI_REQUEST_NULL;
    if (QMPI_PMPI(Isend, ISEND)(value, count, MPI_INT, place, tag, job_comm, &request) ==
            MPI_SUCCESS &&
        request != MPI_REQUEST_NULL)
        QMPI_PMPI(Request_free, REQUEST_FREE)(&request);
}

static int compare_places(const void *one, const void *other)
{
    const int a = *(const int *)one, b = *(const int *)other;
    return (a > b) - (a < b);
}

static void receive_news(void)
{
    for (;;) {
        MPI_Message message;
        int flag = 0, rank = -1;
        if (QMPI_PMPI(Improbe, IMPROBE)(MPI_ANY_SOURCE, QMPI_JOB_TAG, job_comm, &flag, &message,
                                        MPI_STATUS_IGNORE) != MPI_SUCCESS ||
            !flag ||
            QMPI_PMPI(Mrecv, MRECV)(&rank, 1, MPI_INT, &message, MPI_STATUS_IGNORE) != MPI_SUCCESS)
            return;
        const int *found =
            bsearch(&rank, job_ranks, (size_t)job_size, sizeof *job_ranks, compare_places);
        if (found)
            note_end((int)(found - job_ranks));
    }
}

/* ---- Processes that have terminated ---------------------------------------------------------- */

/* Returns the index in the layer, or -1. */
static int index_in_layer(const struct qmpi_arrivals *layer, int place)
{
    const int *found =
        bsearch(&place, layer->places, (size_t)layer->count, sizeof *layer->places, compare_places);
    return found ? (int)(found - layer->places) : -1;
}

static bool is_neighbor(int place)
{
    for (int i = 0; i < neighbor_count; i++) {
        if (neighbors[i].place == place)
            return true;
    }
    return false;
}

/* Whether this process is the first one of its host that has the layer and runs. */
static bool is_first_of_host(const struct qmpi_arrivals *layer)
{
    for (int i = 0; i < neighbor_count && neighbors[i].place < own_place; i++) {
        if (index_in_layer(layer, neighbors[i].place) >= 0 && !has_ended(neighbors[i].place))
            return false;
    }
    return true;
}

/* Tells the first process of the layer. If it is the one that has terminated, tells all others. */
static void tell_other_hosts(const struct qmpi_arrivals *layer, int index)
{
    const int place = layer->places[index], last = index ? 1 : layer->count;
    for (int i = 0; i < last; i++) {
        if (i != index && !is_neighbor(layer->places[i]))
            send_and_forget(&job_ranks[place], 1, layer->places[i], QMPI_JOB_TAG);
    }
}

/* Returns whether a process of this host has terminated. */
static bool look_at(int neighbor)
{
    const int place = neighbors[neighbor].place;
    if (!has_ended(place) && qmpi_liveness_has_ended(&self, &neighbors[neighbor].process))
        note_end(place);
    return has_ended(place);
}

/* Looks for processes of the layer on this host that have terminated. On each host, the first one
 * that runs looks at all, and the others look at that one and at the first one of the layer. */
static void look_at_neighbors(const struct qmpi_arrivals *layer)
{
    bool is_first = true;
    for (int i = 0; i < neighbor_count; i++) {
        const int place = neighbors[i].place;
        if (place == own_place || index_in_layer(layer, place) < 0)
            continue;
        if (is_first || place == layer->places[0])
            is_first = look_at(i) || place > own_place;
    }
}

/* Looks for processes of the layer that have terminated, and receives news of them. Returns whether
 * there are any. */
static bool any_has_ended(struct qmpi_arrivals *layer)
{
    bool any = false;
    receive_news();
    look_at_neighbors(layer);
    const bool tells = is_first_of_host(layer);
    for (int i = 0; i < layer->count; i++) {
        if (!has_ended(layer->places[i]))
            continue;
        any = true;
        if (tells && !layer->told[i] && is_neighbor(layer->places[i])) {
            tell_other_hosts(layer, i);
            layer->told[i] = true;
        }
    }
    return any;
}

static void print_ended(void *data)
{
    const struct qmpi_arrivals *layer = data;
    struct qmpi_statement_range *ranges = qmpi_allocate((size_t)layer->count, sizeof *ranges);
    int count = 0;
    for (int i = 0; i < layer->count; i++) {
        const int place = layer->places[i], rank = job_ranks[place];
        unsigned char state = HAS_ENDED;
        if (__atomic_compare_exchange_n(&states[place], &state, IS_REPORTED, false,
                                        __ATOMIC_RELAXED, __ATOMIC_RELAXED))
            qmpi_statement_add_rank(ranges, &count, rank);
    }
    if (count) {
        const bool one = count == 1 && ranges[0].first == ranges[0].last;
        char *ranks = qmpi_statement_describe_ranks(ranges, count);
        qmpi_printf("%s %s terminated, but other ranks wait for %s: the tools do not combine the "
                    "data of the ranks, and each process reports its own\n"
                    "  hint: find out why %s did not call MPI_Finalize",
                    ranks, one ? "has" : "have", one ? "it" : "them", ranks);
        free(ranks);
    }
    free(ranges);
}

/* ---- Waiting --------------------------------------------------------------------------------- */

/* Ends the receive. Returns whether it has received a message. */
static bool cancel_receive(MPI_Request *request)
{
    MPI_Status status;
    int cancelled = 1;
    if (*request == MPI_REQUEST_NULL)
        return false;
    QMPI_PMPI(Cancel, CANCEL)(request);
    if (QMPI_PMPI(Wait, WAIT)(request, &status) == MPI_SUCCESS)
        QMPI_PMPI(Test_cancelled, TEST_CANCELLED)(&status, &cancelled);
    return !cancelled;
}

enum decision { ALL_COME, ONE_HAS_ENDED, CALL_FAILED };
static const int results[] = {
    [ALL_COME] = MPI_SUCCESS, [ONE_HAS_ENDED] = MPI_ERR_RANK, [CALL_FAILED] = MPI_ERR_OTHER};

/* In the first process, waits for all others. */
static enum decision await_others(struct qmpi_arrivals *layer, double patience,
                                  void (*report)(void *data), void *data)
{
    const double until = qmpi_job_time() + patience;
    bool failed = false, reported = false;
    for (int i = 1; i < layer->count; i++) {
        while (
            !qmpi_job_complete_request(&layer->requests[i], qmpi_job_time() + interval, &failed)) {
            if (any_has_ended(layer))
                return ONE_HAS_ENDED;
            if (reported || qmpi_job_time() < until)
                continue;
            for (int k = i + 1, done; k < layer->count; k++)
                QMPI_PMPI(Test, TEST)(&layer->requests[k], &done, MPI_STATUS_IGNORE);
            qmpi_memory_catch_exhausted(report, data);
            reported = true;
        }
        if (failed)
            return any_has_ended(layer) ? ONE_HAS_ENDED : CALL_FAILED;
    }
    return ALL_COME;
}

/* In the first process, waits for all others, and tells them whether all have come. */
static int decide(struct qmpi_arrivals *layer, double patience, void (*report)(void *data),
                  void *data)
{
    bool good = true;
    for (int i = 1; i < layer->count; i++) {
        layer->requests[i] = MPI_REQUEST_NULL;
        good = QMPI_PMPI(Irecv, IRECV)(NULL, 0, MPI_INT, layer->places[i], layer->tag, job_comm,
                                       &layer->requests[i]) == MPI_SUCCESS &&
               good;
    }
    const enum decision decision = good ? await_others(layer, patience, report, data) : CALL_FAILED;
    for (int i = 1; i < layer->count; i++) {
        cancel_receive(&layer->requests[i]);
        if (!has_ended(layer->places[i]))
            send_and_forget(&results[decision], 1, layer->places[i], layer->tag);
    }
    if (decision == ONE_HAS_ENDED)
        qmpi_memory_catch_exhausted(print_ended, layer);
    return results[decision];
}

/* In another process, tells the first one that it has come, and waits for the decision. */
static int await_decision(struct qmpi_arrivals *layer)
{
    const int first = layer->places[0];
    int result = MPI_ERR_OTHER;
    bool failed;
    MPI_Request request = MPI_REQUEST_NULL;
    send_and_forget(NULL, 0, first, layer->tag);
    if (QMPI_PMPI(Irecv, IRECV)(&result, 1, MPI_INT, first, layer->tag, job_comm, &request) !=
        MPI_SUCCESS)
        return MPI_ERR_OTHER;
    while (!qmpi_job_complete_request(&request, qmpi_job_time() + interval, &failed)) {
        any_has_ended(layer);
        if (!has_ended(first) || cancel_receive(&request))
            continue;
        if (is_neighbor(first) && is_first_of_host(layer))
            qmpi_memory_catch_exhausted(print_ended, layer);
        return MPI_ERR_RANK;
    }
    return result;
}

int qmpi_arrivals_await(struct qmpi_arrivals *layer, double patience, void (*report)(void *data),
                        void *data)
{
    if (layer->count < 2)
        return MPI_SUCCESS;
    return layer->places[0] == own_place ? decide(layer, patience, report, data)
                                         : await_decision(layer);
}
