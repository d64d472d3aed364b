/* SPDX-License-Identifier: MIT */
/*
 * See round_trips.h. Each process measures its clock against that of a process that already knows
 * its relation to rank 0. The pairs form a binomial tree with rank 0 at its root, so that the
 * number of pairs that measure at the same time doubles from round to round. One process of each
 * node comes first, then the others of each node. Processes of a host that use the same source of
 * time have the same clock; once a trip has shown this, they copy the relation instead of measuring
 * it.
 */
#define _GNU_SOURCE
#include "clock/round_trips.h"

#include "process/process.h"
#include "util/util.h"

#include <stdlib.h>

enum {
    TAG = 1,
    TRIPS_MIN = 5,
    TRIPS_MAX = 50,
    ENOUGH = 100000 /* ns: after this time, the next trip is the last, but not before TRIPS_MIN */
};

/* A message from the process against which a process measures its clock. */
struct reply {
    uint64_t now;   /* ticks */
    uint64_t clock; /* see qmpi_launcher_clock_number */
    bool is_counter;
    bool valid; /* whether the following members are set */
    struct qmpi_clock_reference reference;
    struct qmpi_clock_relation relation;
};

struct measurement {
    MPI_Comm comm;
    struct qmpi_clock_tick tick;
    struct reply known; /* to be sent to other processes */
};

/* ---- One pair -------------------------------------------------------------------------------- */

/* Answers messages until the other process marks one as the last, or a call of MPI fails. */
static void answer_trips(struct measurement *measurement, int other)
{
    struct reply reply = measurement->known;
    const MPI_Comm comm = measurement->comm;
    bool good = true;
    char last = 0;
    while (good && !last) {
        good = QMPI_PMPI(Recv, RECV)(&last, 1, MPI_CHAR, other, TAG, comm, MPI_STATUS_IGNORE) ==
               MPI_SUCCESS;
        reply.now = qmpi_clock_now();
        good = good && QMPI_PMPI(Send, SEND)(&reply, sizeof reply, MPI_BYTE, other, TAG, comm) ==
                           MPI_SUCCESS;
    }
}

/* A round trip, in ticks of this process. */
struct trip {
    uint64_t begin, length;
    struct reply reply;
};

/* Whether both processes have the same clock. Two hosts may have the same number, if they are
 * copies of a virtual machine, but the reading of the other clock is then unlikely to be within the
 * round trip. */
static bool is_same_clock(const struct measurement *measurement, const struct trip *trip)
{
    return trip->reply.clock && trip->reply.clock == measurement->known.clock &&
           trip->reply.now - trip->begin <= trip->length;
}

/* Returns the shortest of several trips, or one that shows that both processes have the same clock.
 * After such a trip, at most one more follows, which tells the other process to stop. If a call of
 * MPI fails, the reply in the result is not valid. */
static struct trip measure_trips(const struct measurement *measurement, int other)
{
    struct trip best = {.length = UINT64_MAX}, trip;
    const MPI_Comm comm = measurement->comm;
    const uint64_t begin = qmpi_clock_now();
    bool is_same = false;
    char last = 0;
    for (int i = 1; !last; i++) {
        trip.begin = qmpi_clock_now();
        last = i == TRIPS_MAX || is_same ||
               (i >= TRIPS_MIN && qmpi_clock_nanoseconds(trip.begin - begin) > ENOUGH);
        if (QMPI_PMPI(Send, SEND)(&last, 1, MPI_CHAR, other, TAG, comm) != MPI_SUCCESS ||
            QMPI_PMPI(Recv, RECV)(&trip.reply, sizeof trip.reply, MPI_BYTE, other, TAG, comm,
                                  MPI_STATUS_IGNORE) != MPI_SUCCESS)
            return (struct trip){.length = 0};
        trip.length = qmpi_clock_now() - trip.begin;
        is_same = is_same_clock(measurement, &trip);
        if (trip.length < best.length || is_same)
            best = trip;
    }
    return best;
}

/* ---- The relation of two clocks -------------------------------------------------------------- */

static double ticks_between(uint64_t one, uint64_t other)
{
    return (double)(one > other ? one - other : other - one);
}

/*
 * Returns the relation of this process to rank 0, from that of the other process, which is in the
 * reply. An offset between clocks of the same kind (counter or not) that is not larger than its
 * bound counts as 0 and is added to the bound, so that processes that share a clock get exactly the
 * same times. This applies to the offset to the other process, whose relation is then copied (with
 * a larger bound), and to the offset to rank 0.
 */
static struct qmpi_clock_relation relate_to_reference(const struct measurement *measurement,
                                                      const struct trip *trip)
{
    const struct reply *reply = &trip->reply;
    const struct qmpi_clock_reference *reference = &reply->reference;
    const double tick = measurement->tick.nanoseconds;
    /* Half the round trip, plus the rounding of both readings to ticks. */
    const double half = (double)trip->length / 2 * tick + tick + reference->tick;
    struct qmpi_clock_relation result = reply->relation;
    const bool was_reference = result.is_reference;
    if (is_same_clock(measurement, trip))
        return result;
    result.is_reference = false;
    const uint64_t middle = trip->begin + trip->length / 2;
    const double offset = ticks_between(reply->now, middle) * tick;
    result.bound += half;
    if (reply->is_counter == qmpi_clock_is_counter && offset <= half) {
        result.bound += offset;
        if (was_reference) /* any other relation keeps its own moment */
            result.here = result.there = middle;
        return result;
    }
    /* The relation of the other process is extrapolated to now by its rate. */
    const double later = (double)(int64_t)(reply->now - result.here) * result.rate;
    result.here = middle;
    result.there += (uint64_t)(int64_t)later;
    if (!was_reference)
        result.bound += __builtin_fabs(later) * reference->tick * QMPI_RATES_DIFFER;
    result.rate = tick / reference->tick;
    result.error = measurement->tick.error;
    const double total = ticks_between(result.here, result.there) * reference->tick;
    if (reference->is_counter == qmpi_clock_is_counter && total <= result.bound) {
        result.there = result.here;
        result.bound += total;
        result.rate = 1;
    }
    return result;
}

