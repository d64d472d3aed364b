/* SPDX-License-Identifier: MIT */
/* See line.h. Functions that must be safe in a signal handler make their line in an array on the
 * stack, and call only functions that are also safe, such as those of <qmpi/clock.h> and sink.h. */
#define _GNU_SOURCE
#include "tools/log/line.h"

#include "toolkit/toolkit.h"
#include "tools/log/arguments.h"
#include "util/util.h"

#include <qmpi/clock.h>
#include <qmpi/observer.h>

#include <limits.h>
#include <linux/futex.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

/* ---- Callers: the thread that reads debug information ---------------------------------------- */

/* The wait for the thread is limited, because the waiting thread itself may hold a lock that
 * reading debug information needs. This happens if a library's constructor makes the call, or if
 * the call is made in a signal handler that interrupted the dynamic loader. */
enum { PATIENCE_SECONDS = 2, RESOLVER_STACK = 1024 * 1024 };
enum { NEW, ASKED, ABANDONED, KNOWN }; /* Threads wait for a site whose state is ASKED. */

struct site {
    _Atomic(const void *) caller; /* NULL: in a library that was closed */
    atomic_uint state;            /* stored after `text`, and loaded before it */
    const char *text;             /* valid once the state is KNOWN */
    struct site *next, *next_asked;
    char plain[120]; /* "app+0x1139" */
};

enum { SITE_BUCKETS = 1024 };
static _Atomic(struct site *) site_buckets[SITE_BUCKETS]; /* Sites are only ever added. */
static _Atomic(struct site *) asked_sites; /* The site that was added last comes first. */
static sem_t sites_to_resolve;  /* The semaphore is posted once for each site that is added. */
static _Atomic(pid_t) resolver; /* the process that has the thread, or 0 */
static pthread_t resolver_thread;
static atomic_bool resolver_ends;
static _Atomic(pid_t) exits;  /* the process that has begun to exit, or 0 */
static pthread_t exit_thread; /* the thread that has called exit, if `exits` is not 0 */

static char *make_site_text(const void *caller)
{
    char *text = NULL;
    const QMPIX_Address *site;
    if (QMPIX_Address_describe(caller, &site) || !site->frame_count || !site->frames->function)
        return NULL;
    const QMPIX_Frame *frame = site->frames;
    const int length = frame->file ? asprintf(&text, "%s (%s:%d)", frame->function,
                                              qmpi_text_base_name(frame->file), frame->line)
                                   : asprintf(&text, "%s (%s+0x%zx)", frame->function,
                                              qmpi_text_base_name(site->library), site->offset);
    return length < 0 ? NULL : text;
}

static void call_futex(atomic_uint *word, int operation, unsigned value,
                       const struct timespec *time)
{
    syscall(SYS_futex, word, operation, value, time, NULL, 0);
}

static void resolve_site(struct site *site)
{
    const char *text = make_site_text(atomic_load(&site->caller));
    site->text = text ? text : site->plain;
    atomic_store(&site->state, KNOWN);
    call_futex(&site->state, FUTEX_WAKE_PRIVATE, INT_MAX, NULL);
}

static void *run_resolver(void *data)
{
    struct qmpi_arithmetic ignored;
    /* The new thread inherits the floating-point environment, which the program may have
     * changed. */
    qmpi_arithmetic_begin(&ignored);
    for (bool ends = false; !ends;) {
        while (sem_wait(&sites_to_resolve))
            continue;
        /* Loaded first, so that a thread that has found the resolver running has its answer. */
        ends = atomic_load(&resolver_ends);
        for (struct site *site = atomic_exchange(&asked_sites, NULL), *next; site; site = next) {
            next = site->next_asked;
            resolve_site(site);
        }
    }
    return data;
}

