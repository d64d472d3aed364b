/* SPDX-License-Identifier: MIT */
/*
 * The tool delay makes chosen MPI calls take longer or fail, as options and random numbers
 * determine, to test how the program reacts. An observer of the chosen functions decides, waits,
 * and makes the interceptor of this layer report an error (fault.c).
 */
#define _GNU_SOURCE
#include "generate/build.h"
#include "toolkit/toolkit.h"
#include "tools/delay/duration.h"
#include "tools/delay/error_object.h"
#include "tools/delay/fault.h"
#include "tools/delay/rule.h"
#include "tools/delay_manifest.h"
#include "util/util.h"

#include <qmpi/clock.h>
#include <qmpi/mpit.h>
#include <qmpi/observer.h>

#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static struct rule *rules;
static pid_t owner; /* the process that reports; a forked child does not */

/* ---- Random numbers -------------------------------------------------------------------------- */

/*
 * A random number depends on the seed, the rank, the layer, the function (unless count=all) and the
 * number of the call that it decides about, and not on the numbers that were drawn before it. The
 * n-th call therefore has the same random numbers in each run, whichever thread makes it, and no
 * state needs a lock. For noise, the number of the period or detour takes the place of the function
 * and the number of the call.
 */

/* Adds a word to a hash, by the finalizer of splitmix64 (Steele, Lea, Flood: "Fast splittable
 * pseudorandom number generators", OOPSLA 2014). */
