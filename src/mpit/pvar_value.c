/* SPDX-License-Identifier: MIT */
/*
 * The values of our handles: reading, writing, resetting. No lock and no memory where the variable
 * has an address, so all of it may run in a signal handler; see pvar_state.h for how.
 */
#include "mpit/pvar_state.h"
#include "mpit/variable.h"

#include <string.h>

/* Whoever reads the sequence again behind this reads it after the word. */
static uint64_t word_at(const uint64_t *word)
{
    return __atomic_load_n(word, __ATOMIC_ACQUIRE);
}

static uint64_t value_of(const struct qmpi_mpit_variable *variable, bool started, uint64_t *word,
                         uint64_t raw)
{
    if (!started)
        return word_at(word);
    if (variable->style == QMPI_MPIT_SUM)
        return qmpi_mpit_subtract(variable->type, raw, word_at(word));
    if (variable->style == QMPI_MPIT_PRESENT)
        return raw;
    qmpi_mpit_raise(variable, word, raw);
    return word_at(word);
}

static void get(const struct qmpi_mpit_slot *slot, const void *array, void *buffer)
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
            qmpi_mpit_store(type, buffer, i,
                            value_of(variable, started, &words[i], qmpi_mpit_load(type, array, i)));
    } while (atomic_load_explicit(&state->sequence, memory_order_relaxed) != sequence);
}

/* The same for what is read most often, by monitors: a counter. */
static void get_simple(const struct qmpi_mpit_slot *slot, void *buffer)
{
    struct qmpi_mpit_state *state = slot->state;
    uint64_t value;
    unsigned sequence;
    do {
        sequence = qmpi_mpit_sequence(state);
        value = word_at(&state->words[sequence & 1]);
        if (qmpi_mpit_started(state, sequence))
            value = word_at(slot->variable->address) - value;
    } while (atomic_load_explicit(&state->sequence, memory_order_relaxed) != sequence);
    memcpy(buffer, &value, sizeof value);
}

static int get_from_callback(const struct qmpi_mpit_slot *slot, void *buffer)
{
    struct qmpi_mpit_raw raw;
    const int result = qmpi_mpit_raw_begin(slot->variable, slot->object, slot->count, &raw);
    if (result != MPI_SUCCESS)
        return result;
    get(slot, raw.array, buffer);
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
        get(slot, slot->variable->address, buffer);
        return MPI_SUCCESS;
    }
    return get_from_callback(slot, buffer);
}

/* Sums and watermarks: the handle's own value becomes what `buffer` holds. */
static int set_published(const struct qmpi_mpit_slot *slot, const void *buffer)
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

/* The words of a handle that stands still follow what was written to the publisher's elements. */
static void follow(const struct qmpi_mpit_slot *slot, const void *array)
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
        return set_published(slot, buffer);
    if (variable->address) {
        for (int i = 0; i < slot->count; i++)
            qmpi_mpit_store(variable->type, variable->address, i,
                            qmpi_mpit_load(variable->type, buffer, i));
    } else {
        const int result = variable->write(variable->user, slot->object, buffer, slot->count);
        if (result != MPI_SUCCESS)
            return result;
    }
    follow(slot, buffer);
    return MPI_SUCCESS;
}

/* GENERIC variables have a value to go back to; of the others the publisher has what it has. */
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
 * A reset that may hand out what was there: word by word, exchanged, so that nothing that is added
 * meanwhile is lost or told twice.
 */
static void zero_published(const struct qmpi_mpit_slot *slot, const void *array, void *buffer)
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
        qmpi_mpit_store(type, buffer, i, value_of(variable, started, &old, raw));
    }
}

static int zero(const struct qmpi_mpit_slot *slot, void *buffer)
{
    const struct qmpi_mpit_variable *variable = slot->variable;
    struct qmpi_mpit_raw raw;
    const int result = qmpi_mpit_raw_begin(variable, slot->object, slot->count, &raw);
    if (result != MPI_SUCCESS)
        return result;
    zero_published(slot, raw.array, buffer);
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
    return zero(slot, NULL);
}

/* GENERIC at an address: the publisher's own elements are exchanged. */
static void get_zero_source(const struct qmpi_mpit_slot *slot, void *buffer)
{
    const struct qmpi_mpit_variable *variable = slot->variable;
    const bool started = qmpi_mpit_pvar_is_started(slot);
    if (!started)
        get(slot, variable->address, buffer);
    for (int i = 0; i < slot->count; i++) {
        const uint64_t old =
            qmpi_mpit_exchange(variable->type, variable->address, i, variable->initial[i]);
        if (started)
            qmpi_mpit_store(variable->type, buffer, i, old);
    }
    follow(slot, variable->address);
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
    return zero(slot, buffer);
}
