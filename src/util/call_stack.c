/* SPDX-License-Identifier: MIT */
/* See call_stack.h. The stack of the first thread is in the mapping that contains the address in
 * __libc_stack_end, and may grow down to the mapping below it. The stack of another thread is in
 * the mapping that also contains the static thread-local variables of the thread. */
#define _GNU_SOURCE
#include "util/call_stack.h"

#include "util/memory.h"
#include "util/message.h"

#include <errno.h>
#include <execinfo.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

/* ---- Memory ---------------------------------------------------------------------------------- */

extern void *__libc_stack_end; /* defined by the dynamic loader */

static _Thread_local char local __attribute__((tls_model("initial-exec")));

/* Reads /proc/self/maps piece by piece into a small buffer. */
struct reader {
    int descriptor;
    ssize_t length, at;
    char bytes[256];
};

static int next_char(struct reader *reader)
{
    if (reader->at == reader->length) {
        do
            reader->length = read(reader->descriptor, reader->bytes, sizeof reader->bytes);
        while (reader->length < 0 && errno == EINTR);
        reader->at = 0;
    }
    return reader->length > 0 ? (unsigned char)reader->bytes[reader->at++] : -1;
}

/* Reads a number in hexadecimal. *end is the character after it. */
static uintptr_t read_number(struct reader *reader, int *end)
{
    uintptr_t number = 0;
    for (;;) {
        const int c = next_char(reader);
        const int digit = c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
        if (digit < 0) {
            *end = c;
            return number;
        }
        number = number << 4 | (uintptr_t)digit;
    }
}

static struct qmpi_call_stack find_mapping(struct reader *reader, uintptr_t address)
{
    uintptr_t lowest = 0;
    for (int c = 0; c >= 0;) {
        const uintptr_t begin = read_number(reader, &c), end = c < 0 ? 0 : read_number(reader, &c);
        const uintptr_t first = (uintptr_t)__libc_stack_end;
        if (address >= begin && address < end)
            return (struct qmpi_call_stack){first >= begin && first < end ? lowest : begin, end};
        lowest = end;
        while (c >= 0 && c != '\n')
            c = next_char(reader);
    }
    return (struct qmpi_call_stack){0, 0};
}

/* Reads the path at the end of the line. Other columns contain no slash. */
static size_t read_path(struct reader *reader, char *path, size_t size)
{
    static const char deleted[] = " (deleted)";
    const size_t behind = sizeof deleted - 1;
    size_t length = 0;
    for (int c = next_char(reader); c >= 0 && c != '\n'; c = next_char(reader)) {
        if ((length || c == '/') && length + 1 < size)
            path[length++] = (char)c;
    }
    if (length > behind && !memcmp(path + length - behind, deleted, behind))
        length -= behind;
    path[length] = '\0';
    return length;
}

/* Finds the mapping that contains an address. Also stores the path of its file if `size` is not
 * 0. */
static struct qmpi_call_stack look_up_address(uintptr_t address, char *path, size_t size)
{
    struct reader reader = {.descriptor = open("/proc/self/maps", O_RDONLY | O_CLOEXEC)};
    if (reader.descriptor < 0)
        return (struct qmpi_call_stack){0, 0};
    struct qmpi_call_stack stack = find_mapping(&reader, address);
    if (size && !(stack.end && read_path(&reader, path, size)))
        stack.end = 0;
    close(reader.descriptor);
    return stack;
}

struct qmpi_call_stack qmpi_call_stack_find(uintptr_t address)
{
    return look_up_address(address, NULL, 0);
}

bool qmpi_call_stack_mapped_file(uintptr_t address, char *path, size_t size)
{
    return look_up_address(address, path, size).end != 0;
}

bool qmpi_call_stack_may_contain(uintptr_t address)
{
    struct reader reader = {.descriptor = open("/proc/self/maps", O_RDONLY | O_CLOEXEC)};
    bool is_stack = false;
    for (int c = 0; reader.descriptor >= 0 && c >= 0;) {
        const uintptr_t begin = read_number(&reader, &c),
                        end = c < 0 ? 0 : read_number(&reader, &c);
        const bool can_be_read = c >= 0 && next_char(&reader) == 'r';
        const bool can_be_written = can_be_read && next_char(&reader) == 'w';
        if (address >= begin && address < end) {
            is_stack = can_be_written;
            break;
        }
        while (c >= 0 && c != '\n')
            c = next_char(&reader);
    }
    if (reader.descriptor >= 0)
        close(reader.descriptor);
    return is_stack;
}