/* ---- All processes --------------------------------------------------------------------------- */

/* A process; `key` identifies its node, and is 0 for the node of rank 0. */
struct place {
    uint64_t key;
    int rank;
};

static int compare_places(const void *one, const void *other)
{
    const struct place *a = one, *b = other;
    if (a->key != b->key)
        return a->key < b->key ? -1 : 1;
    return a->rank - b->rank;
}

/* Working memory, [size] each. The allocation may fail: when the program finalizes MPI, it may have
 * used up its memory. */
struct lists {
    struct place *places; /* all processes, sorted by nodes; the node of rank 0 is the first */
    uint64_t *numbers;    /* of the hosts of all processes */
    int *ranks;           /* of the processes that measure their clocks now */
};

/* Returns false in all processes if memory is exhausted in one of them, so that no process waits
 * for a message from it. */
static bool make_lists(struct lists *lists, MPI_Comm comm, int size)
{
    lists->places = calloc((size_t)size, sizeof *lists->places);
    lists->numbers = calloc((size_t)size, sizeof *lists->numbers);
    lists->ranks = calloc((size_t)size, sizeof *lists->ranks);
    int mine = lists->places && lists->numbers && lists->ranks, all = 0;
    return QMPI_PMPI(Allreduce, ALLREDUCE)(&mine, &all, 1, MPI_INT, MPI_MIN, comm) == MPI_SUCCESS &&
           all;
}

static void free_lists(struct lists *lists)
{
    free(lists->places);
    free(lists->numbers);
    free(lists->ranks);
}

/* Returns false if a call of MPI fails. */
static bool list_places(struct lists *lists, MPI_Comm comm, int size)
{
    const uint64_t mine = qmpi_launcher_host_number();
    if (QMPI_PMPI(Allgather, ALLGATHER)(&mine, sizeof mine, MPI_BYTE, lists->numbers, sizeof mine,
                                        MPI_BYTE, comm) != MPI_SUCCESS)
        return false;
    for (int i = 0; i < size; i++)
        lists->places[i] = (struct place){lists->numbers[i] ^ lists->numbers[0], i};
    qsort(lists->places, (size_t)size, sizeof *lists->places, compare_places);
    return true;
}

/* Measures among the processes of a list. The first of them already knows its relation to rank
 * 0. */
static void measure_among(struct measurement *measurement, const int *ranks, int count, int rank)
{
    int place = 0;
    while (place < count && ranks[place] != rank)
        place++;
    for (int half = 1; half < count && place < count; half *= 2) {
        if (place < half && place + half < count) {
            answer_trips(measurement, ranks[place + half]);
        } else if (place >= half && place < 2 * half) {
            const struct trip trip = measure_trips(measurement, ranks[place - half]);
            measurement->known.valid = trip.reply.valid;
            measurement->known.reference = trip.reply.reference;
            measurement->known.relation = relate_to_reference(measurement, &trip);
        }
    }
}

static void measure_all(struct measurement *measurement, const struct lists *lists, int size,
                        int rank)
{
    const struct place *places = lists->places;
    int *ranks = lists->ranks;
    int count = 0, mine = 0;
    for (int i = 0; i < size; i++) {
        if (!i || places[i].key != places[i - 1].key)
            ranks[count++] = places[i].rank;
        if (places[i].rank == rank)
            mine = i;
    }
    measure_among(measurement, ranks, count, rank);
    count = 0;
    for (int i = 0; i < size; i++) {
        if (places[i].key == places[mine].key)
            ranks[count++] = places[i].rank;
    }
    measure_among(measurement, ranks, count, rank);
}

bool qmpi_round_trips(MPI_Comm comm, struct qmpi_clock_tick tick,
                      struct qmpi_clock_reference *reference, struct qmpi_clock_relation *relation)
{
    int rank = 0, size = 0;
    struct measurement measurement = {.comm = comm, .tick = tick};
    struct reply *known = &measurement.known;
    QMPI_PMPI(Comm_rank, COMM_RANK)(comm, &rank);
    QMPI_PMPI(Comm_size, COMM_SIZE)(comm, &size);
    struct lists lists = {NULL, NULL, NULL};
    if (!make_lists(&lists, comm, size) || !list_places(&lists, comm, size)) {
        free_lists(&lists);
        return false;
    }
    known->is_counter = qmpi_clock_is_counter;
    known->clock = qmpi_launcher_clock_number(qmpi_clock_is_counter);
    if (rank == 0) {
        const struct qmpi_clock_moment start = qmpi_clock_started_at();
        known->valid = true;
        known->reference = (struct qmpi_clock_reference){
            start.ticks, start.nanoseconds, tick.nanoseconds, tick.error, qmpi_clock_is_counter};
        known->relation = (struct qmpi_clock_relation){
            .here = start.ticks, .there = start.ticks, .rate = 1, .is_reference = true};
    }
    measure_all(&measurement, &lists, size, rank);
    free_lists(&lists);
    *reference = known->reference;
    *relation = known->relation;
    return known->valid;
}
