/* SPDX-License-Identifier: MIT */
/* See occurrences.h. */
#include "observe/occurrences.h"

#include <stdlib.h>

enum { FIRST_CAPACITY = 8 };

static struct qmpi_occurrence *slot_of(const struct qmpi_occurrences *occurrences, uint64_t key)
{
    size_t i = key & (occurrences->capacity - 1);
    while (occurrences->slots[i].count && occurrences->slots[i].key != key)
        i = (i + 1) & (occurrences->capacity - 1);
    return &occurrences->slots[i];
}

/* At most half of the slots are in use. */
static bool grow(struct qmpi_occurrences *occurrences)
{
    struct qmpi_occurrences larger = *occurrences;
    if (2 * occurrences->used < occurrences->capacity)
        return true;
    larger.capacity = occurrences->capacity ? 2 * occurrences->capacity : FIRST_CAPACITY;
    larger.slots = calloc(larger.capacity, sizeof *larger.slots);
    if (!larger.slots)
        return false;
    for (size_t i = 0; i < occurrences->capacity; i++) {
        if (occurrences->slots[i].count)
            *slot_of(&larger, occurrences->slots[i].key) = occurrences->slots[i];
    }
    free(occurrences->slots);
    *occurrences = larger;
    return true;
}

uint64_t qmpi_occurrences_count(struct qmpi_occurrences *occurrences, uint64_t key)
{
    occurrences->failed = occurrences->failed || !grow(occurrences);
    if (occurrences->failed)
        return 0;
    struct qmpi_occurrence *slot = slot_of(occurrences, key);
    occurrences->used += !slot->count;
    slot->key = key;
    return ++slot->count;
}

void qmpi_occurrences_drop(struct qmpi_occurrences *occurrences)
{
    free(occurrences->slots);
    *occurrences = (struct qmpi_occurrences){.slots = NULL};
}
