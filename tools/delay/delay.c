/* SPDX-License-Identifier: MIT */
/*
 * delay: makes chosen MPI calls take longer or fail, as options and chance say, to see what becomes
 * of the program. An observer stands around every chosen function; it decides, waits, and tells the
 * interceptor below it to report an error instead of going on.
 */
#define _GNU_SOURCE
#include "busy_wait.h"
#include "delay_manifest.h"
#include "error_object.h"
#include "fault.h"
#include "generate/build.h"
#include "publish.h"
#include "random.h"
#include "rule.h"
#include "toolkit/toolkit.h"
#include "util/util.h"

#include <qmpi/clock.h>
#include <qmpi/observer.h>

#include <stdlib.h>
#include <unistd.h>

static struct rule *rules;
static pid_t owner;

/* ---- What happens to a call ------------------------------------------------------------------ */

/* What a call's numbers are drawn for. */
enum { WHETHER = 1, BEFORE, AFTER };

/* Everything that chance decides about the n-th call follows from this. */
static uint64_t hash_of(const struct rule *rule, int number, uint64_t n)
{
    const uint64_t rank = (uint64_t)__atomic_load_n(&rule->rank, __ATOMIC_RELAXED);
    uint64_t hash = chance_mix(chance_mix(rule->seed, rank), rule->stream);
    if (rule->count_each)
        hash = chance_mix(hash, (uint64_t)number);
    return chance_mix(hash, n);
}

/* Counts the call, from 1. */
static uint64_t count(struct rule *rule, int number)
{
    uint64_t *counter = rule->count_each ? &rule->called[number] : &rule->called_all;
    return __atomic_add_fetch(counter, 1, __ATOMIC_RELAXED);
}

/* Whether chance selects the call. */
static bool happens(const struct rule *rule, int number, uint64_t n)
{
    if (rule->probability <= 0 || rule->probability >= 1)
        return rule->probability > 0;
    return chance_real(hash_of(rule, number, n), WHETHER) < rule->probability;
}

static void act(struct rule *rule, const QMPIX_Call *call, uint64_t n)
{
    const uint64_t hash = hash_of(rule, (int)call->function->number, n);
    const bool delays = rule->before.most || rule->after.most;
    const bool fails = rule->does[call->function->number] & RULE_FAILS;
    if (delays || fails) /* else there is noise only, or an error that this function has not */
        __atomic_add_fetch(&rule->acted, 1, __ATOMIC_RELAXED);
    if (delays)
        __atomic_add_fetch(&rule->delayed, 1, __ATOMIC_RELAXED);
    spend(rule, duration_draw(&rule->before, chance_real(hash, BEFORE)));
    if (fails)
        fault_arm(rule, call, n);
}

static void before(const QMPIX_Call *call, QMPIX_Word *word)
{
    struct rule *rule = call->observer->data;
    const int number = (int)call->function->number;
    if (fault_is_used)
        fault_enter(call);
    if (rule->does[number] & RULE_MAKES)
        error_object_begin(call);
    if (!(rule->does[number] & RULE_ACTS) || !__atomic_load_n(&rule->active, __ATOMIC_RELAXED) ||
        (fault_is_used && fault_is_handled()))
        return;
    if (rule->period)
        spend_noise(rule);
    const uint64_t n = count(rule, number);
    if (!qmpi_number_set_has(&rule->calls, n) || !happens(rule, number, n))
        return;
    word->number = n; /* for `after`: the call was acted on */
    act(rule, call, n);
}

/* The rank that the launcher's variables gave may have been none. */
static void learn(struct rule *rule)
{
    int rank;
    if (PMPI_Comm_rank(MPI_COMM_WORLD, &rank) == MPI_SUCCESS)
        rule_set_rank(rule, rank);
    if (rule->error)
        error_object_learn();
}

