/* SPDX-License-Identifier: MIT */
/* See closed.h. */
#define _GNU_SOURCE
#include "tools/profile/record/closed.h"

#include "tools/profile/record/threads.h"
#include "util/util.h"

#include <stdatomic.h>
#include <string.h>

/* Marks the words that stand for places. No address has this bit, and no line of Python
 * (python.c). */
#define PLACE_MARK (UINT64_C(1) << 62)

struct place {
    struct closed_place known;
    struct place *next;
};

/* Places are added at the front once they are complete, and never removed. */
static _Atomic(struct place *) places;

static struct place *find_known(struct place *place, const char *library, size_t offset)
{
    while (place && (place->known.offset != offset || strcmp(place->known.library, library) != 0))
        place = place->next;
    return place;
}

/* Returns the word for a place, or one that stands for nothing if memory is exhausted. */
static uint64_t word_of(const char *library, size_t offset)
{
    struct place *place = find_known(atomic_load(&places), library, offset);
    if (!place && (place = qmpi_memory_take(sizeof *place))) {
        place->known = (struct closed_place){library, offset};
        place->next = atomic_load(&places);
        while (!atomic_compare_exchange_weak(&places, &place->next, place))
            continue;
    }
    return (uint64_t)(uintptr_t)place | PLACE_MARK;
}

/* The thread of a row may compare the key meanwhile. It does not look for the row of a closed
 * library, so it makes no difference whether it reads the old word or the new one. */
static void replace_in_row(uint64_t *key, size_t depth, const char *library, uint64_t begin,
                           uint64_t end)
{
    for (size_t i = 1; i <= depth; i++) {
        const uint64_t word = __atomic_load_n(&key[i], __ATOMIC_RELAXED);
        if (word >= begin && word < end)
            __atomic_store_n(&key[i], word_of(library, (size_t)(word - begin)), __ATOMIC_RELEASE);
    }
}

void closed_replace(int tool_id, size_t depth, const char *library, const void *begin,
                    const void *end)
{
    for (struct thread_profile *thread = threads_first(tool_id); thread; thread = thread->next) {
        struct table_place place = {0};
        for (uint64_t *row; (row = table_next(&thread->sites, &place));)
            replace_in_row(row, depth, library, (uint64_t)(uintptr_t)begin,
                           (uint64_t)(uintptr_t)end);
    }
}

/* Any word may be given, as to python_find_line. */
const struct closed_place *closed_find(uint64_t word)
{
    struct place *place = word & PLACE_MARK ? atomic_load(&places) : NULL;
    while (place && (uint64_t)(uintptr_t)place != (word & ~PLACE_MARK))
        place = place->next;
    return place ? &place->known : NULL;
}
