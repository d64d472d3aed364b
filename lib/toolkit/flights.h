/* SPDX-License-Identifier: MIT */
/*
 * The calls that a thread is in: the program's, and those from within it (a callback of an
 * attribute that calls MPI). Each thread notes its own, on every call and without a lock; whoever
 * saves the process while it hangs, or is killed, reads them all, and sees each whole or not at
 * all. What `number`, `data` and `held` mean is the tool's.
 */
#ifndef QMPI_TOOLKIT_FLIGHTS_H
#define QMPI_TOOLKIT_FLIGHTS_H

#include <qmpi/observer.h>

#include <stdbool.h>
#include <stdint.h>

enum flight_state {
    FLIGHT_ENDED,
    FLIGHT_BEGINS, /* it cannot be seen yet */
    FLIGHT_RUNS,   /* it counts when it has ended */
    FLIGHT_WAITS,  /* for the other ranks, by the tool's will; it has not begun */
    FLIGHT_NOTED,  /* it runs, and has been counted or recorded already */
    FLIGHT_STATES = 8
};

/* Written by its thread alone, word by word; `mark` first and last. */
struct flight {
    uint64_t mark; /* the state, and a multiple of FLIGHT_STATES that grows: no two are equal; what
                      QMPIX_Word holds where it runs */
    uint64_t number;        /* of the tool */
    uint64_t since;         /* tick at which the state began; where it runs the record has that, */
    const QMPIX_Call *call; /* at flights_begin_place */
    const QMPIX_Word *word;
    void *data;                   /* of the tool, for others too */
    void *held;                   /* of the tool, for the thread alone */
    struct flight *outer, *inner; /* made once, in this order, and used again */
};

/* Those of one thread. */
struct flights {
    struct flight *nested; /* the innermost call that is within another one; NULL: none is */
    struct flight first;   /* where the outermost one is noted */
};

/* What others than its thread read. */
#define FLIGHT_GET(place) __atomic_load_n(&(place), __ATOMIC_ACQUIRE)

/* Each store is seen before the next one, so that who reads a later one sees `mark` changed. */
#define FLIGHT_PUT(place, value) __atomic_store_n(&(place), value, __ATOMIC_RELEASE)

static inline enum flight_state flight_state(uint64_t mark)
{
    return (enum flight_state)(mark % FLIGHT_STATES);
}

/* Returns the mark of another state, or of another call. */
static inline uint64_t flight_next_mark(uint64_t mark, enum flight_state state)
{
    return mark - mark % FLIGHT_STATES + FLIGHT_STATES + state;
}

/* The innermost call; NULL: the thread is in none. */
static inline struct flight *flights_innermost(struct flights *flights)
{
    if (__builtin_expect(flights->nested != NULL, 0))
        return flights->nested;
    return flight_state(flights->first.mark) == FLIGHT_ENDED ? NULL : &flights->first;
}

/* Where a call that begins is noted; those that were left by a jump are forgotten. NULL: memory is
 * out. */
struct flight *flights_place(struct flights *flights, const QMPIX_Word *word);

/* How far behind the record of a call the tick is at which it began: see
 * QMPIX_Call_get_begin_address. Set by the first call. */
extern ptrdiff_t flights_begin_place __attribute__((visibility("hidden")));

/* A call begins. NULL: memory is out. */
static inline struct flight *flights_begin(struct flights *flights, const QMPIX_Word *word)
{
    struct flight *flight = flights_place(flights, word);
    if (!flight)
        return NULL;
    FLIGHT_PUT(flight->mark, flight_next_mark(flight->mark, FLIGHT_BEGINS));
    FLIGHT_PUT(flight->word, word);
    FLIGHT_PUT(flight->number, 0);
    flights->nested = flight->outer ? flight : NULL;
    return flight;
}

static inline void flights_describe(struct flight *flight, const QMPIX_Call *call, void *data)
{
    FLIGHT_PUT(flight->call, call);
    FLIGHT_PUT(flight->data, data);
}

