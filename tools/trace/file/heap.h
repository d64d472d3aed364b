/* SPDX-License-Identifier: MIT */
/*
 * A heap of items of one size, the first of which in an order is found at once. Adding and taking
 * an item moves as many others as the logarithm of their number.
 */
#ifndef QMPI_TRACE_FILE_HEAP_H
#define QMPI_TRACE_FILE_HEAP_H

#include <stdbool.h>
#include <stddef.h>

/* Returns whether an item comes before another one. Of equal items, any may be the first. */
typedef bool trace_heap_order(const void *context, const void *one, const void *other);

/* Is called when an item gets or changes its place, which trace_heap_take needs. */
typedef void trace_heap_moved(void *context, const void *item, size_t place);

struct trace_heap {
    unsigned char *items;
    size_t count, room; /* in bytes: room */
    size_t size;        /* of an item */
    trace_heap_order *is_before;
    trace_heap_moved *moved; /* NULL: places are not needed */
    void *context;           /* for both functions */
};

/* Begins an empty heap. The caller may set `moved` then. */
void trace_heap_start(struct trace_heap *heap, size_t size, trace_heap_order *is_before,
                      void *context);
void trace_heap_free(struct trace_heap *heap);

/* Adds a copy of an item. Returns false if memory is exhausted. */
bool trace_heap_push(struct trace_heap *heap, const void *item);

/* The first item; NULL: there is none. If it is changed, call trace_heap_sink. */
static inline void *trace_heap_first(const struct trace_heap *heap)
{
    return heap->count ? heap->items : NULL;
}

/* Moves the first item to its place, because it has become a later one. */
void trace_heap_sink(struct trace_heap *heap);

/* Removes the item at a place; 0 is that of the first one. */
void trace_heap_take(struct trace_heap *heap, size_t place);

#endif
