/* SPDX-License-Identifier: MIT */
/*
 * This counts where a thread spends its time outside MPI: between which two consecutive calls, from
 * the end of one to the beginning of the next. Times are in ticks.
 *
 * A call site has a list with an element for each site after which it is called, and remembers the
 * two elements that were used last, because the next call usually needs one of them. The thread's
 * outermost flight holds the site of the last call.
 *
 * Only calls that count as time in MPI are taken into account. Calls within other calls are
 * ignored, and so are calls of signal handlers that interrupt work of the tool. While profiling is
 * off, no time is counted.
 */
#ifndef QMPI_TOOL_PROFILE_RECORD_OUTSIDE_H
#define QMPI_TOOL_PROFILE_RECORD_OUTSIDE_H

#include "toolkit/toolkit.h"
#include "tools/profile/record/threads.h"

/* The maximum number of elements of a site. The time after further sites counts as time after an
 * unknown site. */
enum { OUTSIDE_PLACES_MOST = 32 };

/* Returns the site of the last call. Call this before the next call is described in the thread's
 * outermost flight, which replaces the site. */
static inline const struct thread_site *outside_last(const struct thread_profile *thread)
{
    return thread->flights.first.data;
}

/* Chooses the element of a site for the call that begins now. If memory is exhausted, the time
 * before the call will be added to the element of another site. */
void outside_find(struct thread_profile *thread, struct thread_site *site);

/* Does the same if the element is one of the two that were used last. Otherwise, returns false. */
static inline bool outside_find_soon(const struct thread_profile *thread, struct thread_site *site)
{
    const struct thread_site *from = outside_last(thread);
    struct thread_outside *place = site->place;
    if (__builtin_expect(place->from == from, 1))
        return true;
    struct thread_outside *other = site->other;
    if (other->from != from)
        return false;
    /* These stores are atomic, so that compilers do not use vector instructions. */
    __atomic_store_n(&site->place, other, __ATOMIC_RELAXED);
    __atomic_store_n(&site->other, place, __ATOMIC_RELAXED);
    return true;
}

/* Records the end of a call. */
static inline void outside_end(struct thread_profile *thread, uint64_t end)
{
    __atomic_store_n(&thread->ended, end, __ATOMIC_RELAXED);
}

/* Adds the time before a call that lasted from `begin` to `end`. */
static inline void outside_add(struct thread_profile *thread, struct thread_site *site,
                               uint64_t begin, uint64_t end)
{
    figure_add(&site->place->time, begin - thread->ended);
    outside_end(thread, end);
}

/* Excludes the time until now in all threads, because profiling was off or application time had not
 * begun. */
void outside_restart(int tool_id);

/* Calls `each` for every site `from` after which calls were made at `site`, with the time between
 * these calls, unless this time is 0. `from` is NULL if it is unknown. Any thread may call this at
 * any time. */
typedef void outside_visitor(void *data, const struct thread_site *from, uint64_t time);
void outside_visit(const struct thread_site *site, outside_visitor *each, void *data);

#endif
