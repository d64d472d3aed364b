/* SPDX-License-Identifier: MIT */
/*
 * See startup.h. The order: read the stack's list, find and inspect every library, and only then
 * load and initialize the layers, one at a time from the bottom up; a layer goes on top of the
 * chains when its init is done, so what it calls meanwhile goes to the layers below it.
 */
#include "startup/startup.h"

#include "clock/clock.h"
#include "config/config.h"
#include "elf/elf.h"
#include "functions/functions.h"
#include "loader/loader.h"
#include "mpich/mpich.h"
#include "mpit/mpit.h"
#include "observe/observe.h"
#include "pmpi/pmpi.h"
#include "process/process.h"
#include "redirect/redirect.h"
#include "registry/registry.h"
#include "startup/conditions.h"
#include "startup/constructor.h"
#include "startup/singleton.h"
#include "startup/switch.h"
#include "util/util.h"

#include <stdlib.h>

QMPI_LOCK(lock);
static bool done;
static bool building; /* by some thread, which has the lock */
static _Thread_local bool starting;

/* This process was forked while another thread was building the stack, which will never be
 * complete. */
static bool abandoned;

static struct qmpi_tool_stack stack; /* lives for the whole run: layers point into it */

static void check_height(int *count)
{
    if (*count <= QMPI_LAYERS_MAX)
        return;
    char *problem = qmpi_message("%d entries, but a stack has at most %d layers\nhint: list fewer "
                                 "tools",
                                 *count, QMPI_LAYERS_MAX);
    qmpi_problem_report(stack.source, problem, "the layers after the 255th");
    *count = QMPI_LAYERS_MAX;
}

/* All of them before the first is built: it may ask what is above it. */
static void plan_layer(struct qmpi_layer *layer, const struct qmpi_plan *plan)
{
    layer->entry = plan->entry;
    layer->tool = plan->tool;
    layer->path = plan->path;
    layer->name = plan->entry->name;
    layer->preloaded = plan->preloaded;
}

static char *load_pmpi(struct qmpi_layer *layer)
{
    char *problem = qmpi_conflict_check(layer);
    return problem ? problem : qmpi_pmpi_load(layer);
}

static char *load_and_init(struct qmpi_layer *layer)
{
    char *problem = qmpi_load_native(layer, qmpi_redirect_is_interposed());
    if (!problem)
        problem = qmpi_conflict_check(layer);
    if (!problem)
        problem = qmpi_layer_init(layer);
    return problem ? problem : qmpi_conflict_check(layer); /* init may have declared more */
}

static void build_layer(struct qmpi_layer *layer, const struct qmpi_plan *plan)
{
    const bool pmpi_tool = plan->kind == QMPI_KIND_PMPI;
    qmpi_guard_entry(plan->entry);
    qmpi_chain_expose(layer->tool_id);
    if (plan->kind == QMPI_KIND_ABI)
        qmpi_load_abi_name(qmpi_installed_folder(), plan->path);
    char *problem = qmpi_conditions_apply(layer);
    if (!problem)
        problem = pmpi_tool ? load_pmpi(layer) : load_and_init(layer);
    __atomic_store_n(&layer->ready, !problem, __ATOMIC_RELEASE);
    if (problem) {
        qmpi_layer_leave_out(layer);
        qmpi_mpit_leave_out(layer->tool_id);
        qmpi_chain_leave_out(layer->tool_id);
        qmpi_problem_report_entry(plan->entry, problem);
    } else {
        qmpi_conditions_complete(layer, pmpi_tool);
    }
    const bool may_be_off = qmpi_condition_may_be_unmet(plan->entry);
    qmpi_chain_add(layer->tool_id,
                   &(struct qmpi_interceptors){.functions = layer->functions,
                                               .mpich = layer->mpich_functions,
                                               .observing = layer->observing,
                                               .observe = qmpi_observe_node,
                                               .pmpi_tool = pmpi_tool,
                                               .starts = may_be_off ? qmpi_chain_passes : NULL});
    qmpi_observe_report(layer->tool_id);
}

