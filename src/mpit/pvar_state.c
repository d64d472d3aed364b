/* SPDX-License-Identifier: MIT */
/* See pvar_state.h: making and ending handles, starting and stopping, and sampling watermarks. */
#include "mpit/pvar_state.h"

#include "mpit/variable.h"

#include <sched.h>
#include <stdlib.h>

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

/* What is in `words` when a handle is allocated. */
static uint64_t at_first(const struct qmpi_mpit_variable *variable, const void *array, int i)
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

/* ---- Who is inside --------------------------------------------------------------------------- */

/* This thread's visits, the innermost first. Not made on demand: a signal handler may come by. */
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

/* A callback may free the handle for which it is called: a thread does not wait for itself. */
static void wait_for_others(const struct qmpi_mpit_state *state)
{
    int rank_name = 0;
    for (const struct qmpi_mpit_visit *visit = visits; visit; visit = visit->outer)
        rank_name += visit->state == state;
    while (atomic_load(&state->inside) > rank_name)
        sched_yield();
}

/* ---- Making and ending handles --------------------------------------------------------------- */

static struct qmpi_mpit_state *find_state(const struct qmpi_mpit_slot *slot)
{
    struct qmpi_mpit_state *state = atomic_load(&slot->variable->marks);
    for (; state; state = state->next) {
        int life = QMPI_MPIT_SPARE;
        if (state->count != slot->count ||
            !atomic_compare_exchange_strong(&state->life, &life, QMPI_MPIT_OWNED))
            continue;
        /* Who is still inside may raise its marks. */
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

static void set_started(struct qmpi_mpit_state *state, unsigned sequence, bool started)
{
    atomic_store_explicit(&state->started[sequence & 1], started, memory_order_relaxed);
}

int qmpi_mpit_pvar_open(struct qmpi_mpit_slot *slot, MPI_T_pvar_session session)
{
    const struct qmpi_mpit_variable *variable = slot->variable;
    const bool keeps = is_watermark(variable);
    struct qmpi_mpit_raw raw;
    const int result = qmpi_mpit_raw_begin(variable, slot->object, slot->count, &raw);
    if (result != MPI_SUCCESS)
        return result;
    struct qmpi_mpit_state *state = keeps ? find_state(slot) : NULL;
    const bool is_new = !state;
    if (is_new)
        state = make_state(slot->count);
    for (int i = 0; state && i < slot->count; i++)
        __atomic_store_n(qmpi_mpit_words(state, qmpi_mpit_sequence(state)) + i,
                         at_first(variable, raw.array, i), __ATOMIC_RELAXED);
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

/* The word of the other set, from the one in use: see the table in pvar_state.h. */
static uint64_t turned(const struct qmpi_mpit_slot *slot, uint64_t word, uint64_t raw, bool start)
{
    const struct qmpi_mpit_variable *variable = slot->variable;
    if (variable->style == QMPI_MPIT_SUM)
        return qmpi_mpit_subtract(variable->type, raw, word);
    if (variable->style == QMPI_MPIT_PRESENT || (start && !atomic_load(&slot->state->ever)))
        return raw;
    return qmpi_mpit_passes(variable->type, variable->style, raw, word) ? raw : word;
}

static int turn(const struct qmpi_mpit_slot *slot, bool start)
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
                         turned(slot, __atomic_load_n(&words[i], __ATOMIC_RELAXED),
                                qmpi_mpit_load(slot->variable->type, raw.array, i), start),
                         __ATOMIC_RELAXED);
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

/* A level that changed since it was looked at, before there was anybody to tell, counts too. */
int qmpi_mpit_pvar_begin(const struct qmpi_mpit_slot *slot)
{
    const int result = turn(slot, true);
    if (result == MPI_SUCCESS && is_watermark(slot->variable))
        sample_state(slot->variable, slot->state);
    return result;
}

int qmpi_mpit_pvar_end(const struct qmpi_mpit_slot *slot)
{
    return turn(slot, false);
}

/* Updates the marks of all started handles of a watermark. */
static void pvar_sample(const struct qmpi_mpit_variable *variable)
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
    pvar_sample(variable);
    return MPI_SUCCESS;
}