static bool is_first_thread(void)
{
    return syscall(SYS_gettid) == getpid();
}

struct qmpi_call_stack qmpi_call_stack_of_thread(void)
{
    const bool is_first = is_first_thread();
    return qmpi_call_stack_find(is_first ? (uintptr_t)__libc_stack_end : (uintptr_t)&local);
}

/* ---- Room ------------------------------------------------------------------------------------ */

enum { NEEDED = 512 * 1024, EXTENDED = 2 * NEEDED };

/* Sizes to try for a new stack. Unused pages cost nothing unless the address space is limited. */
static const size_t stack_sizes[] = {4096 * 1024, 1024 * 1024};

/* The stack of the first thread is less than this. No other mapping is so near, because the kernel
 * leaves more space below the stack. */
static const uintptr_t first_stack_most = 64 << 20;

/* The bounds of this thread's stack, or 0 if they are not known yet. */
static _Thread_local uintptr_t lowest, highest;

static bool find_stack(void)
{
    pthread_attr_t attributes;
    void *address = NULL;
    size_t size = 0;
    if (pthread_getattr_np(pthread_self(), &attributes))
        return false;
    const bool good = !pthread_attr_getstack(&attributes, &address, &size);
    pthread_attr_destroy(&attributes);
    lowest = (uintptr_t)address;
    highest = lowest + size;
    return good;
}

static bool is_on_signal_stack(stack_t *stack)
{
    return !sigaltstack(NULL, stack) && (stack->ss_flags & SS_ONSTACK);
}

static bool is_on_first_stack(uintptr_t here)
{
    struct rlimit limit;
    const uintptr_t end = (uintptr_t)__libc_stack_end;
    return here < end && end - here < first_stack_most && !getrlimit(RLIMIT_STACK, &limit) &&
           end - here < limit.rlim_cur;
}

/* Defined in a library that valgrind preloads. */
extern void _vgnU_freeres(void) __attribute__((weak));

/*
 * The stack of the first thread grows when it is used. If the address space is exhausted, this
 * fails, and the process ends by SIGSEGV. If the kernel is asked to read at the address to which
 * the stack must grow, it lets the stack grow, or reports that it cannot. valgrind takes such a
 * read for an error; its stacks always grow.
 */
static bool grow_first_stack(uintptr_t here, size_t size)
{
    return _vgnU_freeres || qmpi_memory_can_be_read((const void *)(here - size), 1);
}

/* Returns whether at least half a MiB of the stack is left. Returns false if the program has
 * switched to another stack, because the space there is unknown. */
static bool has_half_mebibyte(void)
{
    const uintptr_t here = (uintptr_t)__builtin_frame_address(0);
    stack_t signal_stack;
    if (is_on_signal_stack(&signal_stack))
        return false;
    if (is_on_first_stack(here))
        return grow_first_stack(here, NEEDED);
    if (!lowest && !find_stack())
        return false;
    return here > lowest && here <= highest && here - lowest >= NEEDED;
}

void qmpi_call_stack_extend(void)
{
    const uintptr_t here = (uintptr_t)__builtin_frame_address(0);
    stack_t signal_stack;
    if (is_on_first_stack(here) && !is_on_signal_stack(&signal_stack))
        grow_first_stack(here, EXTENDED);
}

/* ---- In a thread ----------------------------------------------------------------------------- */

struct work {
    void (*function)(void *data);
    void *data;
    bool good;
};

static void *run_work(void *data)
{
    struct work *work = data;
    work->good = qmpi_memory_catch_exhausted(work->function, work->data);
    return NULL;
}

static int start_worker(pthread_t *thread, struct work *work, size_t size)
{
    pthread_attr_t attributes;
    int problem = pthread_attr_init(&attributes);
    if (problem)
        return problem;
    problem = pthread_attr_setstacksize(&attributes, size);
    if (!problem)
        problem = pthread_create(thread, &attributes, run_work, work);
    pthread_attr_destroy(&attributes);
    return problem;
}

/* Blocks all signals except those of faults, which reach a handler, if there is one. */
static void block_signals(sigset_t *before)
{
    static const int faults[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGABRT, SIGSYS};
    sigset_t others;
    sigfillset(&others);
    for (size_t i = 0; i < sizeof faults / sizeof *faults; i++)
        sigdelset(&others, faults[i]);
    pthread_sigmask(SIG_BLOCK, &others, before);
}