/* Whether a layer may ask for the caller of a call that has come through a PMPI tool. */
static bool pmpi_tool_above_others(const struct qmpi_plan *plans, int count)
{
    bool pmpi_tool = false;
    for (int i = 0; i < count; i++) {
        if (plans[i].kind == QMPI_KIND_PMPI)
            pmpi_tool = true;
        else if (pmpi_tool)
            return true;
    }
    return false;
}

/* Makes all that has been loaded since it last did lead to the entries. */
static void redirect(void)
{
    qmpi_redirect();
    qmpi_mpich_override();
}

static void start(void)
{
    qmpi_debug_start(qmpi_setting("QMPI_DEBUG"));
    qmpi_problem_start();
    qmpi_problem_print_config();
    qmpi_clock_configure();
    qmpi_base_find();
    redirect();
    qmpi_stack_read(&stack);
    qmpi_problem_name_middle(stack.source);
    qmpi_problem_print_notes(&stack);
    qmpi_debug(QMPI_TOPIC_PARSE, "%s has %d entries", stack.source, stack.layers.count);
    if (stack.layers.count && qmpi_base_mismatch()) {
        qmpi_problem_report_stack(&stack, qmpi_copy(qmpi_base_mismatch()));
        stack.layers.count = 0;
    }
    check_height(&stack.layers.count);
    int count;
    struct qmpi_plan *plans = qmpi_plan_make(&stack.layers, &count);
    qmpi_conditions_check(plans, &count);
    check_height(&count);
    qmpi_layer_start(count);
    qmpi_chain_start(count);
    if (count) { /* what ends the chains is never changed once a layer stands on it */
        qmpi_mpit_use_switch(qmpi_chain_is_enabled, qmpi_chain_set_enabled);
        qmpi_service_use_switch(qmpi_chain_is_enabled);
        qmpi_mpit_merge(qmpi_terminators, qmpi_pmpi_targets);
        qmpi_observe_creators(qmpi_terminators);
        qmpi_singleton_watch(qmpi_terminators);
        qmpi_offsets_watch(qmpi_terminators);
        qmpi_conditions_watch(plans, count, qmpi_terminators);
    }
    for (int tool_id = 1; tool_id <= count; tool_id++)
        plan_layer(qmpi_layer_get(tool_id), &plans[tool_id - 1]);
    if (count) {
        qmpi_unwind_prepare();
        qmpi_guard_start();
    }
    for (int tool_id = count; tool_id >= 1; tool_id--)
        build_layer(qmpi_layer_get(tool_id), &plans[tool_id - 1]);
    qmpi_guard_end();
    if (pmpi_tool_above_others(plans, count) || (count && qmpi_binding_any))
        qmpi_unwind_load();
    free(plans);
    struct qmpi_fortran_callers callers = qmpi_fortran_hold();
    const struct qmpi_layer *top = qmpi_layer_get(qmpi_chain_topmost());
    qmpi_fortran_set_callers(top ? top->group : NULL, &callers);
    qmpi_fortran_let_go(&callers);
    qmpi_registration_close();
    qmpi_mpit_publish_stack();
    qmpi_service_notify();
    qmpi_chain_publish();
}

static void note_fork(void)
{
    abandoned = building && !starting;
}

static void start_locked(void)
{
    if (done)
        return;
    qmpi_lock_start();
    qmpi_elf_walk_start();
    pthread_atfork(NULL, NULL, note_fork);
    building = starting = true;
    start();
    building = starting = false;
    __atomic_store_n(&done, true, __ATOMIC_RELEASE);
}

/*
 * Whoever builds the stack needs the loader, and a thread in a constructor has the loader's lock
 * until that returns: it must not wait for the other. Returns false if no stack exists for it yet.
 */
