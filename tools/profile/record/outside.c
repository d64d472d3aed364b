/* SPDX-License-Identifier: MIT */
/* See outside.h. */
#include "tools/profile/record/outside.h"

#include "util/util.h"

/* Returns a new element, or NULL if memory is exhausted. */
static struct thread_outside *add_outside_place(struct thread_site *site,
                                                const struct thread_site *from)
{
    struct thread_outside *place = qmpi_memory_take(sizeof *place);
    if (place) {
        *place = (struct thread_outside){from, 0, site->places.next};
        __atomic_store_n(&site->places.next, place, __ATOMIC_RELEASE);
    }
    return place;
}

/* Returns the element for `from`. If there is none, returns NULL and sets *count to the number of
 * elements. */
static struct thread_outside *find_place(struct thread_site *site, const struct thread_site *from,
                                         int *count)
{
    *count = 0;
    for (struct thread_outside *it = &site->places; it; it = it->next, ++*count) {
        if (it->from == from)
            return it;
    }
    return NULL;
}

static struct thread_outside *get_place(struct thread_site *site, const struct thread_site *from)
{
    int count;
    struct thread_outside *place = find_place(site, from, &count);
    if (!place && site->places.from == &thread_unused) {
        place = &site->places;
        __atomic_store_n(&place->from, from, __ATOMIC_RELEASE);
    } else if (!place && count >= OUTSIDE_PLACES_MOST && from) {
        return get_place(site, NULL);
    }
    return place ? place : add_outside_place(site, from);
}

void outside_find(struct thread_profile *thread, struct thread_site *site)
{
    const struct thread_site *from = outside_last(thread);
    if (__builtin_expect(from == &thread_nowhere, 0)) {
        outside_end(thread, ticks_now());
        from = NULL;
    }
    if (site->place->from == from)
        return;
    struct thread_outside *place = get_place(site, from);
    site->other = place ? site->place : site->other;
    site->place = place ? place : site->place;
}

/* Another thread that ends a call meanwhile may overwrite this with the end of that call. */
void outside_restart(int tool_id)
{
    for (struct thread_profile *thread = threads_first(tool_id); thread; thread = thread->next)
        outside_end(thread, ticks_now());
}

void outside_visit(const struct thread_site *site, outside_visitor *each, void *data)
{
    for (const struct thread_outside *it = &site->places; it;
         it = __atomic_load_n(&it->next, __ATOMIC_ACQUIRE)) {
        const struct thread_site *from = __atomic_load_n(&it->from, __ATOMIC_ACQUIRE);
        const uint64_t time = __atomic_load_n(&it->time, __ATOMIC_ACQUIRE);
        if ((int64_t)time > 0)
            each(data, from == &thread_unused ? NULL : from, time);
    }
}
