/* SPDX-License-Identifier: MIT */
/* See heap.h: a binary heap in an array. */
#include "tools/trace/file/heap.h"

#include "util/util.h"

#include <stdlib.h>
#include <string.h>

enum { ITEM_MAX = 64 }; /* bytes */

void trace_heap_start(struct trace_heap *heap, size_t size, trace_heap_order *is_before,
                      void *context)
{
    *heap = (struct trace_heap){.size = size, .is_before = is_before, .context = context};
}

void trace_heap_free(struct trace_heap *heap)
{
    free(heap->items);
    heap->items = NULL;
    heap->count = heap->room = 0;
}

static unsigned char *item_at(const struct trace_heap *heap, size_t place)
{
    return heap->items + place * heap->size;
}

static void put_at(struct trace_heap *heap, size_t place, const void *item)
{
    memcpy(item_at(heap, place), item, heap->size);
    if (heap->moved)
        heap->moved(heap->context, item, place);
}

/* Puts an item into the free place `place`, or into a place above it if the item comes before the
 * items there, which then move down. */
static void rise(struct trace_heap *heap, size_t place, const void *item)
{
    for (; place; place = (place - 1) / 2) {
        const unsigned char *parent = item_at(heap, (place - 1) / 2);
        if (!heap->is_before(heap->context, item, parent))
            break;
        put_at(heap, place, parent);
    }
    put_at(heap, place, item);
}

/* Moves items up into the free place `place`, as long as they come before `item`. Returns the place
 * that is free then. */
static size_t sink_hole(struct trace_heap *heap, size_t place, const void *item)
{
    for (size_t child; (child = 2 * place + 1) < heap->count; place = child) {
        if (child + 1 < heap->count &&
            heap->is_before(heap->context, item_at(heap, child + 1), item_at(heap, child)))
            child++;
        if (!heap->is_before(heap->context, item_at(heap, child), item))
            break;
        put_at(heap, place, item_at(heap, child));
    }
    return place;
}

bool trace_heap_push(struct trace_heap *heap, const void *item)
{
    if (!QMPI_MEMORY_RESERVE(heap->items, heap->room, (heap->count + 1) * heap->size))
        return false;
    rise(heap, heap->count++, item);
    return true;
}

void trace_heap_sink(struct trace_heap *heap)
{
    unsigned char item[ITEM_MAX];
    if (heap->count < 2)
        return;
    memcpy(item, heap->items, heap->size);
    put_at(heap, sink_hole(heap, 0, item), item);
}

void trace_heap_take(struct trace_heap *heap, size_t place)
{
    unsigned char moved[ITEM_MAX];
    if (place == --heap->count)
        return;
    memcpy(moved, item_at(heap, heap->count), heap->size);
    rise(heap, sink_hole(heap, place, moved), moved);
}