static void after(const QMPIX_Call *call, QMPIX_Word *word)
{
    struct rule *rule = call->observer->data;
    const int number = (int)call->function->number;
    if (fault_is_used)
        fault_leave(call);
    if (rule->does[number] & RULE_MAKES)
        error_object_end(call);
    if ((number == MPI_INIT_T || number == MPI_INIT_THREAD_T) &&
        *(const int *)call->result == MPI_SUCCESS)
        learn(rule);
    if (word->number)
        spend(rule,
              duration_draw(&rule->after, chance_real(hash_of(rule, number, word->number), AFTER)));
    if (rule->period && rule->does[number] & RULE_ACTS)
        spend_leave(rule);
}

/* ---- Joining the stack ----------------------------------------------------------------------- */

/* Whether a call can be failed whose error handler only its request or message tells. */
static bool needs_requests(const struct rule *rule)
{
    for (int number = 0; number < MPI_LAST_FUNC; number++) {
        const QMPIX_Function *function;
        if (rule->does[number] & RULE_FAILS &&
            QMPIX_Function_describe((enum QMPI_Functions_enum)number, &function) == MPI_SUCCESS &&
            error_object_is_noted(function))
            return true;
    }
    return false;
}

static int observe(struct rule *rule)
{
    enum QMPI_Functions_enum functions[MPI_LAST_FUNC];
    const bool requests = needs_requests(rule);
    int observed = 0;
    for (int number = 0; number < MPI_LAST_FUNC; number++) {
        const enum QMPI_Functions_enum mine = (enum QMPI_Functions_enum)number;
        const QMPIX_Function *function;
        if (QMPIX_Function_describe(mine, &function) != MPI_SUCCESS)
            continue;
        if (requests && error_object_is_made(function))
            rule->does[number] |= RULE_MAKES;
        if (rule->does[number] || mine == MPI_INIT_T || mine == MPI_INIT_THREAD_T)
            functions[observed++] = mine;
    }
    const QMPIX_Observer observer = {
        .size = sizeof observer,
        .before = before,
        .after = after,
        .data = rule,
        .functions = functions,
        .function_count = observed,
        .flags = QMPIX_OBSERVE_ACTS,
    };
    return QMPIX_Register_tool_observer(rule->tool_id, &observer);
}

static void init(int tool_id)
{
    struct rule *rule = rule_read(tool_id);
    if (!rule)
        return;
    if (rule->error)
        fault_register(rule);
    uint64_t ticks;
    QMPIX_Clock_get_time(&ticks); /* starts the clock here, not in a call */
    if (observe(rule) != MPI_SUCCESS) {
        QMPIX_Tool_fail(tool_id, "libqmpi rejects the observer of this tool\nhint: use the "
                                 "delay.so that is part of this qmpi");
        return;
    }
    publish_lazily(rule);
    owner = getpid();
    rule->next = rules;
    rules = rule;
}

/* ---- The end --------------------------------------------------------------------------------- */

static void report(const struct rule *rule)
{
    qmpi_printf("delay (layer %d): rank %d: calls acted on: %llu, delayed: %llu, failed: %llu; "
                "detours: %llu; time added: %.6f s",
                rule->tool_id, rule->rank, rule->acted, rule->delayed, rule->failed, rule->detours,
                (double)rule->nanoseconds * 1e-9);
}

__attribute__((destructor)) static void leave(void)
{
    if (owner != getpid())
        return; /* a forked child: what was done was done to its parent */
    for (const struct rule *rule = rules; rule; rule = rule->next) {
        if (rule->reports)
            report(rule);
    }
}

__attribute__((constructor)) static void register_tool(void)
{
    static const QMPIX_Tool_info info = {
        .size = sizeof info,
        .description = TOOL_DESCRIPTION,
        .version = QMPI_VERSION,
        .options = rule_options,
    };
    QMPI_Register_tool_name("delay", init);
    QMPIX_Register_tool_info("delay", &info);
}