/* Gives it another number. Meanwhile it cannot be seen: what belongs to the numbers does not mix.
 */
static inline void flights_renumber(struct flight *flight, uint64_t number)
{
    FLIGHT_PUT(flight->mark, flight_next_mark(flight->mark, FLIGHT_BEGINS));
    FLIGHT_PUT(flight->number, number);
}

/* From now on, or anew, it can be seen. Those that do not count never are. Returns the mark. */
static inline uint64_t flights_publish(struct flight *flight, enum flight_state state)
{
    const uint64_t mark = flight_next_mark(flight->mark, state);
    FLIGHT_PUT(flight->mark, mark);
    return mark;
}

/* The same where it does not run, and has been in this state since `since`. */
static inline void flights_publish_since(struct flight *flight, enum flight_state state,
                                         uint64_t since)
{
    FLIGHT_PUT(flight->since, since);
    flights_publish(flight, state);
}

/* Finds out where the times of calls are, which flights_times needs. To be called for a call before
 * any other is run by flights_run_first. */
static inline void flights_learn_times(const QMPIX_Call *call)
{
    const uint64_t *begin;
    if (__builtin_expect(!flights_begin_place, 0) &&
        QMPIX_Call_get_begin_address(call, &begin) == MPI_SUCCESS)
        flights_begin_place = (const char *)begin - (const char *)call;
}

/* The same where it is about to run: it began when its record says so. */
static inline void flights_publish_run(struct flight *flight, const QMPIX_Call *call,
                                       QMPIX_Word *word)
{
    flights_learn_times(call);
    word->number = flights_publish(flight, FLIGHT_RUNS);
}

/* When a call began that is under way, and, behind it, when it ended: of calls that were published.
 */
static inline const uint64_t *flights_times(const QMPIX_Call *call)
{
    return (const uint64_t *)(const void *)((const char *)call + flights_begin_place);
}

/* The call of a word; NULL: it is not known. */
struct flight *flights_find(struct flights *flights, const QMPIX_Word *word);

/* Whether a call is not under way any more, as seen from the call of `word`: it was left by a jump,
 * out of an error handler for one. */
bool flight_was_left(const struct flight *flight, const QMPIX_Word *word);

/* Forgets the innermost call. */
void flights_pop(struct flights *flights, struct flight *flight);

/* The call of a word ends, and can be seen no longer: what it noted is valid until the next one
 * begins. NULL: it is not known. */
struct flight *flights_end(struct flights *flights, const QMPIX_Word *word);

/*
 * The same where the thread is in none, or in this one alone: the place of the outermost call is
 * free, or is that of the word. Such a call begins with what was found out about it, and runs.
 */
static inline bool flights_are_none(const struct flights *flights)
{
    return flight_state(flights->first.mark) == FLIGHT_ENDED;
}

static inline void flights_run_first(struct flights *flights, const QMPIX_Call *call,
                                     QMPIX_Word *word, uint64_t number, void *data)
{
    struct flight *flight = &flights->first;
    const uint64_t mark = flight->mark + FLIGHT_STATES + FLIGHT_RUNS;
    FLIGHT_PUT(flight->word, word);
    FLIGHT_PUT(flight->number, number);
    flights_describe(flight, call, data);
    FLIGHT_PUT(flight->mark, mark);
    word->number = mark;
}

static inline bool flights_run_only(const struct flights *flights, const QMPIX_Word *word)
{
    return flights->first.mark == word->number && flights->first.word == word && !flights->nested;
}

static inline void flights_end_first(struct flights *flights)
{
    FLIGHT_PUT(flights->first.mark, flights->first.mark - FLIGHT_RUNS);
}

/* The thread is in no call any more. */
void flights_forget(struct flights *flights);

/* Whether what lies on the stack where the word of a running call was is something else by now. */
bool flight_is_overwritten(const struct flight *flight, const QMPIX_Word *word);

#endif