static inline uint64_t mix_hash(uint64_t hash, uint64_t word)
{
    hash = (hash ^ word) + UINT64_C(0x9e3779b97f4a7c15);
    hash = (hash ^ hash >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    hash = (hash ^ hash >> 27) * UINT64_C(0x94d049bb133111eb);
    return hash ^ hash >> 31;
}

/* Returns one of the random numbers in [0, 1) that belong to a hash; `which` is its number. */
static inline double random_real(uint64_t hash, uint64_t which)
{
    return (double)(mix_hash(hash, which) >> 11) * 0x1p-53;
}

/* ---- Waiting and noise ----------------------------------------------------------------------- */

enum { SECOND = 1000000000 };

static uint64_t clock_now(void)
{
    uint64_t ticks = 0;
    QMPIX_Clock_get_time(&ticks);
    return ticks;
}

/* Returns the nanoseconds between two clock readings, or 0 if the clock was set back in between. */
static uint64_t nanoseconds_between(uint64_t begin, uint64_t end)
{
    uint64_t nanoseconds = 0;
    if ((int64_t)(end - begin) > 0)
        QMPIX_Clock_to_nanoseconds(end - begin, &nanoseconds);
    return nanoseconds;
}

/* Delays the thread by at least the given time, and adds the delay to the results. */
static void spend_time(struct rule *rule, uint64_t nanoseconds)
{
    if (!nanoseconds)
        return;
    uint64_t start = clock_now(), spent = 0;
    uint64_t before = 0; /* the time that was spent before the clock was set back */
    while (spent < nanoseconds) {
        const uint64_t rest = nanoseconds - spent;
        const struct timespec time = {.tv_sec = (time_t)(rest / SECOND),
                                      .tv_nsec = (long)(rest % SECOND)};
        if (rule->sleeps)
            nanosleep(&time, NULL);
        const uint64_t end = clock_now();
        if ((int64_t)(end - start) < 0) {
            before = spent;
            start = end;
        }
        spent = before + nanoseconds_between(start, end);
    }
    __atomic_add_fetch(&rule->nanoseconds, spent, __ATOMIC_RELAXED);
}

/*
 * Noise interrupts a computation with a detour in each period of the time that the process spends
 * outside MPI. This tool does not interrupt the program. Instead, the detours that fall between two
 * MPI calls of a thread take place at the beginning of the second call, which thus starts as late
 * as with real noise. There are no detours within MPI, because most of them would only shorten the
 * time for which MPI waits.
 */

/* For each tool_id, the ticks at which this thread last left a call that the rule selects by its
 * function, or 0 if it has made no such call. */
static _Thread_local uint64_t left[256];

/* Random numbers for the times of detours, and for their lengths. */
enum { MOMENTS = 1, LENGTHS = 2 };

/* If there are more detours than this at once, all have the mean length, to save time. */
enum { MANY = 10000 };

static double draw_for_noise(const struct rule *rule, uint64_t what, uint64_t which)
{
    const uint64_t rank = (uint64_t)__atomic_load_n(&rule->rank, __ATOMIC_RELAXED);
    const uint64_t hash = mix_hash(mix_hash(rule->seed, ~rank), rule->stream);
    return random_real(mix_hash(hash, what), which);
}

/* Counts the detours while rule->computed, the time of computation, grows from `from` to `to`.
 * There is one in each period, at a time that differs between ranks. */
QMPI_COMPUTES static uint64_t count_detours(const struct rule *rule, uint64_t from, uint64_t to)
{
    const uint64_t period = rule->period, first = from / period, last = to / period;
    const double at_last = draw_for_noise(rule, MOMENTS, rule->random_moment ? last : 0);
    const double at_first =
        rule->random_moment && first != last ? draw_for_noise(rule, MOMENTS, first) : at_last;
    return last + ((double)(to % period) >= at_last * (double)period) - first -
           ((double)(from % period) >= at_first * (double)period);
}

static uint64_t detours_between(const struct rule *rule, uint64_t from, uint64_t to)
{
    struct qmpi_arithmetic before;
    qmpi_arithmetic_begin(&before);
    const uint64_t detours = count_detours(rule, from, to);
    qmpi_arithmetic_end(&before);
    return detours;
}

/* Carries out the detours of the computation that a call ends. */
static void carry_out_detours(struct rule *rule)
{
    const uint64_t since = left[rule->tool_id];
    if (!since)
        return;
    const uint64_t until = clock_now();
    const uint64_t computed = nanoseconds_between(since, until);
    const uint64_t end = __atomic_add_fetch(&rule->computed, computed, __ATOMIC_RELAXED);
    const uint64_t detours = detours_between(rule, end - computed, end);
    const uint64_t first = __atomic_fetch_add(&rule->detours, detours, __ATOMIC_RELAXED);
    uint64_t total = 0;
    if (rule->detour.law == DURATION_FIXED || detours > MANY)
        total = detours * (rule->detour.least + (rule->detour.most - rule->detour.least) / 2);
    else
        for (uint64_t i = 0; i < detours; i++)
            total += duration_draw(&rule->detour, draw_for_noise(rule, LENGTHS, first + i));
    left[rule->tool_id] = until; /* A nested call must not count the time again. */
    spend_time(rule, total);
}

/* ---- A call ---------------------------------------------------------------------------------- */

/* Random numbers for the decision whether to act on a call, and for its delays. */
enum { WHETHER = 1, BEFORE, AFTER };

/* Returns the hash that determines all random numbers for the n-th call. */
static uint64_t hash_call(const struct rule *rule, int number, uint64_t n)
{
    const uint64_t rank = (uint64_t)__atomic_load_n(&rule->rank, __ATOMIC_RELAXED);
    uint64_t hash = mix_hash(mix_hash(rule->seed, rank), rule->stream);
    if (rule->count_each)
        hash = mix_hash(hash, (uint64_t)number);
    return mix_hash(hash, n);
}

/* Counts a call. Returns its number, which begins with 1. */
static uint64_t count_call(struct rule *rule, int number)
{
    uint64_t *counter = rule->count_each ? &rule->called[number] : &rule->called_all;
    return __atomic_add_fetch(counter, 1, __ATOMIC_RELAXED);
}

/* Returns whether the random number for a call selects it. */
static bool is_selected(const struct rule *rule, int number, uint64_t n)
{
    if (rule->probability <= 0 || rule->probability >= 1)
        return rule->probability > 0;
    return random_real(hash_call(rule, number, n), WHETHER) < rule->probability;
}

static void act_on_call(struct rule *rule, const QMPIX_Call *call, uint64_t n)
{
    const uint64_t hash = hash_call(rule, (int)call->function->number, n);
    const bool delays = rule->before.most || rule->after.most;
    const bool fails = rule->does[call->function->number] & RULE_FAILS;
    if (delays || fails) /* If both are false, there is only noise, or this function cannot fail. */
        __atomic_add_fetch(&rule->acted, 1, __ATOMIC_RELAXED);
    if (delays)
        __atomic_add_fetch(&rule->delayed, 1, __ATOMIC_RELAXED);
    spend_time(rule, duration_draw(&rule->before, random_real(hash, BEFORE)));
    if (fails)
        fault_arm(rule, call, n);
}

/* Counts the call, and delays it or makes it fail if the rule selects it. */
static void count_and_act(struct rule *rule, const QMPIX_Call *call, QMPIX_Word *word)
{
    const int number = (int)call->function->number;
    if (!(rule->does[number] & RULE_ACTS) || !__atomic_load_n(&rule->active, __ATOMIC_RELAXED) ||
        (fault_is_used && fault_is_handled(call)))
        return;
    if (rule->period)
        carry_out_detours(rule);
    const uint64_t n = count_call(rule, number);
    if (!qmpi_value_set_has(&rule->calls, n) || !is_selected(rule, number, n))
        return;
    word->number = n; /* This tells delay_after_call that the layer acts on the call. */
    act_on_call(rule, call, n);
}

/* Prints the results of a rule with the option report=, once. */
static void report_rule(struct rule *rule)
{
    if (!rule->reports || owner != getpid() ||
        __atomic_exchange_n(&rule->reported, true, __ATOMIC_RELAXED))
        return;
    const unsigned long long microseconds = (rule->nanoseconds + 500) / 1000;
    qmpi_printf("delay (layer %d): rank %d: calls acted on: %llu, delayed: %llu, failed: %llu; "
                "detours: %llu; time added: %llu.%06llu s",
                rule->tool_id, rule->rank, rule->acted, rule->delayed, rule->failed, rule->detours,
                microseconds / 1000000, microseconds % 1000000);
}

static void delay_before_call(const QMPIX_Call *call, QMPIX_Word *word)
{
    struct rule *rule = call->observer->data;
    const int number = (int)call->function->number;
    if (fault_is_used)
        fault_enter(call);
    if (rule->does[number] & RULE_MAKES)
        error_object_begin(call);
    count_and_act(rule, call, word);
    if (rule->does[number] & RULE_ENDS)
        report_rule(rule); /* Some launchers kill the process now, so that it does not exit. */
}

/* Called when MPI is initialized. Asks MPI for the rank, because the launcher may not have provided
 * it. */
static void begin_rule(struct rule *rule)
{
    int rank;
    if (PMPI_Comm_rank(MPI_COMM_WORLD, &rank) == MPI_SUCCESS)
        rule_set_rank(rule, rank);
    if (rule->error)
        error_object_learn_handlers();
}

static void delay_after_call(const QMPIX_Call *call, QMPIX_Word *word)
{
    struct rule *rule = call->observer->data;
    const int number = (int)call->function->number;
    if (fault_is_used)
        fault_leave(call);
    if (rule->does[number] & RULE_MAKES)
        error_object_end(call);
    if (rule->does[number] & RULE_STARTS && *(const int *)call->result == MPI_SUCCESS)
        begin_rule(rule);
    if (word->number)
        spend_time(rule, duration_draw(&rule->after,
                                       random_real(hash_call(rule, number, word->number), AFTER)));
    if (rule->period && rule->does[number] & RULE_ACTS)
        left[rule->tool_id] = clock_now();
}

/* ---- MPI_T variables ------------------------------------------------------------------------- */

static struct rule *published[256]; /* the rule of each tool_id */

QMPI_COMPUTES static double in_seconds(unsigned long long nanoseconds)
{
    return (double)nanoseconds * 1e-9;
}

static int read_seconds(void *user, const void *object, void *buffer, int count)
{
    const struct rule *rule = user;
    struct qmpi_arithmetic before;
    (void)object;
    (void)count;
    qmpi_arithmetic_begin(&before);
    const double seconds = in_seconds(__atomic_load_n(&rule->nanoseconds, __ATOMIC_RELAXED));
    qmpi_arithmetic_end(&before);
    memcpy(buffer, &seconds, sizeof seconds);
    return MPI_SUCCESS;
}

static bool publish_delay_variables(struct rule *rule)
{
    const struct {
        const char *name, *description;
        unsigned long long *address;
    } counters[] = {
        {"acted", "Calls that were delayed or failed", &rule->acted},
        {"delayed", "Calls that were delayed", &rule->delayed},
        {"failed", "Calls that reported an injected error", &rule->failed},
        {"detours", "Detours caused by noise", &rule->detours},
    };
    QMPIX_Pvar pvar = {
        .size = sizeof pvar,
        .var_class = MPI_T_PVAR_CLASS_COUNTER,
        .datatype = MPI_UNSIGNED_LONG_LONG,
        .flags = QMPIX_PVAR_CONTINUOUS | QMPIX_PVAR_ATOMIC,
    };
    for (size_t i = 0; i < sizeof counters / sizeof *counters; i++) {
        pvar.name = counters[i].name;
        pvar.description = counters[i].description;
        pvar.address = counters[i].address;
        if (QMPIX_Pvar_create(rule->tool_id, &pvar, NULL) != MPI_SUCCESS)
            return false;
    }
    pvar.name = "time";
    pvar.description = "Seconds added by delays and detours";
    pvar.var_class = MPI_T_PVAR_CLASS_TIMER;
    pvar.datatype = MPI_DOUBLE;
    pvar.address = NULL;
    pvar.read = read_seconds;
    pvar.user = rule;
    return QMPIX_Pvar_create(rule->tool_id, &pvar, NULL) == MPI_SUCCESS;
}

static void publish_layer(int tool_id)
{
    if (!publish_delay_variables(published[tool_id]))
        qmpi_printf("delay (layer %d): libqmpi rejects its variables\n  hint: use the delay.so "
                    "that is part of this qmpi",
                    tool_id);
}

/* ---- The end --------------------------------------------------------------------------------- */

static void report_at_exit(void)
{
    for (struct rule *rule = rules; rule; rule = rule->next)
        report_rule(rule);
}

/* The results are printed after all destructors, because a destructor of one of the program's
 * libraries may still call MPI_Finalize. */
__attribute__((destructor)) static void report_after_destructors(void)
{
    tool_end_after_destructors(report_at_exit);
}

/* ---- Joining the stack ----------------------------------------------------------------------- */

/* Returns whether the rule can fail a function whose error handler depends on the origin of a
 * request or message. */
static bool needs_origins(const struct rule *rule)
{
    for (int number = 0; number < MPI_LAST_FUNC; number++) {
        const QMPIX_Function *function;
        if (rule->does[number] & RULE_FAILS &&
            QMPIX_Function_describe((enum QMPI_Functions_enum)number, &function) == MPI_SUCCESS &&
            error_object_needs_origin(function))
            return true;
    }
    return false;
}

static int register_delay_observer(struct rule *rule)
{
    enum QMPI_Functions_enum functions[MPI_LAST_FUNC];
    const bool with_origins = needs_origins(rule);
    int observed = 0;
    for (int number = 0; number < MPI_LAST_FUNC; number++) {
        const enum QMPI_Functions_enum mine = (enum QMPI_Functions_enum)number;
        const QMPIX_Function *function;
        if (QMPIX_Function_describe(mine, &function) != MPI_SUCCESS)
            continue;
        if ((with_origins && error_object_sets_origin(function)) ||
            (rule->error && error_object_opens(function)))
            rule->does[number] |= RULE_MAKES;
        if (rule->does[number] & RULE_OBSERVES)
            functions[observed++] = mine;
    }
    const QMPIX_Observer observer = {
        .size = sizeof observer,
        .before = delay_before_call,
        .after = delay_after_call,
        .data = rule,
        .functions = functions,
        .function_count = observed,
        .flags = QMPIX_OBSERVE_ACTS,
    };
    return QMPIX_Register_tool_observer(rule->tool_id, &observer);
}

/* Declares the faults that this layer causes on purpose, so that validation of tools (qmpi run
 * --validate) does not report them. */
static void register_faults(struct rule *rule)
{
    static const char *const provides[] = {"changes-calls", "changes-results", NULL};
    QMPIX_Tool_declare(rule->tool_id, 0, provides, NULL);
    fault_register(rule);
}

static void init_delay_layer(int tool_id)
{
    struct rule *rule = rule_read(tool_id);
    if (!rule)
        return;
    /* The command `qmpi check` only builds the stack, so its call is not delayed. */
    if (qmpi_getenv("QMPI_CHECK"))
        __atomic_store_n(&rule->active, false, __ATOMIC_RELAXED);
    if (rule->error)
        register_faults(rule);
    uint64_t ticks;
    /* This starts the clock now, because starting the clock takes time, by which it would delay the
     * first call. */
    QMPIX_Clock_get_time(&ticks);
    if (register_delay_observer(rule) != MPI_SUCCESS) {
        QMPIX_Tool_fail(tool_id, "libqmpi rejects the observer of this tool\nhint: use the "
                                 "delay.so that is part of this qmpi");
        return;
    }
    published[tool_id] = rule;
    QMPIX_Register_publisher(tool_id, publish_layer); /* called when MPI_T is initialized */
    owner = getpid();
    rule->next = rules;
    rules = rule;
}

__attribute__((constructor)) static void register_tool(void)
{
    static const QMPIX_Tool_info info = {
        .size = sizeof info,
        .description = TOOL_DESCRIPTION,
        .version = QMPI_VERSION,
        .options = rule_options,
    };
    QMPI_Register_tool_name("delay", init_delay_layer);
    QMPIX_Register_tool_info("delay", &info);
}
