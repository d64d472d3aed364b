/* SPDX-License-Identifier: MIT */
/* See ring.h. */
#define _GNU_SOURCE
#include "ring.h"

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

bool ring_has(struct shared *shared, uint64_t least)
{
    const int count = atomic_load(&shared->rings);
    for (int i = 0; i < count; i++) {
        if (atomic_load(&shared->ring[i].head) - atomic_load(&shared->ring[i].tail) >= least)
            return true;
    }
    return false;
}

/* ---- Writing --------------------------------------------------------------------------------- */

enum { LINES = 128 }; /* for each system call */

struct batch {
    int descriptor, count;
    struct iovec lines[LINES];
};

/* Takes away what was written: whole lines, and the beginning of one. */
static struct iovec *skip(struct iovec *line, const struct iovec *end, size_t length)
{
    while (line < end && length >= line->iov_len)
        length -= line++->iov_len;
    if (line < end) {
        line->iov_base = (char *)line->iov_base + length;
        line->iov_len -= length;
    }
    return line;
}

static void write_batch(struct batch *batch)
{
    struct iovec *line = batch->lines;
    const struct iovec *const end = line + batch->count;
    while (line < end) {
        const ssize_t written = writev(batch->descriptor, line, (int)(end - line));
        if (written >= 0)
            line = skip(line, end, (size_t)written);
        else if (errno == EAGAIN)
            poll(&(struct pollfd){.fd = batch->descriptor, .events = POLLOUT}, 1, -1);
        else if (errno != EINTR)
            line++;
    }
    batch->count = 0;
}

/* ---- The order of the lines ------------------------------------------------------------------ */

/* The next record of a ring; NULL: none before line number `end`. */
static const struct record *next_record(struct ring *ring, uint64_t head, uint64_t end)
{
    while (ring->next < head) {
        const struct record *record = (const void *)(ring->bytes + ring->next % RING_SIZE);
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

/* The ring with the first line, and until which number its lines are next. NULL: there is none. */
static struct ring *first_ring(struct shared *shared, uint64_t *end)
{
    struct ring *first = NULL;
    uint64_t lowest = *end;
    const int count = atomic_load(&shared->rings);
    for (int i = 0; i < count; i++) {
        struct ring *ring = &shared->ring[i];
        const struct record *record = next_record(ring, head_of(ring), *end);
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

static void give_back(struct shared *shared)
{
    const int count = atomic_load(&shared->rings);
    for (int i = 0; i < count; i++)
        atomic_store_explicit(&shared->ring[i].tail, shared->ring[i].next, memory_order_release);
}

static void add(struct shared *shared, struct batch *batch, const struct record *record)
{
    batch->lines[batch->count++] = (struct iovec){(void *)(uintptr_t)(record + 1), record->length};
    if (batch->count == LINES) {
        write_batch(batch);
        give_back(shared);
    }
}

/* The bound comes first: a line that another one causes has the lower number, and is there before
 * the other one gets its number. So no line is written before the one that it follows. */
bool ring_drain(struct shared *shared, int descriptor)
{
    const uint64_t bound = atomic_load(&shared->number);
    struct batch batch = {.descriptor = descriptor};
    struct ring *ring;
    uint64_t end = bound;
    bool any = false;
    while ((ring = first_ring(shared, &end))) {
        const struct record *record;
        const uint64_t head = head_of(ring);
        while ((record = next_record(ring, head, end))) {
            const uint64_t size = sizeof *record + record->length;
            add(shared, &batch, record);
            ring->next += (size + sizeof *record - 1) / sizeof *record * sizeof *record;
        }
        end = bound;
        any = true;
    }
    write_batch(&batch);
    give_back(shared);
    return any;
}