static bool call_in_thread(struct work *work)
{
    pthread_t thread;
    sigset_t before;
    int problem = -1, cancels;
    block_signals(&before);
    for (size_t i = 0; problem && i < sizeof stack_sizes / sizeof *stack_sizes; i++)
        problem = start_worker(&thread, work, stack_sizes[i]);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (problem)
        return false;
    /* pthread_join is a cancellation point. */
    pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancels);
    pthread_join(thread, NULL);
    pthread_setcancelstate(cancels, &cancels);
    return true;
}

bool qmpi_call_stack_run(void (*function)(void *data), void *data)
{
    struct work work = {function, data, false};
    if (has_half_mebibyte())
        return qmpi_memory_catch_exhausted(function, data);
    return call_in_thread(&work) && work.good;
}

/* ---- On a new stack -------------------------------------------------------------------------- */

/* Calls function(data) on the stack that ends at `end`, and returns on the old one. This is
 * assembly code (arch/switch_PROCESSOR.S). As it calls and returns in their order, it needs no
 * shadow stack of its own. */
void qmpi_call_stack_switch(void *end, void (*function)(void *data), void *data)
    __attribute__((visibility("hidden")));

struct new_stack {
    char *begin;
    size_t size;
    void (*function)(void *data);
    void *data;
    bool leaves_signal_stack;
    stack_t signal_stack;
    sigset_t blocked; /* the signals that are blocked before and after the switches */
};

/* Maps, from the lowest address up: a signal stack, a page that nothing can use, and the stack. */
static bool map_new_stack(struct new_stack *new)
{
    const size_t page = (size_t)sysconf(_SC_PAGESIZE);
    for (size_t i = 0; i < sizeof stack_sizes / sizeof *stack_sizes; i++) {
        new->size = stack_sizes[i];
        new->begin = mmap(NULL, new->size, PROT_READ | PROT_WRITE,
                          MAP_PRIVATE | MAP_ANONYMOUS | MAP_STACK, -1, 0);
        if (new->begin == MAP_FAILED)
            continue;
        if (!mprotect(new->begin + new->size / 4, page, PROT_NONE))
            return true;
        munmap(new->begin, new->size);
    }
    return false;
}

/* If a signal stack is left, there is another one meanwhile: the kernel takes the old one for
 * unused, and the next handler would overwrite the frames there. */
static void run_on_new_stack(void *data)
{
    struct new_stack *new = data;
    const stack_t other = {.ss_sp = new->begin, .ss_size = new->size / 4};
    if (new->leaves_signal_stack) {
        sigaltstack(&other, NULL);
        pthread_sigmask(SIG_SETMASK, &new->blocked, NULL);
    }
    new->function(new->data);
    if (new->leaves_signal_stack) {
        block_signals(&new->blocked);
        sigaltstack(&new->signal_stack, NULL);
    }
}

void qmpi_call_stack_run_here(void (*function)(void *data), void *data)
{
    struct new_stack new = {.function = function, .data = data};
    if (has_half_mebibyte() || !map_new_stack(&new)) {
        function(data);
        return;
    }
    new.leaves_signal_stack = is_on_signal_stack(&new.signal_stack);
    new.signal_stack.ss_flags = 0;
    if (new.leaves_signal_stack)
        block_signals(&new.blocked);
    qmpi_call_stack_switch(new.begin + new.size, run_on_new_stack, &new);
    if (new.leaves_signal_stack)
        pthread_sigmask(SIG_SETMASK, &new.blocked, NULL);
    munmap(new.begin, new.size);
}

/* ---- Return addresses ------------------------------------------------------------------------ */

/* The unwinder that qmpi_call_stack_use has set. No other data depends on it, so any memory order
 * suffices. */
static _Atomic(qmpi_call_stack_unwinder *) chosen;

void qmpi_call_stack_use(qmpi_call_stack_unwinder *walk)
{
    atomic_store(&chosen, walk);
}

void qmpi_call_stack_prepare(void)
{
    void *frame;
    backtrace(&frame, 1); /* the first call loads a library; a longjmp out of that would leave the
                             loader inconsistent */
}

int qmpi_call_stack_unwind(void **frames, int capacity)
{
    qmpi_call_stack_unwinder *const walk = atomic_load(&chosen);
    const int count = walk ? walk(frames, capacity) : -1;
    return count >= 0 ? count : backtrace(frames, capacity);
}
