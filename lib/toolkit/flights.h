/* SPDX-License-Identifier: MIT */
/*
 * A flight is an MPI call that has begun and has not ended. A thread can have several flights at
 * once, because a callback that runs within a call, such as one of an attribute, may itself call
 * MPI.
 *
 * Each thread records its own flights on every call, without a lock. Another thread or a signal
 * handler may read them at any time, for instance to report where a process hangs. A reader finds a
 * flight either complete or not at all, if it compares `mark` before and after it has read the
 * other members. The tool decides what `number`, `data` and `held` contain.
 */
#ifndef QMPI_TOOLKIT_FLIGHTS_H
#define QMPI_TOOLKIT_FLIGHTS_H

#include <qmpi/observer.h>

#include <stdbool.h>
#include <stdint.h>

enum flight_state {
    FLIGHT_ENDED,
    FLIGHT_BEGINS, /* The call is being described, and readers must ignore it. */
    FLIGHT_RUNS,   /* The call runs, and the tool counts it when it ends. */
    FLIGHT_WAITS,  /* The tool delays the call until the other ranks have reached theirs. */
    FLIGHT_NOTED,  /* The call runs, and the tool has already counted or recorded it. */
    FLIGHT_STATES = 8
};

/* Only the thread that makes the call writes these members. It writes `mark` before and after the
 * others, so that a reader can tell whether they have changed meanwhile. */
struct flight {
    /* This is the state plus a multiple of FLIGHT_STATES. The multiple grows, so that no two
     * published states of this structure have the same mark. `word->number` is equal to the mark in
     * the state FLIGHT_RUNS. */
    uint64_t mark;
    uint64_t number; /* The tool decides what this number means. */
    /* This is the tick at which the state began. It is not set in the state FLIGHT_RUNS, in which
     * flights_times gives the time at which the call began. */
    uint64_t since;
    const QMPIX_Call *call;
    const QMPIX_Word *word;
    void *data; /* This pointer belongs to the tool, and other threads may read it. */
    void *held; /* This pointer belongs to the tool, and only the thread itself may read it. */
    struct flight *outer, *inner; /* These are allocated once, and later calls use them again. */
};

/* The flights of one thread form a list from the outermost to the innermost call. */
struct flights {
    struct flight *nested; /* This is the innermost call, or NULL if no call is within `first`. */
    struct flight first;   /* This is the outermost call. */
};

/* Loads a member of a flight. Other threads and signal handlers must read all members with it. */
#define FLIGHT_GET(place) __atomic_load_n(&(place), __ATOMIC_ACQUIRE)

/* Stores a member of a flight. The stores become visible in their order, so that a reader that sees
 * a new value of a member also sees that `mark` has changed. */
#define FLIGHT_PUT(place, value) __atomic_store_n(&(place), value, __ATOMIC_RELEASE)

static inline enum flight_state flight_state(uint64_t mark)
{
    return (enum flight_state)(mark % FLIGHT_STATES);
}

/* Returns a mark for a new state of the same call, or for the next call that uses the
 * same structure. It is different from all earlier ones. */
static inline uint64_t flight_next_mark(uint64_t mark, enum flight_state state)
{
    return mark - mark % FLIGHT_STATES + FLIGHT_STATES + state;
}

/* Returns the innermost flight, or NULL if the thread has none. */
static inline struct flight *flights_innermost(struct flights *flights)
{
    if (__builtin_expect(flights->nested != NULL, 0))
        return flights->nested;
    return flight_state(flights->first.mark) == FLIGHT_ENDED ? NULL : &flights->first;
}

/* Returns an unused flight for a call that begins. Before that, it removes the flights of calls
 * that the thread has left with longjmp or an exception. Returns NULL if memory is exhausted. */
struct flight *flights_place(struct flights *flights, const QMPIX_Word *word);

/* This is the distance in bytes from the record of a call to the tick at which the call began (see
 * QMPIX_Call_get_begin_address). It is 0 until flights_learn_times has set it, and is then the same
 * for all calls. */
extern ptrdiff_t flights_begin_place __attribute__((visibility("hidden")));

/* Adds a flight for a call that begins, in the state FLIGHT_BEGINS. Returns NULL if memory is
 * exhausted. */
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

/* Changes the number of a flight. Readers ignore the flight until it is published again, so that
 * they never see the new number together with data that belongs to the old one. */
static inline void flights_renumber(struct flight *flight, uint64_t number)
{
    FLIGHT_PUT(flight->mark, flight_next_mark(flight->mark, FLIGHT_BEGINS));
    FLIGHT_PUT(flight->number, number);
}

/* Makes a flight visible to readers in a new state, and returns its mark. A tool does not publish
 * calls that it does not count. */
