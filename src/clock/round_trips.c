/* SPDX-License-Identifier: MIT */
/*
 * See round_trips.h. Each process measures its clock against that of a process that has already
 * done so, from rank 0 on in a binomial tree: the number of pairs that measure at the same time
 * doubles from round to round. First one process of each node, then those of a node among
 * themselves, so that the processes of a node, which usually have one clock, get the same result.
 */
#define _GNU_SOURCE
#include "clock/round_trips.h"

#include "process/process.h"
#include "util/util.h"

#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

enum { TAG = 1, TRIPS_MIN = 5, TRIPS_MAX = 50, ENOUGH = 100000 /* ns */ };

/* What a process is told by the one against which it measures its clock. */
struct reply {
    uint64_t now; /* ticks */
    bool is_counter;
    bool valid; /* the rest is */
    struct qmpi_reference reference;
    struct qmpi_clock_relation relation;
};

struct measurement {
    MPI_Comm comm;
    struct qmpi_clock_tick tick;
    struct reply known; /* what this process tells others */
};

/* ---- One pair -------------------------------------------------------------------------------- */

/* Answers until the other process says that it was the last question. */
static void answer(struct measurement *measurement, int other)
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

/* Returns the shortest one; without a valid reply if a call of MPI fails. */
static struct trip ask(const struct measurement *measurement, int other)
{
    struct trip best = {.length = UINT64_MAX}, trip;
    const MPI_Comm comm = measurement->comm;
    const uint64_t begin = qmpi_clock_now();
    char last = 0;
    for (int i = 1; !last; i++) {
        trip.begin = qmpi_clock_now();
        last = i == TRIPS_MAX ||
               (i >= TRIPS_MIN && qmpi_clock_nanoseconds(trip.begin - begin) > ENOUGH);
        if (QMPI_PMPI(Send, SEND)(&last, 1, MPI_CHAR, other, TAG, comm) != MPI_SUCCESS ||
            QMPI_PMPI(Recv, RECV)(&trip.reply, sizeof trip.reply, MPI_BYTE, other, TAG, comm,
                                  MPI_STATUS_IGNORE) != MPI_SUCCESS)
            return (struct trip){.length = 0};
        trip.length = qmpi_clock_now() - trip.begin;
        if (trip.length < best.length)
            best = trip;
    }
    return best;
}

/* ---- What follows from it -------------------------------------------------------------------- */

static double distance(uint64_t one, uint64_t other)
{
    return (double)(one > other ? one - other : other - one);
}

/*
 * An offset smaller than its bound counts as 0, so that processes that share a clock get exactly
 * the same times: it adds to the bound instead. So it is with the offset to the other process,
 * whose result is then taken over, and with the offset to rank 0.
 */
static struct qmpi_clock_relation relate(const struct measurement *measurement,
                                         const struct trip *trip)
{
    const struct reply *reply = &trip->reply;
    const struct qmpi_reference *reference = &reply->reference;
    const double tick = measurement->tick.nanoseconds;
    /* Readings are rounded to ticks. */
    const double half = (double)trip->length / 2 * tick + tick + reference->tick;
    struct qmpi_clock_relation result = reply->relation;
    const bool was_reference = result.is_reference;
    result.is_reference = false;
    const uint64_t middle = trip->begin + trip->length / 2;
    const double offset = distance(reply->now, middle) * tick;
    result.bound += half;
    if (reply->is_counter == qmpi_clock_is_counter && offset <= half) {
        result.bound += offset;
        if (was_reference) /* any other relation holds for the moment of which it is */
            result.here = result.there = middle;
        return result;
    }
    /* From the moment of the other process's relation until now its rate has to do. */
    const double later = (double)(int64_t)(reply->now - result.here) * result.rate;
    result.here = middle;
    result.there += (uint64_t)(int64_t)later;
    if (!was_reference)
        result.bound += __builtin_fabs(later) * reference->tick * QMPI_RATES_DIFFER;
    result.rate = tick / reference->tick;
    result.error = measurement->tick.error;
    const double total = distance(result.here, result.there) * reference->tick;
    if (reference->is_counter == qmpi_clock_is_counter && total <= result.bound) {
        result.there = result.here;
        result.bound += total;
        result.rate = 1;
    }
    return result;
}

