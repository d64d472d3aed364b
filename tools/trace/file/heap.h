/* SPDX-License-Identifier: MIT */
/*
 * A heap of items of equal size. Its first item, in an order that the caller defines, is always
 * available. Adding or removing an item moves O(log n) other items.
 */
#ifndef QMPI_TRACE_FILE_HEAP_H
#define QMPI_TRACE_FILE_HEAP_H

#include <stdbool.h>
#include <stddef.h>

/* Returns whether an item comes before another one. Equal items may come in any order. */
typedef bool trace_heap_order(const void *context, const void *one, const void *other);

/* Called when the place of an item changes. Callers of trace_heap_take need this to know the places
 * of items other than the first. */
typedef void trace_heap_moved(void *context, const void *item, size_t place);

struct trace_heap {
    unsigned char *items;
    size_t count, room; /* room: in bytes */
    size_t size;        /* size of an item */
    trace_heap_order *is_before;
    trace_heap_moved *moved; /* may be NULL */
    void *context;           /* argument of both functions */
};

/* Makes an empty heap. `size` is the size of an item in bytes, at most 64. The caller may set
 * `moved` afterwards. */
void trace_heap_start(struct trace_heap *heap, size_t size, trace_heap_order *is_before,
                      void *context);
void trace_heap_free(struct trace_heap *heap);

/* Adds a copy of an item. Returns false if memory is exhausted. */
bool trace_heap_push(struct trace_heap *heap, const void *item);

/* Returns the first item, or NULL if there is none. If the caller changes the item, it must call
 * trace_heap_sink afterwards. */
static inline void *trace_heap_first(const struct trace_heap *heap)
{
    return heap->count ? heap->items : NULL;
}

/* Moves the first item to its new place, after it was changed so that it comes later in the
 * order. */
void trace_heap_sink(struct trace_heap *heap);

/* Removes the item at a place; the first item has place 0. */
void trace_heap_take(struct trace_heap *heap, size_t place);

#endif