static inline uint64_t flights_publish(struct flight *flight, enum flight_state state)
{
    const uint64_t mark = flight_next_mark(flight->mark, state);
    FLIGHT_PUT(flight->mark, mark);
    return mark;
}

/* Publishes a flight in a state other than FLIGHT_RUNS. `since` is the tick at which the state
 * began. */
static inline void flights_publish_since(struct flight *flight, enum flight_state state,
                                         uint64_t since)
{
    FLIGHT_PUT(flight->since, since);
    flights_publish(flight, state);
}

/* Sets flights_begin_place, which flights_times needs. A tool must call this once before it calls
 * flights_run_first, because that function does not set it. The observer must have
 * QMPIX_OBSERVE_TIME. */
static inline void flights_learn_times(const QMPIX_Call *call)
{
    const uint64_t *begin;
    if (__builtin_expect(!flights_begin_place, 0) &&
        QMPIX_Call_get_begin_address(call, &begin) == MPI_SUCCESS)
        flights_begin_place = (const char *)begin - (const char *)call;
}

/* Stores a mark in `word`, and then publishes the flight with this mark in the state FLIGHT_RUNS: a
 * reader that sees the mark and finds another number in the word takes the call for one that was
 * left.
 * libqmpi itself stores the time at which the call begins. */
static inline void flights_publish_run(struct flight *flight, const QMPIX_Call *call,
                                       QMPIX_Word *word)
{
    flights_learn_times(call);
    word->number = flight_next_mark(flight->mark, FLIGHT_RUNS);
    FLIGHT_PUT(flight->mark, word->number);
}

/* Returns the address of the ticks at which a call began ([0]) and ended ([1]). [0] is 0 until the
 * call begins, and [1] is valid only in `after`. They are on the stack of the thread. A reader that
 * cannot rule out that the call has ended must use tool_safe_copy. */
static inline const uint64_t *flights_times(const QMPIX_Call *call)
{
    return (const uint64_t *)(const void *)((const char *)call + flights_begin_place);
}

/* Returns the flight that was begun with `word`, or NULL if there is none. */
struct flight *flights_find(struct flights *flights, const QMPIX_Word *word);

/* Returns whether a call no longer runs because the thread has left it with longjmp or an
 * exception, for instance out of an error handler. `word` must belong to a call of the same
 * thread that begins or runs now. */
bool flight_was_left(const struct flight *flight, const QMPIX_Word *word);

/* Removes `flight`, which must be the innermost one. */
void flights_pop(struct flights *flights, struct flight *flight);

/* Removes the flight of a call that ends, and all flights within it. Returns the flight, whose
 * members stay valid until the thread begins the next one, or NULL if there is none for `word`. */
struct flight *flights_end(struct flights *flights, const QMPIX_Word *word);

/*
 * The following four functions are a shorter path for calls that are within no other call.
 * flights_run_first requires that flights_are_none has returned true, and flights_end_first
 * requires that flights_run_only has.
 */
static inline bool flights_are_none(const struct flights *flights)
{
    return flight_state(flights->first.mark) == FLIGHT_ENDED;
}

/* Begins the outermost call and publishes it in the state FLIGHT_RUNS in one step. */
static inline void flights_run_first(struct flights *flights, const QMPIX_Call *call,
                                     QMPIX_Word *word, uint64_t number, void *data)
{
    struct flight *flight = &flights->first;
    const uint64_t mark = flight->mark + FLIGHT_STATES + FLIGHT_RUNS;
    FLIGHT_PUT(flight->word, word);
    FLIGHT_PUT(flight->number, number);
    flights_describe(flight, call, data);
    word->number = mark; /* before the mark: see flight_is_overwritten */
    FLIGHT_PUT(flight->mark, mark);
}

/* Returns whether the call of `word` is the only flight of the thread and is still in the state
 * FLIGHT_RUNS in which it was published. */
static inline bool flights_run_only(const struct flights *flights, const QMPIX_Word *word)
{
    return flights->first.mark == word->number && flights->first.word == word && !flights->nested;
}

static inline void flights_end_first(struct flights *flights)
{
    FLIGHT_PUT(flights->first.mark, flights->first.mark - FLIGHT_RUNS);
}

/* Removes all flights of the thread. */
void flights_forget(struct flights *flights);

/* `word` is the word of `flight`. Returns whether its memory has been used for something else since
 * the flight was published in the state FLIGHT_RUNS, or cannot be read. Returns false if the flight
 * is in another state. Any thread may call it, also in a signal handler. */
bool flight_is_overwritten(const struct flight *flight, const QMPIX_Word *word);

#endif