static void start_resolver(void)
{
    pthread_attr_t attributes;
    sigset_t all, before;
    atomic_store(&resolver_ends, false);
    pthread_attr_init(&attributes);
    pthread_attr_setstacksize(&attributes, RESOLVER_STACK);
    /* The new thread must not handle signals that are meant for the program. */
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    if (!pthread_create(&resolver_thread, &attributes, run_resolver, NULL))
        atomic_store(&resolver, getpid());
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    pthread_attr_destroy(&attributes);
}

/* The wait is limited, because the resolver may need a lock that this thread holds, for instance if
 * a signal handler calls exit. pthread_timedjoin_np is a cancellation point. */
void line_end_callers(void)
{
    struct timespec until;
    int cancels;
    if (atomic_load(&resolver) != getpid())
        return;
    atomic_store(&resolver, 0);
    atomic_store(&resolver_ends, true);
    sem_post(&sites_to_resolve);
    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_sec += PATIENCE_SECONDS;
    pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancels);
    pthread_timedjoin_np(resolver_thread, NULL, &until);
    pthread_setcancelstate(cancels, &cancels);
}

/* Called when exit begins. Destructors may still make calls. */
static void end_resolver(void)
{
    exit_thread = pthread_self();
    atomic_store(&exits, getpid());
    line_end_callers();
}

/* Starts the resolver again for a call of a destructor or an exit handler from a new place. */
static void resume_resolver(void)
{
    if (!atomic_load(&resolver) && atomic_load(&exits) == getpid() &&
        pthread_equal(exit_thread, pthread_self()) && !thread_level_interrupts())
        start_resolver();
}

void line_start_callers(void)
{
    const QMPIX_Address *nowhere;
    if (atomic_load(&resolver))
        return;
    /* This call loads the code that describes addresses. It could not be loaded later if a thread
     * that runs a constructor held the lock of the dynamic loader. */
    QMPIX_Library_describe("", 0, &nowhere);
    sem_init(&sites_to_resolve, 0, 0);
    atexit(end_resolver);
    start_resolver();
}

/* ---- Callers: looking up an address ---------------------------------------------------------- */

static void wait_for_site(struct site *site)
{
    struct timespec now, until;
    clock_gettime(CLOCK_MONOTONIC, &until);
    until.tv_sec += PATIENCE_SECONDS;
    while (atomic_load(&site->state) == ASKED) {
        clock_gettime(CLOCK_MONOTONIC, &now);
        struct timespec left = {until.tv_sec - now.tv_sec, until.tv_nsec - now.tv_nsec};
        if (left.tv_nsec < 0) {
            left.tv_sec--;
            left.tv_nsec += 1000000000;
        }
        unsigned state = ASKED;
        if (left.tv_sec < 0)
            atomic_compare_exchange_strong(&site->state, &state, ABANDONED);
        else
            call_futex(&site->state, FUTEX_WAIT_PRIVATE, ASKED, &left);
    }
}

static void describe_address(struct site *site, const void *caller)
{
    struct text text = {.data = site->plain, .size = sizeof site->plain - 1, .is_fixed = true};
    const char *library = "?";
    size_t offset = (size_t)(uintptr_t)caller;
    QMPIX_Address_find(caller, &library, &offset);
    const char *name = qmpi_text_base_name(library);
    text_add(&text, name, strnlen(name, 96));
    text_char(&text, '+');
    text_hex(&text, offset, 0);
}

void line_forget_callers(const void *begin, const void *end)
{
    for (size_t i = 0; i < SITE_BUCKETS; i++) {
        for (struct site *site = atomic_load(&site_buckets[i]); site; site = site->next) {
            const void *caller = atomic_load(&site->caller);
            if (caller >= begin && caller < end)
                atomic_store(&site->caller, NULL);
        }
    }
}

static struct site *find_in_bucket(const void *caller, struct site *site)
{
    while (site && atomic_load_explicit(&site->caller, memory_order_relaxed) != caller)
        site = site->next;
    return site;
}

