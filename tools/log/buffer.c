/* SPDX-License-Identifier: MIT */
/* See buffer.h. */
#define _GNU_SOURCE
#include "buffer.h"

#include "ring.h"
#include "util/util.h"

#include <fcntl.h>
#include <linux/futex.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

enum { START_MS = 2000, FLUSH_MS = 10000, STEP_MS = 50 };

/* In memory that is cleared in a child, however it was forked: whether this is the process that
 * started the buffers. */
static atomic_bool *is_here;

static bool is_active(const struct buffer *buffer)
{
    return buffer->shared && atomic_load_explicit(is_here, memory_order_relaxed);
}

/* ---- Starting -------------------------------------------------------------------------------- */

static bool note_process(void)
{
    if (is_here)
        return atomic_load(is_here);
    const size_t size = (size_t)sysconf(_SC_PAGESIZE);
    void *page = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (page == MAP_FAILED)
        return false;
    is_here = page;
    atomic_store(is_here, madvise(page, size, MADV_WIPEONFORK) == 0);
    return atomic_load(is_here);
}

/* A limit on the size of files holds for memory files, too, and a signal would say so. */
static bool may_be_as_large(void)
{
    struct rlimit limit;
    return !getrlimit(RLIMIT_FSIZE, &limit) &&
           (limit.rlim_cur == RLIM_INFINITY || limit.rlim_cur >= sizeof(struct shared));
}

static struct shared *map_shared(int memory)
{
    if (memory < 0 || ftruncate(memory, sizeof(struct shared)))
        return NULL;
    void *pages = mmap(NULL, sizeof(struct shared), PROT_READ | PROT_WRITE,
                       MAP_SHARED | MAP_NORESERVE, memory, 0);
    return pages == MAP_FAILED ? NULL : pages;
}

/* Beyond those that a detached program has. */
static int move_up(int descriptor)
{
    return fcntl(descriptor, F_DUPFD_CLOEXEC, QMPI_DETACHED_DESCRIPTORS);
}

static bool start_writer(struct shared *shared, char *const *arguments, const int *descriptors)
{
    bool good = true;
    for (int i = 0; i < QMPI_DETACHED_DESCRIPTORS; i++)
        good = good && descriptors[i] >= 0;
    good = good && qmpi_detached_start(arguments, descriptors);
    for (int waited = 0; good && waited < START_MS && !atomic_load(&shared->writer);
         waited += STEP_MS)
        ring_wait(&shared->writer, 0, STEP_MS);
    return good && atomic_load(&shared->writer);
}

void buffer_start(struct buffer *buffer, char *const *arguments, int descriptor)
{
    if (!may_be_as_large() || !note_process())
        return;
    const int made = memfd_create("qmpi-log", MFD_CLOEXEC);
    struct shared *shared = map_shared(made);
    if (shared) {
        const int descriptors[QMPI_DETACHED_DESCRIPTORS] = {qmpi_end_of_process(), move_up(made),
                                                            move_up(descriptor)};
        buffer->descriptor = descriptor;
        if (start_writer(shared, arguments, descriptors))
            buffer->shared = shared;
        else
            munmap(shared, sizeof *shared);
        for (int i = 0; i < QMPI_DETACHED_DESCRIPTORS; i++)
            close(descriptors[i]);
    }
    close(made);
}

/* ---- The writer ------------------------------------------------------------------------------ */

/* Whether lines must be written here from now on. The one who is at it when another one comes looks
 * again when it is done. */
static bool take_over(struct buffer *buffer)
{
    struct shared *shared = buffer->shared;
    if (!(atomic_load(&shared->writer) & FUTEX_OWNER_DIED))
        return false;
    atomic_store(&shared->state, WRITER_GONE);
    while (ring_has(shared, 1) && !atomic_exchange(&shared->draining, true)) {
        ring_drain(shared, buffer->descriptor);
        atomic_store(&shared->draining, false);
    }
    return true;
}

static void wake(struct buffer *buffer, bool for_any)
{
    struct shared *shared = buffer->shared;
    unsigned state = atomic_load(&shared->state);
    if (state == WRITER_GONE)
        take_over(buffer);
    else if ((for_any || state == WRITER_SLEEPS) && state != WRITER_WORKS &&
             atomic_compare_exchange_strong(&shared->state, &state, WRITER_WORKS))
        ring_wake(&shared->state);
}

void buffer_flush(struct buffer *buffer)
{
    if (!is_active(buffer))
        return;
    struct shared *shared = buffer->shared;
    const unsigned wanted = atomic_fetch_add(&shared->asked, 1) + 1;
    unsigned done = atomic_load(&shared->done);
    wake(buffer, true);
    for (int waited = 0; (int)(done - wanted) < 0 && waited < FLUSH_MS && !take_over(buffer);
         waited += STEP_MS) {
        ring_wait(&shared->done, done, STEP_MS);
        done = atomic_load(&shared->done);
    }
}

/* ---- Adding lines ---------------------------------------------------------------------------- */

static bool has_room(struct buffer *buffer, struct ring *ring, uint64_t head)
{
    while (head - atomic_load_explicit(&ring->tail, memory_order_acquire) > RING_SIZE) {
        buffer_flush(buffer);
        if (atomic_load(&buffer->shared->state) == WRITER_GONE)
            return head - atomic_load(&ring->tail) <= RING_SIZE;
    }
    return true;
}

static void use_ring(struct shared *shared, int ring)
{
    int count = atomic_load(&shared->rings);
    while (count <= ring && !atomic_compare_exchange_weak(&shared->rings, &count, ring + 1))
        continue;
}

bool buffer_add(struct buffer *buffer, int place, const char *bytes, size_t length)
{
    const size_t unit = sizeof(struct record);
    const size_t size = unit + (length + unit - 1) / unit * unit;
    if (!is_active(buffer) || place < 0 || place >= RING_COUNT || length > RING_SIZE / 4)
        return false;
    struct shared *shared = buffer->shared;
    struct ring *ring = &shared->ring[place];
    uint64_t head = atomic_load_explicit(&ring->head, memory_order_relaxed);
    const size_t left = RING_SIZE - head % RING_SIZE, skipped = left < size ? left : 0;
    if (!has_room(buffer, ring, head + skipped + size))
        return false;
    if (!head)
        use_ring(shared, place);
    if (skipped)
        *(struct record *)(void *)(ring->bytes + head % RING_SIZE) =
            (struct record){.length = RECORD_NONE};
    head += skipped;
    struct record *record = (void *)(ring->bytes + head % RING_SIZE);
    record->length = (uint32_t)length;
    memcpy(record + 1, bytes, length);
    record->number = atomic_fetch_add(&shared->number, 1);
    head += size;
    atomic_store(&ring->head, head); /* before the state is read: see writer.c */
    if (__builtin_expect(atomic_load(&shared->state) != WRITER_WORKS, 1))
        wake(buffer,
             head - atomic_load_explicit(&ring->tail, memory_order_relaxed) >= RING_SIZE / 2);
    return true;
}
