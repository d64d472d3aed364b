/* SPDX-License-Identifier: MIT */
/* See handles.h. */
#define _GNU_SOURCE
#include "mpit/handles.h"

#include "util/util.h"

#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

/* ---- Slots ----------------------------------------------------------------------------------- */

enum { RESERVED = 64 << 20, PIECE = 64 << 10 }; /* bytes */

struct qmpi_mpit_arena qmpi_mpit_arena;

_Static_assert(sizeof(struct qmpi_mpit_slot) == QMPI_MPIT_SLOT_SIZE, "a slot is a cache line");

QMPI_LOCK(pool_lock);
static size_t usable; /* bytes of the reserved range that are accessible */
static struct qmpi_mpit_slot *first_free, **last_free = &first_free;

static bool reserve_range(void)
{
    if (qmpi_mpit_arena.base)
        return true;
    void *range =
        mmap(NULL, RESERVED, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (range == MAP_FAILED)
        return false;
    qmpi_mpit_arena.base = (uintptr_t)range;
    return true;
}

static struct qmpi_mpit_slot *take_new_slot(void)
{
    const size_t used = atomic_load(&qmpi_mpit_arena.used);
    if (!reserve_range())
        return NULL;
    if (used == usable) {
        if (usable == RESERVED ||
            mprotect((char *)qmpi_mpit_arena.base + usable, PIECE, PROT_READ | PROT_WRITE) != 0)
            return NULL;
        usable += PIECE;
    }
    struct qmpi_mpit_slot *slot = (struct qmpi_mpit_slot *)(qmpi_mpit_arena.base + used);
    atomic_store(&slot->kind, QMPI_MPIT_TAKEN);
    atomic_store(&qmpi_mpit_arena.used, used + sizeof *slot);
    return slot;
}

struct qmpi_mpit_slot *qmpi_mpit_slot_take(void)
{
    /* Freed slots are reused only after REST slots have been taken from the range, or when no
     * new slot can be made. If they were reused at once, a program that uses one handle at a time
     * would always get the same slot, and its freed handles would look valid. */
    enum { REST = 64 };
    pthread_mutex_lock(&pool_lock);
    struct qmpi_mpit_slot *slot = NULL;
    if (!first_free || atomic_load(&qmpi_mpit_arena.used) < REST * sizeof *slot)
        slot = take_new_slot();
    if (!slot && first_free) {
        slot = first_free;
        first_free = slot->next;
        if (!first_free)
            last_free = &first_free;
        memset((char *)slot + sizeof slot->kind, 0, sizeof *slot - sizeof slot->kind);
        atomic_store(&slot->kind, QMPI_MPIT_TAKEN);
    }
    pthread_mutex_unlock(&pool_lock);
    return slot;
}

void qmpi_mpit_slot_publish(struct qmpi_mpit_slot *slot, enum qmpi_mpit_kind kind)
{
    slot->uses = 1;
    atomic_store_explicit(&slot->kind, (unsigned)kind, memory_order_release);
}

/* Takes the lock, so that a list of slots that is being created contains this slot only if it is
 * live. */
bool qmpi_mpit_slot_withdraw(struct qmpi_mpit_slot *slot, enum qmpi_mpit_kind kind)
{
    unsigned expected = (unsigned)kind;
    pthread_mutex_lock(&pool_lock);
    const bool was_live = atomic_compare_exchange_strong(&slot->kind, &expected, QMPI_MPIT_TAKEN);
    pthread_mutex_unlock(&pool_lock);
    return was_live;
}

bool qmpi_mpit_slot_leave(struct qmpi_mpit_slot *slot)
{
    pthread_mutex_lock(&pool_lock);
    const bool last = --slot->uses == 0;
    pthread_mutex_unlock(&pool_lock);
    return last;
}

void qmpi_mpit_slot_give_back(struct qmpi_mpit_slot *slot)
{
    pthread_mutex_lock(&pool_lock);
    atomic_store(&slot->kind, QMPI_MPIT_FREE);
    slot->next = NULL;
    *last_free = slot;
    last_free = &slot->next;
    pthread_mutex_unlock(&pool_lock);
}

struct qmpi_mpit_slot **qmpi_mpit_slots_of_session(MPI_T_pvar_session session, int *count)
{
    int found = 0;
    pthread_mutex_lock(&pool_lock);
    const size_t all = atomic_load(&qmpi_mpit_arena.used) / QMPI_MPIT_SLOT_SIZE;
    struct qmpi_mpit_slot *slots = (struct qmpi_mpit_slot *)qmpi_mpit_arena.base;
    struct qmpi_mpit_slot **list = malloc((all + 1) * sizeof(struct qmpi_mpit_slot *));
    for (size_t i = 0; list && i < all; i++) {
        if (!qmpi_mpit_slot_of(&slots[i], QMPI_MPIT_PVAR) || slots[i].session != session)
            continue;
        slots[i].uses++;
        list[found++] = &slots[i];
    }
    pthread_mutex_unlock(&pool_lock);
    *count = list ? found : -1;
    return list;
}

int qmpi_mpit_open(const struct qmpi_mpit_variable *variable, const void *object_handle,
                   struct qmpi_mpit_slot **slot)
{
    int count = variable->count;
    if (variable->object_size && !object_handle)
        return MPI_T_ERR_INVALID;
    if (variable->open) {
        const int result =
            variable->open(variable->user, variable->object_size ? object_handle : NULL, &count);
        if (result != MPI_SUCCESS)
            return result;
        if (count < 1)
            return MPI_T_ERR_INVALID_HANDLE;
    }
    struct qmpi_mpit_slot *made = qmpi_mpit_slot_take();
    if (!made)
        return MPI_T_ERR_OUT_OF_HANDLES;
    made->variable = variable;
    made->count = count;
    if (variable->object_size) {
        memcpy(&made->handle, object_handle, (size_t)variable->object_size);
        made->object = &made->handle;
    }
    *slot = made;
    return MPI_SUCCESS;
}

/* ---- States of performance variables --------------------------------------------------------- */

int qmpi_mpit_raw_begin(const struct qmpi_mpit_variable *variable, const void *object, int count,
                        struct qmpi_mpit_raw *raw)
{
    raw->many = NULL;
    raw->array = variable->address;
    if (raw->array)
        return MPI_SUCCESS;
    if ((size_t)count > sizeof raw->few / sizeof *raw->few) {
        raw->many = malloc((size_t)count * sizeof(uint64_t));
        if (!raw->many)
            return MPI_T_ERR_MEMORY;
    }
    void *array = raw->many ? raw->many : raw->few;
    raw->array = array;
    const int result = variable->read(variable->user, object, array, count);
    if (result != MPI_SUCCESS)
        qmpi_mpit_raw_end(raw);
    return result;
}

void qmpi_mpit_raw_end(struct qmpi_mpit_raw *raw)
{
    if (raw->many)
        free(raw->many);
}

void qmpi_mpit_raise(const struct qmpi_mpit_variable *variable, uint64_t *mark, uint64_t level)
{
    uint64_t old = __atomic_load_n(mark, __ATOMIC_RELAXED);
    while (
        qmpi_mpit_passes(variable->type, variable->style, level, old) &&
        !__atomic_compare_exchange_n(mark, &old, level, true, __ATOMIC_RELAXED, __ATOMIC_RELAXED))
        ;
}

/* Returns the initial word of a handle. */
static uint64_t initial_word(const struct qmpi_mpit_variable *variable, const void *array, int i)
{
    return variable->style == QMPI_MPIT_SUM ? 0 : qmpi_mpit_load(variable->type, array, i);
}

static struct qmpi_mpit_state *make_state(int count)
{
    struct qmpi_mpit_state *state = calloc(1, sizeof *state + 2 * (size_t)count * sizeof(uint64_t));
    if (state) {
        state->count = count;
        atomic_store(&state->life, QMPI_MPIT_OWNED);
    }
    return state;
}

static bool is_watermark(const struct qmpi_mpit_variable *variable)
{
    return variable->style == QMPI_MPIT_HIGH || variable->style == QMPI_MPIT_LOW;
}

/* ---- Visits ---------------------------------------------------------------------------------- */

/* This thread's visits, the innermost first. The model is initial-exec, because a signal handler
 * may be the first to access it. */
static _Thread_local const struct qmpi_mpit_visit *visits
    __attribute__((tls_model("initial-exec")));

bool qmpi_mpit_visit_begin(struct qmpi_mpit_visit *visit, struct qmpi_mpit_state *state)
{
    *visit = (struct qmpi_mpit_visit){state, visits};
    visits = visit;
    atomic_fetch_add(&state->inside, 1);
    return atomic_load(&state->life) == QMPI_MPIT_LIVE;
}

void qmpi_mpit_visit_end(const struct qmpi_mpit_visit *visit)
{
    atomic_fetch_sub(&visit->state->inside, 1);
    visits = visit->outer;
}

/* Does not wait for visits of this thread, because a callback may free the handle for which it is
 * called. */
static void wait_for_others(const struct qmpi_mpit_state *state)
{
    int own_visits = 0;
    for (const struct qmpi_mpit_visit *visit = visits; visit; visit = visit->outer)
        own_visits += visit->state == state;
    while (atomic_load(&state->inside) > own_visits)
        sched_yield();
}

/* ---- Creating and freeing handles ------------------------------------------------------------ */

/* Returns a state that was spare and is now owned by this thread; NULL: none can be reused. */
static struct qmpi_mpit_state *reuse_state(const struct qmpi_mpit_slot *slot)
{
    struct qmpi_mpit_state *state = atomic_load(&slot->variable->marks);
    for (; state; state = state->next) {
        int life = QMPI_MPIT_SPARE;
        if (state->count != slot->count ||
            !atomic_compare_exchange_strong(&state->life, &life, QMPI_MPIT_OWNED))
            continue;
        /* A state that is being visited is not reused, because the visit may still raise its
         * marks. */
        if (!atomic_load(&state->inside))
            break;
        atomic_store(&state->life, QMPI_MPIT_SPARE);
    }
    return state;
}

static void list_state(const struct qmpi_mpit_slot *slot, struct qmpi_mpit_state *state)
{
    struct qmpi_mpit_variable *variable = (struct qmpi_mpit_variable *)(uintptr_t)slot->variable;
    state->next = atomic_load(&variable->marks);
    while (!atomic_compare_exchange_weak(&variable->marks, &state->next, state))
        ;
}

/* This store and those of start_or_stop have release order. A slow reader may still read this set,
 * which it selected before `sequence` was last changed. If it sees one of these stores, it then
 * also sees the new `sequence`, and reads again. */
static void set_started(struct qmpi_mpit_state *state, unsigned sequence, bool started)
{
    atomic_store_explicit(&state->started[sequence & 1], started, memory_order_release);
}

int qmpi_mpit_pvar_open(struct qmpi_mpit_slot *slot, MPI_T_pvar_session session)
{
    const struct qmpi_mpit_variable *variable = slot->variable;
    const bool keeps = is_watermark(variable);
    struct qmpi_mpit_raw raw;
    const int result = qmpi_mpit_raw_begin(variable, slot->object, slot->count, &raw);
    if (result != MPI_SUCCESS)
        return result;
    struct qmpi_mpit_state *state = keeps ? reuse_state(slot) : NULL;
    const bool is_new = !state;
    if (is_new)
        state = make_state(slot->count);
    for (int i = 0; state && i < slot->count; i++)
        __atomic_store_n(qmpi_mpit_words(state, qmpi_mpit_sequence(state)) + i,
                         initial_word(variable, raw.array, i), __ATOMIC_RELAXED);
    qmpi_mpit_raw_end(&raw);
    if (!state)
        return MPI_T_ERR_MEMORY;
    atomic_store(&state->ever, variable->continuous);
    set_started(state, qmpi_mpit_sequence(state), variable->continuous);
    state->object = slot->handle.word;
    if (keeps && is_new)
        list_state(slot, state);
    slot->session = session;
    slot->state = state;
    atomic_store(&state->life, QMPI_MPIT_LIVE);
    qmpi_mpit_slot_publish(slot, QMPI_MPIT_PVAR);
    return MPI_SUCCESS;
}

int qmpi_mpit_pvar_close(struct qmpi_mpit_slot *slot)
{
    if (!qmpi_mpit_slot_withdraw(slot, QMPI_MPIT_PVAR))
        return MPI_T_ERR_INVALID_HANDLE;
    struct qmpi_mpit_state *state = slot->state;
    atomic_store(&state->life, QMPI_MPIT_OWNED);
    if (slot->object)
        wait_for_others(state);
    qmpi_mpit_pvar_leave(slot);
    return MPI_SUCCESS;
}

void qmpi_mpit_pvar_leave(struct qmpi_mpit_slot *slot)
{
    struct qmpi_mpit_state *state = slot->state;
    if (!qmpi_mpit_slot_leave(slot))
        return;
    if (is_watermark(slot->variable)) {
        set_started(state, qmpi_mpit_sequence(state), false);
        atomic_store(&state->life, QMPI_MPIT_SPARE);
    } else {
        free(state);
    }
    qmpi_mpit_slot_give_back(slot);
}

bool qmpi_mpit_pvar_is_started(const struct qmpi_mpit_slot *slot)
{
    return qmpi_mpit_started(slot->state, qmpi_mpit_sequence(slot->state));
}

/* Returns the word after starting or stopping: see the table in handles.h. */
static uint64_t turned_word(const struct qmpi_mpit_slot *slot, uint64_t word, uint64_t raw,
                            bool start)
{
    const struct qmpi_mpit_variable *variable = slot->variable;
    if (variable->style == QMPI_MPIT_SUM)
        return qmpi_mpit_subtract(variable->type, raw, word);
    if (variable->style == QMPI_MPIT_PRESENT || (start && !atomic_load(&slot->state->ever)))
        return raw;
    return qmpi_mpit_passes(variable->type, variable->style, raw, word) ? raw : word;
}

static int start_or_stop(const struct qmpi_mpit_slot *slot, bool start)
{
    struct qmpi_mpit_state *state = slot->state;
    struct qmpi_mpit_raw raw;
    if (slot->variable->continuous)
        return MPI_T_ERR_PVAR_NO_STARTSTOP;
    unsigned sequence = qmpi_mpit_sequence(state);
    if (qmpi_mpit_started(state, sequence) == start)
        return MPI_SUCCESS;
    const int result = qmpi_mpit_raw_begin(slot->variable, slot->object, slot->count, &raw);
    if (result != MPI_SUCCESS)
        return result;
    const uint64_t *words = qmpi_mpit_words(state, sequence);
    for (int i = 0; i < slot->count; i++)
        __atomic_store_n(qmpi_mpit_words(state, sequence + 1) + i,
                         turned_word(slot, __atomic_load_n(&words[i], __ATOMIC_RELAXED),
                                     qmpi_mpit_load(slot->variable->type, raw.array, i), start),
                         __ATOMIC_RELEASE);
    qmpi_mpit_raw_end(&raw);
    set_started(state, sequence + 1, start);
    atomic_store(&state->ever, true);
    atomic_compare_exchange_strong(&state->sequence, &sequence, sequence + 1);
    return MPI_SUCCESS;
}

static void raise_marks(const struct qmpi_mpit_variable *variable, struct qmpi_mpit_state *state)
{
    const unsigned sequence = qmpi_mpit_sequence(state);
    struct qmpi_mpit_raw raw;
    if (!qmpi_mpit_started(state, sequence) ||
        qmpi_mpit_raw_begin(variable, variable->object_size ? &state->object : NULL, state->count,
                            &raw) != MPI_SUCCESS)
        return;
    for (int i = 0; i < state->count; i++)
        qmpi_mpit_raise(variable, qmpi_mpit_words(state, sequence) + i,
                        qmpi_mpit_load(variable->type, raw.array, i));
    qmpi_mpit_raw_end(&raw);
}

static void sample_state(const struct qmpi_mpit_variable *variable, struct qmpi_mpit_state *state)
{
    struct qmpi_mpit_visit visit;
    if (!qmpi_mpit_started(state, qmpi_mpit_sequence(state)))
        return;
    if (qmpi_mpit_visit_begin(&visit, state))
        raise_marks(variable, state);
    qmpi_mpit_visit_end(&visit);
}

/* Also samples the level, because it may have changed between the reading and the start. */
int qmpi_mpit_pvar_begin(const struct qmpi_mpit_slot *slot)
{
    const int result = start_or_stop(slot, true);
    if (result == MPI_SUCCESS && is_watermark(slot->variable))
        sample_state(slot->variable, slot->state);
    return result;
}

int qmpi_mpit_pvar_end(const struct qmpi_mpit_slot *slot)
{
    return start_or_stop(slot, false);
}

/* Updates the marks of all started handles of a watermark. */
static void sample_handles(const struct qmpi_mpit_variable *variable)
{
    struct qmpi_mpit_state *state = atomic_load(&variable->marks);
    for (; state; state = state->next)
        sample_state(variable, state);
}

int QMPIX_Pvar_sample(int index)
{
    struct qmpi_mpit_item *item = qmpi_mpit_find_published(QMPI_MPIT_PVARS, index);
    const struct qmpi_mpit_variable *variable = (const struct qmpi_mpit_variable *)item;
    if (!item || !is_watermark(variable))
        return MPI_ERR_ARG;
    sample_handles(variable);
    return MPI_SUCCESS;
}

/* ---- Values ---------------------------------------------------------------------------------- */

/*
 * Reading, writing and resetting a variable that has an address takes no lock and allocates no
 * memory, so signal handlers may do it; handles.h explains how.
 */

/* Acquire order, because the sequence is read again after the word. */
static uint64_t load_word(const uint64_t *word)
{
    return __atomic_load_n(word, __ATOMIC_ACQUIRE);
}

static uint64_t element_value(const struct qmpi_mpit_variable *variable, bool started,
                              uint64_t *word, uint64_t raw)
{
    if (!started)
        return load_word(word);
    if (variable->style == QMPI_MPIT_SUM)
        return qmpi_mpit_subtract(variable->type, raw, load_word(word));
    if (variable->style == QMPI_MPIT_PRESENT)
        return raw;
    qmpi_mpit_raise(variable, word, raw);
    return load_word(word);
}

static void get_elements(const struct qmpi_mpit_slot *slot, const void *array, void *buffer)
{
    const struct qmpi_mpit_variable *variable = slot->variable;
    const struct qmpi_mpit_type *type = variable->type;
    struct qmpi_mpit_state *state = slot->state;
    unsigned sequence;
    do {
        sequence = qmpi_mpit_sequence(state);
        uint64_t *words = qmpi_mpit_words(state, sequence);
        const bool started = qmpi_mpit_started(state, sequence);
        for (int i = 0; i < slot->count; i++)
            qmpi_mpit_store(
                type, buffer, i,
                element_value(variable, started, &words[i], qmpi_mpit_load(type, array, i)));
    } while (atomic_load_explicit(&state->sequence, memory_order_relaxed) != sequence);
}

/* A faster get_elements for variables that are `simple` (index.h), because monitors read counters
 * most often. */
static void get_simple(const struct qmpi_mpit_slot *slot, void *buffer)
{
    struct qmpi_mpit_state *state = slot->state;
    uint64_t value;
    unsigned sequence;
    do {
        sequence = qmpi_mpit_sequence(state);
        value = load_word(&state->words[sequence & 1]);
        if (qmpi_mpit_started(state, sequence))
            value = load_word(slot->variable->address) - value;
    } while (atomic_load_explicit(&state->sequence, memory_order_relaxed) != sequence);
    memcpy(buffer, &value, sizeof value);
}

static int get_from_callback(const struct qmpi_mpit_slot *slot, void *buffer)
{
    struct qmpi_mpit_raw raw;
    const int result = qmpi_mpit_raw_begin(slot->variable, slot->object, slot->count, &raw);
    if (result != MPI_SUCCESS)
        return result;
    get_elements(slot, raw.array, buffer);
    qmpi_mpit_raw_end(&raw);
    return MPI_SUCCESS;
}

int qmpi_mpit_pvar_get(const struct qmpi_mpit_slot *slot, void *buffer)
{
    if (slot->variable->simple) {
        get_simple(slot, buffer);
        return MPI_SUCCESS;
    }
    if (slot->variable->address) {
        get_elements(slot, slot->variable->address, buffer);
        return MPI_SUCCESS;
    }
    return get_from_callback(slot, buffer);
}

/* Sets the value of a handle of a sum or a watermark. */
static int set_handle_value(const struct qmpi_mpit_slot *slot, const void *buffer)
{
    const struct qmpi_mpit_variable *variable = slot->variable;
    const unsigned sequence = qmpi_mpit_sequence(slot->state);
    uint64_t *words = qmpi_mpit_words(slot->state, sequence);
    const bool shifted =
        variable->style == QMPI_MPIT_SUM && qmpi_mpit_started(slot->state, sequence);
    struct qmpi_mpit_raw raw;
    const int result = qmpi_mpit_raw_begin(variable, slot->object, slot->count, &raw);
    if (result != MPI_SUCCESS)
        return result;
    for (int i = 0; i < slot->count; i++) {
        uint64_t word = qmpi_mpit_load(variable->type, buffer, i);
        if (shifted)
            word = qmpi_mpit_subtract(variable->type, qmpi_mpit_load(variable->type, raw.array, i),
                                      word);
        __atomic_store_n(&words[i], word, __ATOMIC_RELAXED);
    }
    qmpi_mpit_raw_end(&raw);
    return MPI_SUCCESS;
}

/* Called after the publisher's elements were written: if the handle is stopped, copies these
 * elements, `array`, to its words. */
static void copy_if_stopped(const struct qmpi_mpit_slot *slot, const void *array)
{
    const unsigned sequence = qmpi_mpit_sequence(slot->state);
    if (qmpi_mpit_started(slot->state, sequence))
        return;
    for (int i = 0; i < slot->count; i++)
        __atomic_store_n(qmpi_mpit_words(slot->state, sequence) + i,
                         qmpi_mpit_load(slot->variable->type, array, i), __ATOMIC_RELAXED);
}

int qmpi_mpit_pvar_set(const struct qmpi_mpit_slot *slot, const void *buffer)
{
    const struct qmpi_mpit_variable *variable = slot->variable;
    if (variable->readonly)
        return MPI_T_ERR_PVAR_NO_WRITE;
    if (variable->style != QMPI_MPIT_PRESENT)
        return set_handle_value(slot, buffer);
    if (variable->address) {
        for (int i = 0; i < slot->count; i++)
            qmpi_mpit_store(variable->type, variable->address, i,
                            qmpi_mpit_load(variable->type, buffer, i));
    } else {
        const int result = variable->write(variable->user, slot->object, buffer, slot->count);
        if (result != MPI_SUCCESS)
            return result;
    }
    copy_if_stopped(slot, buffer);
    return MPI_SUCCESS;
}

/* Resets the publisher's value of GENERIC variables; that of other variables is not changed. */
static int reset_source(const struct qmpi_mpit_slot *slot)
{
    const struct qmpi_mpit_variable *variable = slot->variable;
    if (variable->var_class != MPI_T_PVAR_CLASS_GENERIC)
        return MPI_SUCCESS;
    if (!variable->address)
        return variable->reset ? variable->reset(variable->user, slot->object)
                               : MPI_T_ERR_PVAR_NO_WRITE;
    for (int i = 0; i < slot->count; i++)
        qmpi_mpit_store(variable->type, variable->address, i, variable->initial[i]);
    return MPI_SUCCESS;
}

/*
 * Resets the handle and, if `buffer` is not NULL, returns the old value. Words are exchanged, so
 * that concurrent additions are neither lost nor counted twice.
 */
static void reset_handle(const struct qmpi_mpit_slot *slot, const void *array, void *buffer)
{
    const struct qmpi_mpit_variable *variable = slot->variable;
    const struct qmpi_mpit_type *type = variable->type;
    const unsigned sequence = qmpi_mpit_sequence(slot->state);
    uint64_t *words = qmpi_mpit_words(slot->state, sequence);
    const bool started = qmpi_mpit_started(slot->state, sequence);
    const bool sum = variable->style == QMPI_MPIT_SUM;
    for (int i = 0; i < slot->count; i++) {
        const uint64_t raw = qmpi_mpit_load(type, array, i);
        uint64_t old = __atomic_exchange_n(&words[i], sum && !started ? 0 : raw, __ATOMIC_RELAXED);
        if (!buffer)
            continue;
        qmpi_mpit_store(type, buffer, i, element_value(variable, started, &old, raw));
    }
}

static int read_and_reset(const struct qmpi_mpit_slot *slot, void *buffer)
{
    const struct qmpi_mpit_variable *variable = slot->variable;
    struct qmpi_mpit_raw raw;
    const int result = qmpi_mpit_raw_begin(variable, slot->object, slot->count, &raw);
    if (result != MPI_SUCCESS)
        return result;
    reset_handle(slot, raw.array, buffer);
    qmpi_mpit_raw_end(&raw);
    return MPI_SUCCESS;
}

int qmpi_mpit_pvar_zero(const struct qmpi_mpit_slot *slot)
{
    if (slot->variable->readonly)
        return MPI_T_ERR_PVAR_NO_WRITE;
    if (slot->variable->style == QMPI_MPIT_PRESENT) {
        const int result = reset_source(slot);
        if (result != MPI_SUCCESS)
            return result;
    }
    return read_and_reset(slot, NULL);
}

/* For GENERIC variables at an address: exchanges the publisher's own elements, so that no
 * concurrent change is lost. A stopped handle gives its own old value. */
static void get_zero_source(const struct qmpi_mpit_slot *slot, void *buffer)
{
    const struct qmpi_mpit_variable *variable = slot->variable;
    const bool started = qmpi_mpit_pvar_is_started(slot);
    if (!started)
        get_elements(slot, variable->address, buffer);
    for (int i = 0; i < slot->count; i++) {
        const uint64_t old =
            qmpi_mpit_exchange(variable->type, variable->address, i, variable->initial[i]);
        if (started)
            qmpi_mpit_store(variable->type, buffer, i, old);
    }
    copy_if_stopped(slot, variable->address);
}

int qmpi_mpit_pvar_get_zero(const struct qmpi_mpit_slot *slot, void *buffer)
{
    if (!slot->variable->atomic)
        return MPI_T_ERR_PVAR_NO_ATOMIC;
    if (slot->variable->readonly)
        return MPI_T_ERR_PVAR_NO_WRITE;
    if (slot->variable->initial) {
        get_zero_source(slot, buffer);
        return MPI_SUCCESS;
    }
    return read_and_reset(slot, buffer);
}