static struct site *add_caller_site(const void *caller, _Atomic(struct site *) *bucket)
{
    struct site *site = qmpi_memory_take(sizeof *site), *known;
    if (!site)
        return NULL;
    atomic_store(&site->caller, caller);
    describe_address(site, caller);
    site->next = atomic_load(bucket);
    do {
        if ((known = find_in_bucket(caller, site->next)))
            return known; /* another thread has added it first */
    } while (!atomic_compare_exchange_weak(bucket, &site->next, site));
    site->next_asked = atomic_load(&asked_sites);
    while (!atomic_compare_exchange_weak(&asked_sites, &site->next_asked, site))
        continue;
    sem_post(&sites_to_resolve);
    unsigned state = NEW; /* in the meantime, the site may have become KNOWN */
    atomic_compare_exchange_strong(&site->state, &state, ASKED);
    return site;
}

const char *line_find_caller(const void *caller)
{
    _Atomic(struct site *) *bucket =
        &site_buckets[((uintptr_t)caller ^ (uintptr_t)caller >> 10) % SITE_BUCKETS];
    if (!caller)
        return "?";
    struct site *site = find_in_bucket(caller, atomic_load_explicit(bucket, memory_order_acquire));
    if (!site && !(site = add_caller_site(caller, bucket)))
        return "?";
    if (atomic_load(&site->state) == ASKED)
        resume_resolver();
    if (atomic_load(&site->state) == ASKED && atomic_load(&resolver) == getpid())
        wait_for_site(site);
    return atomic_load(&site->state) == KNOWN ? site->text : site->plain;
}

/* ---- Lines ----------------------------------------------------------------------------------- */

uint64_t line_time(uint64_t ticks)
{
    uint64_t nanoseconds = 0;
    QMPIX_Clock_to_nanoseconds(ticks > log_start ? ticks - log_start : 0, &nanoseconds);
    return nanoseconds;
}

uint64_t line_now(void)
{
    uint64_t ticks = 0;
    QMPIX_Clock_get_time(&ticks);
    return line_time(ticks);
}

/* Returns the beginning of a line. `thread` is 0 if the line belongs to no thread. */
static struct prefix prefix_of(struct layer *layer, int thread, uint64_t when)
{
    return (struct prefix){.rank = atomic_load(&layer->rank),
                           .layer = log_layer_count > 1 ? layer->tool_id : 0,
                           .thread = frames_threads() > 1 ? thread : 0,
                           .time = layer->options.time,
                           .when = when,
                           /* Asking for the local time takes a lock. */
                           .start_local = log_start_local};
}

static void add_prefix(struct text *text, struct layer *layer, int thread, uint64_t when)
{
    const struct prefix prefix = prefix_of(layer, thread, when);
    if (sink_is_stderr(&layer->sink))
        text_string(text, "qmpi: ");
    prefix_add(text, &prefix);
}

void line_set_phase(struct layer *layer, int phase)
{
    const struct prefix prefix = prefix_of(layer, 0, line_now());
    sink_set_phase(&layer->sink, phase, &prefix);
}

static size_t copy_cut(char *to, size_t size, const char *bytes, size_t length)
{
    length = length < size ? length : size;
    memcpy(to, bytes, length);
    return length;
}

void line_open(struct frame *frame)
{
    struct layer *layer = frame->layer;
    /* Options that choose lines by what the call has done may choose none, and then there is no
     * file. Before MPI is initialized, its own line opens the file. */
    const bool opens = !layer->judges && atomic_load(&layer->begun) && !atomic_load(&layer->ended);
    struct ring_call *call = sink_call_find(&layer->sink, frame->number, opens);
    if (!call)
        return;
    call->prefix = prefix_of(layer, frame->thread, frame->begin);
    call->prefix.thread = frame->thread;
    call->depth = frame->depth;
    call->length =
        (uint32_t)copy_cut(call->text, sizeof call->text, frame->text.data, frame->text.length);
    call->caller_length = 0;
    if (frame->caller)
        call->caller_length = (uint32_t)copy_cut(call->caller, sizeof call->caller, frame->caller,
                                                 strlen(frame->caller));
    sink_call_open(&layer->sink, call, frames_threads());
    frame->call = call;
}