static bool start_once(void)
{
    if (pthread_mutex_trylock(&lock) != 0) {
        if (qmpi_in_constructor())
            return __atomic_load_n(&done, __ATOMIC_ACQUIRE);
        pthread_mutex_lock(&lock);
    }
    start_locked();
    pthread_mutex_unlock(&lock);
    return true;
}

void qmpi_start(void)
{
    if (!starting && !abandoned && !__atomic_load_n(&done, __ATOMIC_ACQUIRE))
        start_once();
}

static qmpi_function *go_without_stack(int number)
{
    static bool said;
    if (!__atomic_exchange_n(&said, true, __ATOMIC_RELAXED) && qmpi_is_reporting_process()) {
        if (abandoned)
            qmpi_print("this process was forked while another thread was loading the tools: its "
                       "MPI calls bypass them\n"
                       "  hint: fork after the first MPI call has returned");
        else
            qmpi_print(
                "a library's constructor calls MPI while another thread is loading the tools: "
                "its calls bypass them\n"
                "  hint: open such libraries after the first MPI call has returned");
    }
    qmpi_base_find();
    return qmpi_bases[number];
}

/* While the stack is built, a constructor or an init of ours calls MPI: the layers so far. */
static qmpi_function *target_so_far(int number, const void *caller, bool pmpi)
{
    qmpi_function *pmpi_tool = qmpi_pmpi_target(number, caller, pmpi);
    if (pmpi_tool)
        return pmpi_tool;
    if (!qmpi_heads[number])
        return qmpi_bases[number];
    return pmpi ? qmpi_pmpi_targets[number] : qmpi_chain_target(number);
}

qmpi_function *qmpi_start_call(int number, const void *caller)
{
    if (starting)
        return target_so_far(number, caller, false);
    if (abandoned)
        return go_without_stack(number);
    if (!__atomic_load_n(&done, __ATOMIC_ACQUIRE)) {
        /* A thread of a tool that is being loaded: whoever loads it may be waiting for this thread.
         */
        qmpi_function *loading = qmpi_pmpi_target(number, caller, false);
        if (loading)
            return loading;
        if (!start_once())
            return go_without_stack(number);
    }
    /* Who called may have been a tool's constructor, before there was a stack. */
    qmpi_function *pmpi_tool = qmpi_pmpi_target(number, caller, false);
    return pmpi_tool ? pmpi_tool : qmpi_slots[number];
}

qmpi_function *qmpi_start_base(int number, const void *caller)
{
    qmpi_base_find();
    if (starting)
        return target_so_far(number, caller, true);
    if (abandoned)
        return qmpi_bases[number];
    /* A PMPI tool that the program reaches before us passes on the program's first MPI call. */
    if (!__atomic_load_n(&done, __ATOMIC_ACQUIRE)) {
        qmpi_function *loading = qmpi_pmpi_target(number, caller, true);
        if (loading)
            return loading;
        /* A binding that came by dlopen: what it calls is the program's call. */
        if (qmpi_redirect_is_binding(caller))
            return qmpi_start_call(number, caller);
        const struct qmpi_preloaded_tool *front = qmpi_preloaded_in_front(qmpi_names[number].name);
        if ((front || qmpi_preloaded_contains(caller)) && !start_once())
            return go_without_stack(number);
        qmpi_function *pmpi_tool = qmpi_pmpi_target(number, caller, true);
        if (pmpi_tool)
            return pmpi_tool;
        if (front && front->layer)
            return qmpi_thunk_of(front->layer, number);
    }
    return qmpi_pmpi_targets[number] ? qmpi_pmpi_targets[number] : qmpi_bases[number];
}

/* Before the program's first call: a binding's may be of PMPI_Init. */
__attribute__((constructor)) static void begin(void)
{
    if (qmpi_self_is_idle())
        return;
    redirect();
    qmpi_fortran_begin(qmpi_start, qmpi_chain_passes);
}