/* ---- All processes --------------------------------------------------------------------------- */

/* A process; the key is that of its node, 0 for rank 0's. */
struct place {
    uint64_t key;
    int rank;
};

static int compare(const void *one, const void *other)
{
    const struct place *a = one, *b = other;
    if (a->key != b->key)
        return a->key < b->key ? -1 : 1;
    return a->rank - b->rank;
}

/* A number that is the same in processes of a node, and most likely no other. */
static uint64_t node_number(void)
{
    char text[64] = "";
    uint64_t number = 1469598103934665603U;
    const int file = open("/proc/sys/kernel/random/boot_id", O_RDONLY | O_CLOEXEC);
    const ssize_t length = file < 0 ? 0 : read(file, text, sizeof text);
    if (file >= 0)
        close(file);
    for (ssize_t i = 0; i < length; i++)
        number = (number ^ (unsigned char)text[i]) * 1099511628211U;
    return number;
}

/* Returns all processes, by nodes, from that of rank 0 on; NULL: a call of MPI failed. */
static struct place *list_places(MPI_Comm comm, int size)
{
    struct place *places = qmpi_allocate((size_t)size, sizeof *places);
    uint64_t *numbers = qmpi_allocate((size_t)size, sizeof *numbers);
    const uint64_t mine = node_number();
    const bool good = QMPI_PMPI(Allgather, ALLGATHER)(&mine, sizeof mine, MPI_BYTE, numbers,
                                                      sizeof mine, MPI_BYTE, comm) == MPI_SUCCESS;
    for (int i = 0; i < size; i++)
        places[i] = (struct place){numbers[i] ^ numbers[0], i};
    free(numbers);
    qsort(places, (size_t)size, sizeof *places, compare);
    if (good)
        return places;
    free(places);
    return NULL;
}

/* Among the processes of the list, of which the first knows its relation already. */
static void measure_among(struct measurement *measurement, const int *ranks, int count, int rank)
{
    int place = 0;
    while (place < count && ranks[place] != rank)
        place++;
    for (int half = 1; half < count && place < count; half *= 2) {
        if (place < half && place + half < count) {
            answer(measurement, ranks[place + half]);
        } else if (place >= half && place < 2 * half) {
            const struct trip trip = ask(measurement, ranks[place - half]);
            measurement->known.valid = trip.reply.valid;
            measurement->known.reference = trip.reply.reference;
            measurement->known.relation = relate(measurement, &trip);
        }
    }
}

static void measure_all(struct measurement *measurement, const struct place *places, int size,
                        int rank)
{
    int *ranks = qmpi_allocate((size_t)size, sizeof *ranks);
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
    free(ranks);
}

bool qmpi_round_trips(MPI_Comm comm, struct qmpi_clock_tick tick, struct qmpi_reference *reference,
                      struct qmpi_clock_relation *relation)
{
    int rank = 0, size = 0;
    struct measurement measurement = {.comm = comm, .tick = tick};
    struct reply *known = &measurement.known;
    QMPI_PMPI(Comm_rank, COMM_RANK)(comm, &rank);
    QMPI_PMPI(Comm_size, COMM_SIZE)(comm, &size);
    struct place *places = list_places(comm, size);
    if (!places)
        return false;
    known->is_counter = qmpi_clock_is_counter;
    if (rank == 0) {
        const struct qmpi_clock_moment start = qmpi_clock_started_at();
        known->valid = true;
        known->reference = (struct qmpi_reference){start.ticks, start.nanoseconds, tick.nanoseconds,
                                                   tick.error, qmpi_clock_is_counter};
        known->relation = (struct qmpi_clock_relation){
            .here = start.ticks, .there = start.ticks, .rate = 1, .is_reference = true};
    }
    measure_all(&measurement, places, size, rank);
    free(places);
    *reference = known->reference;
    *relation = known->relation;
    return known->valid;
}
