/* SPDX-License-Identifier: MIT */
/* See ring.h. */
#define _GNU_SOURCE
#include "tools/log/ring.h"

#include <errno.h>
#include <limits.h>
#include <linux/futex.h>
#include <poll.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

void ring_wait(atomic_uint *word, unsigned value, long milliseconds)
{
    const struct timespec time = {milliseconds / 1000, milliseconds % 1000 * 1000000};
    syscall(SYS_futex, word, FUTEX_WAIT, value, &time, NULL, 0);
}

void ring_wake(atomic_uint *word)
{
    syscall(SYS_futex, word, FUTEX_WAKE, INT_MAX, NULL, NULL, 0);
}

bool ring_has(struct ring_shared *shared, uint64_t least)
{
    const int count = atomic_load(&shared->rings);
    for (int i = 0; i < count; i++) {
        if (atomic_load(&shared->ring[i].head) - atomic_load(&shared->ring[i].tail) >= least)
            return true;
    }
    return false;
}

/* ---- Writing --------------------------------------------------------------------------------- */

enum {
    LINES = 128,     /* maximum for each system call */
    PATIENCE = 10000 /* milliseconds to wait for a descriptor that accepts no data */
};

struct batch {
    int descriptor, count;
    atomic_int *error;
    struct iovec lines[LINES];
};

/* Skips the `length` bytes that were written. They consist of whole lines and possibly the
 * beginning of another line. */
static struct iovec *skip_written(struct iovec *line, const struct iovec *end, size_t length)
{
    while (line < end && length >= line->iov_len)
        length -= line++->iov_len;
    if (line < end) {
        line->iov_base = (char *)line->iov_base + length;
        line->iov_len -= length;
    }
    return line;
}

static bool wait_for_descriptor(int descriptor)
{
    struct pollfd ready = {.fd = descriptor, .events = POLLOUT};
    return poll(&ready, 1, PATIENCE) != 0;
}

static void write_batch(struct batch *batch)
{
    struct iovec *line = batch->lines;
    const struct iovec *const end = line + batch->count;
    while (line < end && !atomic_load(batch->error)) {
        const ssize_t written = writev(batch->descriptor, line, (int)(end - line));
        if (written >= 0)
            line = skip_written(line, end, (size_t)written);
        else if (errno != EINTR && (errno != EAGAIN || !wait_for_descriptor(batch->descriptor)))
            atomic_store(batch->error, errno);
    }
    batch->count = 0;
}

void ring_write(struct ring_shared *shared, int descriptor, const char *bytes, size_t length)
{
    struct batch batch = {.descriptor = descriptor, .count = 1, .error = &shared->error};
    batch.lines[0] = (struct iovec){(void *)(uintptr_t)bytes, length};
    write_batch(&batch);
}

/* ---- The order of the lines ------------------------------------------------------------------ */

/* Returns the next record of a ring, or NULL if there is none before line number `end`. */
static const struct ring_record *next_record(struct ring *ring, uint64_t head, uint64_t end)
{
    while (ring->next < head) {
        const struct ring_record *record = (const void *)(ring->bytes + ring->next % RING_SIZE);
        if (record->length != RECORD_NONE)
            return record->number < end ? record : NULL;
        ring->next += RING_SIZE - ring->next % RING_SIZE;
    }
    return NULL;
}

static uint64_t head_of(struct ring *ring)
{
    return atomic_load_explicit(&ring->head, memory_order_acquire);
}

/* Returns the ring that has the first line, or NULL if there is no line before `*end`. If other
 * rings have lines before `*end`, lowers `*end` to the lowest number of these lines. All lines of
 * the returned ring before the new `*end` come next. */
static struct ring *first_ring(struct ring_shared *shared, uint64_t *end)
{
    struct ring *first = NULL;
    uint64_t lowest = *end;
    const int count = atomic_load(&shared->rings);
    for (int i = 0; i < count; i++) {
        struct ring *ring = &shared->ring[i];
        const struct ring_record *record = next_record(ring, head_of(ring), *end);
        if (!record)
            continue;
        if (record->number < lowest) {
            *end = lowest;
            lowest = record->number;
            first = ring;
        } else {
            *end = record->number;
        }
    }
    return first;
}

static void move_tails(struct ring_shared *shared)
{
    const int count = atomic_load(&shared->rings);
    for (int i = 0; i < count; i++)
        atomic_store_explicit(&shared->ring[i].tail, shared->ring[i].next, memory_order_release);
}

static void add_to_batch(struct ring_shared *shared, struct batch *batch,
                         const struct ring_record *record)
{
    batch->lines[batch->count++] = (struct iovec){(void *)(uintptr_t)(record + 1), record->length};
    if (batch->count == LINES) {
        write_batch(batch);
        move_tails(shared);
    }
}

/* The bound is read before the heads. A thread takes the number of a line after all lines that
 * happened before it are in their rings (see ring.h). Therefore, no line is written before a line
 * that happened before it. */
bool ring_drain(struct ring_shared *shared, int descriptor)
{
    const uint64_t bound = atomic_load(&shared->number);
    struct batch batch = {.descriptor = descriptor, .error = &shared->error};
    struct ring *ring;
    uint64_t end = bound;
    bool any = false;
    while ((ring = first_ring(shared, &end))) {
        const struct ring_record *record;
        const uint64_t head = head_of(ring);
        while ((record = next_record(ring, head, end))) {
            const uint64_t size = sizeof *record + record->length;
            add_to_batch(shared, &batch, record);
            ring->next += (size + sizeof *record - 1) / sizeof *record * sizeof *record;
        }
        end = bound;
        any = true;
    }
    write_batch(&batch);
    move_tails(shared);
    return any;
}
