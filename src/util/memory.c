/* SPDX-License-Identifier: MIT */
/* See memory.h. */
#define _GNU_SOURCE
#include "util/memory.h"

#include "util/output.h"

#include <errno.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

/* ---- When memory is exhausted ---------------------------------------------------------------- */

/* The value of the key is the place to which qmpi_memory_exhausted jumps in this thread, or NULL.
 * The place is set by __builtin_setjmp, because libqmpi redirects longjmp. A thread-local variable
 * is not used: in a library that is opened with dlopen, memory for such a variable is allocated
 * when a thread first uses it, which fails if memory is exhausted. */
static pthread_key_t rescue;
static bool has_rescue;

static void make_rescue(void)
{
    has_rescue = !pthread_key_create(&rescue, NULL);
}

bool qmpi_memory_catch_exhausted(void (*function)(void *data), void *data)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    void *here[5];
    pthread_once(&once, make_rescue);
    void *const outer = has_rescue ? pthread_getspecific(rescue) : NULL;
    if (__builtin_setjmp(here)) {
        pthread_setspecific(rescue, outer);
        return false;
    }
    const bool caught = has_rescue && !pthread_setspecific(rescue, here);
    function(data);
    if (caught)
        pthread_setspecific(rescue, outer);
    return true;
}

bool qmpi_memory_catches_exhausted(void)
{
    return has_rescue && pthread_getspecific(rescue);
}

void qmpi_memory_call_locked(void (*function)(void *data), void *data, void (*release)(void))
{
    const bool good = qmpi_memory_catch_exhausted(function, data);
    release();
    if (!good)
        qmpi_memory_exhausted();
}

void qmpi_memory_exhausted(void)
{
    static const char text[] = "qmpi: out of memory\n";
    void **place = has_rescue ? pthread_getspecific(rescue) : NULL;
    if (place)
        __builtin_longjmp(place, 1);
    qmpi_output_standard_write(STDERR_FILENO, text, sizeof text - 1);
    _exit(2);
}

void *qmpi_allocate(size_t count, size_t size)
{
    void *memory = calloc(count ? count : 1, size ? size : 1);
    if (!memory)
        qmpi_memory_exhausted();
    return memory;
}

void *qmpi_memory_grow(void *array, int count, size_t size)
{
    const size_t used = (size_t)count;
    if (used & (used - 1))
        return array;
    void *more = reallocarray(array, used ? 2 * used : 1, size);
    if (!more)
        qmpi_memory_exhausted();
    return more;
}

char *qmpi_copy_part(const char *text, size_t length)
{
    char *copy = qmpi_allocate(length + 1, 1);
    memcpy(copy, text, length);
    return copy;
}

char *qmpi_copy(const char *text)
{
    return qmpi_copy_part(text, strlen(text));
}

char *qmpi_format(const char *format, ...)
{
    char part[256]; /* usually the whole text */
    va_list list, again;
    va_start(list, format);
    va_copy(again, list);
    const int length = vsnprintf(part, sizeof part, format, list);
    va_end(list);
    if (length < 0)
        qmpi_memory_exhausted();
    char *text = qmpi_allocate((size_t)length + 1, 1);
    if ((size_t)length < sizeof part)
        memcpy(text, part, (size_t)length);
    else
        vsnprintf(text, (size_t)length + 1, format, again);
    va_end(again);
    return text;
}

/* ---- Arrays that survive lack of memory ------------------------------------------------------ */

bool qmpi_memory_reserve(void *array, size_t *room, size_t count, size_t size)
{
    size_t wanted = *room ? *room : 4;
    char *before, *larger;
    if (count <= *room)
        return true;
    if (count > SIZE_MAX / 2)
        return false;
    while (wanted < count)
        wanted *= 2;
    memcpy(&before, array, sizeof before);
    larger = reallocarray(before, wanted, size);
    if (!larger)
        return false;
    memset(larger + *room * size, 0, (wanted - *room) * size);
    memcpy(array, &larger, sizeof larger);
    *room = wanted;
    return true;
}

/* ---- Memory of others ------------------------------------------------------------------------ */

/* rt_sigprocmask reads the set of signals at an address, and then refuses the invalid operation. If
 * the set cannot be read, it fails with EFAULT. */
bool qmpi_memory_can_be_read(const void *address, size_t size)
{
    enum { NO_OPERATION = -1, SET_SIZE = 8 };
    const int error = errno;
    const uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE);
    const uintptr_t end = (uintptr_t)address + size;
    bool can_be_read = end >= (uintptr_t)address;
    for (uintptr_t at = (uintptr_t)address / page * page; can_be_read && at < end; at += page)
        can_be_read = !syscall(SYS_rt_sigprocmask, NO_OPERATION, (void *)at, NULL, SET_SIZE) ||
                      errno != EFAULT;
    errno = error;
    return can_be_read;
}

/* ---- Memory during calls --------------------------------------------------------------------- */

enum { LINE = 64, CHUNK = 256 * 1024, LARGE = CHUNK / 4 };

struct chunk {
    _Alignas(LINE) atomic_size_t used;
};

/* The current chunk. It is exchanged after the new chunk was mapped and its `used` was set. The
 * atomic addition to `used` gives each thread memory of its own. */
static _Atomic(struct chunk *) current;

static void *map_pages(size_t size)
{
    void *pages = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    return pages == MAP_FAILED ? NULL : pages;
}

/* Begins a new chunk. The rest of the previous one is lost, but its pages were not touched. */
static bool begin_chunk(struct chunk *full)
{
    struct chunk *chunk = map_pages(CHUNK);
    if (!chunk)
        return false;
    atomic_store_explicit(&chunk->used, sizeof *chunk, memory_order_relaxed);
    if (!atomic_compare_exchange_strong(&current, &full, chunk))
        munmap(chunk, CHUNK); /* another thread has added a chunk first */
    return true;
}

void *qmpi_memory_take(size_t size)
{
    struct chunk *chunk;
    if (size > (size_t)-1 - LINE)
        return NULL;
    size = (size + LINE - 1) & ~(size_t)(LINE - 1);
    if (size > LARGE)
        return map_pages(size);
    do {
        chunk = atomic_load(&current);
        const size_t at = chunk ? atomic_fetch_add(&chunk->used, size) : CHUNK;
        if (at + size <= CHUNK)
            return (char *)chunk + at;
    } while (begin_chunk(chunk));
    return NULL;
}

/* ---- Memory for the whole run ---------------------------------------------------------------- */

enum { BLOCK = 64 << 10, ALIGNMENT = 16 }; /* bytes */

void *qmpi_memory_permanent(size_t count, size_t size)
{
    static char *next;
    static size_t left;
    const size_t all = (count * size + ALIGNMENT - 1) & ~(size_t)(ALIGNMENT - 1);
    if (all > BLOCK)
        return qmpi_allocate(count, size);
    if (all > left) {
        void *block = mmap(NULL, BLOCK, PROT_READ | PROT_WRITE,
                           MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
        if (block == MAP_FAILED)
            return qmpi_allocate(count, size);
        next = block;
        left = BLOCK;
    }
    void *memory = next;
    next += all;
    left -= all;
    return memory;
}