static void add_begin(struct text *text, const struct frame *frame)
{
    add_prefix(text, frame->layer, frame->thread, frame->begin);
    prefix_indent(text, frame->depth);
}

static void add_caller(struct text *text, const struct frame *frame)
{
    if (frame->caller) {
        text_string(text, " at ");
        text_string(text, frame->caller);
    }
}

/* Adds a line about a call of this thread. `call` is the place of the call if it has returned, or
 * NULL. */
static void add_line_of_thread(struct text *text, struct layer *layer, struct ring_call *call)
{
    text_char(text, '\n');
    sink_add(&layer->sink, frames_ring(), call, text->data, text->length);
}

/* Writes a line about a call of any thread, or about a process that ends. */
static void write_line(struct text *text, struct layer *layer, bool may_print)
{
    if (text->length == text->size)
        text->length--; /* The text was cut. */
    text_char(text, '\n');
    sink_write(&layer->sink, text->data, text->length, may_print);
}

static void write_open_line(const struct frame *frame, const char *end, bool is_over)
{
    struct text *text = frames_line();
    add_begin(text, frame);
    text_add(text, frame->text.data, frame->text.length);
    text_string(text, end);
    add_caller(text, frame);
    add_line_of_thread(text, frame->layer, is_over ? frame->call : NULL);
}

void line_begin(struct frame *frame)
{
    if (!atomic_exchange(&frame->is_announced, true))
        write_open_line(frame, frame->has_no_result ? " = ?" : " <unfinished ...>", false);
}

void line_left(struct frame *frame)
{
    if (!frame->layer->judges || frame->layer->options.errors) {
        write_open_line(frame, " <left by a jump>", true);
        atomic_store(&frame->is_announced, true); /* in case the call returns nevertheless */
    }
}

void line_unfinished(struct frame *frame, uint64_t now, bool may_print)
{
    char bytes[4096];
    struct text text = {.data = bytes, .size = sizeof bytes - 256, .is_fixed = true};
    add_begin(&text, frame);
    if (!frames_read(frame, &text))
        return;
    /* The end of the line has room regardless of the length of the arguments. */
    text.size = sizeof bytes;
    text_string(&text, " <unfinished after ");
    text_duration(&text, now > frame->begin ? now - frame->begin : 0);
    text_char(&text, '>');
    if (frame->caller && strlen(frame->caller) < 200)
        add_caller(&text, frame);
    write_line(&text, frame->layer, may_print);
}

static void announce_parents(struct frame *frame)
{
    struct frame *parent = frames_parent(frame);
    if (!parent || frame->layer->judges)
        return;
    announce_parents(parent);
    if (parent->layer == frame->layer)
        line_begin(parent);
}

void line_finish(struct frame *frame, const QMPIX_Call *call, uint64_t time)
{
    announce_parents(frame);
    struct text *text = frames_line();
    add_begin(text, frame);
    if (atomic_load(&frame->is_announced))
        text_string(text, "... ");
    arguments_end(text, frame, call);
    text_string(text, " <");
    text_duration(text, time);
    text_char(text, '>');
    add_caller(text, frame);
    add_line_of_thread(text, frame->layer, frame->call);
}

void line_process_end(struct layer *layer, const char *termination, bool may_print)
{
    char bytes[512];
    struct text text = {.data = bytes, .size = sizeof bytes, .is_fixed = true};
    add_prefix(&text, layer, 0, line_now());
    text_string(&text, "+++ ");
    text_string(&text, termination);
    text_string(&text, " +++");
    write_line(&text, layer, may_print);
}
