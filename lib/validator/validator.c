/* SPDX-License-Identifier: MIT */
/*
 * The library that libqmpi opens to validate tools (src/validate). A call of the program reaches a
 * layer through a node above the layer, which begins a visit. The layer calls the next function
 * through another node, which stores in the visit what the layer has passed on. When the layer
 * returns, the visit shows whether it has kept the rules of docs/write/duties.md.
 */
#define _GNU_SOURCE
#include "validator/checks.h"
#include "validator/context.h"
#include "validator/fault.h"
#include "validator/job.h"
#include "validator/notes.h"
#include "validator/visit.h"
#include "validator/watch.h"

#include "dispatch/dispatch.h"
#include "util/util.h"

#include <qmpi/traits.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

QMPI_API qmpi_validate_starter qmpi_validate_start;

static const struct qmpi_validate_host *host;

enum { IDS = 256 };
static bool finalized[IDS]; /* [tool_id]: the layer has returned from MPI_Finalize */
static bool any_finalized;
static bool has_called_layer;

/* The words of a call. visit_store uses the first two. */
enum {
    PASSED = 2, /* 1: the layer passes on the call that it has received */
    HANDLES,    /* the result of validator_handles_before */
    CREATOR     /* the layer that makes the call for itself, or 0 */
};

/* ---- Allowed behaviour ----------------------------------------------------------------------- */

/* The declarations of a layer. */
struct allowed {
    bool known, calls, arguments, results, pmpi;
};

static struct allowed allowed_to(int tool_id)
{
    static struct allowed layers[IDS];
    struct allowed *layer = &layers[tool_id];
    const char *binding = "";
    if (layer->known)
        return *layer;
    QMPIX_Tool_get_binding(tool_id, &binding);
    *layer = (struct allowed){true, host->declares(tool_id, "changes-calls"),
                              host->declares(tool_id, "changes-arguments"),
                              host->declares(tool_id, "changes-results"),
                              !strncmp(binding, "PMPI tool", 9)};
    return *layer;
}

static bool is_init(const QMPIX_Function *function)
{
    return function->number == MPI_INIT_T || function->number == MPI_INIT_THREAD_T;
}

/* Returns whether a layer may call a function after MPI_Finalize. */
static bool outlives_mpi(const QMPIX_Function *function)
{
    QMPIX_Traits traits = {.size = sizeof traits};
    QMPIX_Function_get_traits(function, &traits);
    return traits.flags & QMPIX_TRAIT_ANY_TIME;
}

/* ---- Reports --------------------------------------------------------------------------------- */

static void report(enum fault_kind kind, int tool_id, const QMPIX_Function *function,
                   QMPI_Context context, bool calls, const char *detail)
{
    fault_report(&(struct fault){.kind = kind,
                                 .tool_id = tool_id,
                                 .function = function,
                                 .context = context,
                                 .calls = calls,
                                 .detail = detail});
}

static void report_visit(enum fault_kind kind, const struct visit *visit, bool calls,
                         const char *detail)
{
    /* Addresses of calls are return addresses, which follow the code that is described. */
    const void *const finalizer = visit->finalizer ? (const char *)visit->finalizer + 1 : NULL;
    fault_report(&(struct fault){.kind = kind,
                                 .tool_id = visit->tool_id,
                                 .function = visit->function,
                                 .context = visit->context,
                                 .calls = calls,
                                 .address = calls ? NULL : finalizer,
                                 .detail = detail});
}

/* ---- Above a layer --------------------------------------------------------------------------- */

/* A recursion of this depth counts as endless. */
enum { ENDLESS = 100 };

/* Returns whether the code of a layer itself has made a call. Otherwise, the layer has called code
 * of the program, such as an error handler. */
static bool is_called_by(int tool_id, const QMPIX_Call *call)
{
    void *caller = NULL;
    return QMPIX_Call_get_caller(call, &caller) == MPI_SUCCESS && caller &&
           host->contains(tool_id, caller);
}

/* Checks a call of MPI_X that was made in the code of a layer. */
static void check_recursion(const struct visit *visit, const QMPIX_Call *call)
{
    int depth = 0;
    for (const struct visit *outer = visit; outer; outer = outer->outer)
        depth += outer->tool_id == visit->tool_id && !outer->below;
    if (depth < ENDLESS && !is_called_by(visit->tool_id, call))
        return;
    if (depth < ENDLESS) {
        char *detail =
            qmpi_format("calls %s in its %s, which enters the stack at the top again (depth %d)",
                        call->function->name, visit_name(visit), depth);
        report_visit(FAULT_RECURSION, visit, true, detail);
        free(detail);
        return;
    }
    char *text = qmpi_message("validation: layer %d recurses endlessly: its %s calls %s, which "
                              "enters the stack at the top again (depth %d)",
                              visit->tool_id, visit_name(visit), call->function->name, depth);
    host->print(text);
    _exit(1);
}

/* Removes the name of the file that the processes of the job share (job.h) as soon as MPI is
 * initialized, because all processes have joined by then. */
static void hide_table(void)
{
    static _Atomic bool done;
    if (done || host->thread_level() < 0)
        return;
    done = true;
    job_hide();
}

/* The code of the layer begins to run, or continues after a call of MPI. */
static void begin_code(struct visit *visit)
{
    validator_storage_begin(visit);
    visit->since = notes_time();
}

/* The code has run until `now`. It returns if `ends` is true, and calls MPI otherwise. */
static void end_code(struct visit *visit, uint64_t now, bool ends)
{
    notes_add_time(visit->tool_id, visit->function, now - visit->since, ends && !visit->finalizer);
    const int owner = validator_storage_end(visit);
    const char *name = "?";
    if (!owner)
        return;
    QMPIX_Tool_get_name(owner, &name);
    char *detail = qmpi_format("writes to the storage of layer %d (%s) in its %s", owner, name,
                               visit_name(visit));
    report_visit(FAULT_STORAGE, visit, !ends, detail);
    free(detail);
}

static void enter_layer(int tool_id, const QMPIX_Call *call, QMPIX_Word *word)
{
    const struct visit *outer = visit_innermost(call);
    if (!__atomic_exchange_n(&has_called_layer, true, __ATOMIC_RELAXED)) {
        job_set_called();
        notes_print_variants();
    }
    if (outer && !outer->below)
        check_recursion(outer, call);
    struct visit *visit = visit_begin(tool_id, call);
    visit_store(visit, word);
    begin_code(visit);
}

static const char *parameter_name(const struct visit *visit, int index)
{
    return visit->function->parameters[index].name;
}

/* Reports if the layer has not passed the call on unchanged. */
static void check_passed(const struct visit *visit)
{
    const struct allowed allowed = allowed_to(visit->tool_id);
    char *detail = NULL;
    /* In MPICH and Open MPI, PMPI_Pcontrol does nothing, so PMPI tools do not call it. */
    if (visit->passed || allowed.calls ||
        (allowed.pmpi && visit->function->number == MPI_PCONTROL_T))
        return;
    if (visit->others) {
        if (allowed.arguments)
            return;
        detail = qmpi_format("changes the argument '%s' of %s",
                             parameter_name(visit, visit->changed), visit->function->name);
        report_visit(FAULT_ARGUMENT, visit, false, detail);
    } else if (visit->instead) {
        detail = qmpi_format("calls the next %s instead of the next %s", visit->instead->name,
                             visit->function->name);
        report_visit(FAULT_OTHER_FUNCTION, visit, false, detail);
    } else {
        if (visit->by_pmpi)
            detail = qmpi_format("calls P%s instead of the next %s: the layers below miss the call",
                                 visit->function->name, visit->function->name);
        report_visit(FAULT_NOT_PASSED, visit, false, detail);
    }
    free(detail);
}

static void check_returned(const struct visit *visit, const QMPIX_Call *call)
{
    if (visit->passed != 1 || !visit->returned || allowed_to(visit->tool_id).results)
        return;
    if (!compare_result(&visit->values, call)) {
        report_visit(FAULT_RESULT, visit, false, NULL);
        return;
    }
    const int changed = compare_outputs(&visit->values, call);
    if (changed < 0)
        return;
    if (visit->function->number == MPI_INIT_THREAD_T) {
        report_visit(FAULT_THREAD_LEVEL, visit, false,
                     "reports a thread level to the program that differs from the one that MPI "
                     "provides");
        return;
    }
    char *detail = qmpi_format("changes the output '%s' of %s, or does not set it",
                               parameter_name(visit, changed), visit->function->name);
    report_visit(FAULT_OUTPUT, visit, false, detail);
    free(detail);
}

static void leave_layer(const QMPIX_Call *call, const QMPIX_Word *word)
{
    const uint64_t now = notes_time();
    struct visit *visit = visit_of_word(word);
    if (!visit)
        return;
    end_code(visit, now, true);
    validator_handles_give(visit, call);
    hide_table();
    if (is_init(visit->function))
        validator_threads_record_provided();
    check_passed(visit);
    check_returned(visit, call);
    if (visit->function->number == MPI_FINALIZE_T)
        finalized[visit->tool_id] = any_finalized = true;
    visit_end(visit);
}

/* ---- Finalizers ------------------------------------------------------------------------------ */

/* Runs a finalizer within a visit of MPI_Finalize, in which the calls of the layer are its own. */
static void run_finalizer(int tool_id, qmpi_validate_finalizer *finalizer, uint64_t ticks)
{
    QMPIX_Call call = {.function = NULL}; /* its address is above those of calls in the finalizer */
    QMPIX_Word word[2];
    if (QMPIX_Function_describe(MPI_FINALIZE_T, &call.function) != MPI_SUCCESS) {
        finalizer(tool_id, ticks);
        return;
    }
    struct visit *visit = visit_begin(tool_id, &call);
    visit->finalizer = (const void *)(uintptr_t)finalizer;
    visit_store(visit, word);
    begin_code(visit);
    finalizer(tool_id, ticks);
    const uint64_t now = notes_time();
    if (!visit_of_word(word))
        return;
    end_code(visit, now, true);
    visit_end(visit);
}

/* ---- Calls that a tool makes for itself ------------------------------------------------------ */

static QMPIX_Traits function_traits_of(const QMPIX_Function *function)
{
    QMPIX_Traits traits = {.size = sizeof traits};
    QMPIX_Function_get_traits(function, &traits);
    return traits;
}

/* Reports a collective call within a call on the same communicator that is not collective, because
 * other processes of the communicator do not take part. */
static void check_collective(const struct visit *visit, const QMPIX_Call *call)
{
    const QMPIX_Traits own = function_traits_of(call->function),
                       received = function_traits_of(visit->function);
    const struct allowed allowed = allowed_to(visit->tool_id);
    if (!(own.flags & QMPIX_TRAIT_COLLECTIVE) || received.flags & QMPIX_TRAIT_COLLECTIVE ||
        own.comm < 0 || received.comm < 0 || allowed.pmpi || allowed.calls)
        return;
    const QMPIX_Parameter *comm = &call->function->parameters[own.comm];
    if (comm->indirection || visit->function->parameters[received.comm].indirection ||
        memcmp(call->arguments[own.comm], compare_saved_argument(&visit->values, received.comm),
               comm->size) != 0)
        return;
    char *detail = qmpi_format("calls %s in %s on the same communicator: not all of its processes "
                               "take part",
                               call->function->name, visit->function->name);
    report_visit(FAULT_COLLECTIVE, visit, true, detail);
    free(detail);
}

/* Returns the layer whose code makes the current call although the layer has finalized MPI, or 0 if
 * there is none. */
static int find_late_caller(void)
{
    enum { DEPTH = 32 };
    void *frames[DEPTH];
    const int count = host->unwind(frames, DEPTH);
    for (int i = 0; i < count; i++) {
        for (int tool_id = 1; tool_id <= host->layers; tool_id++) {
            if (finalized[tool_id] && host->contains(tool_id, frames[i]))
                return tool_id;
        }
    }
    return 0;
}

/* Checks a call of PMPI_X, which may also come from the program. */
static void check_pmpi(const QMPIX_Call *call, QMPIX_Word *word)
{
    const uint64_t now = notes_time();
    struct visit *visit = visit_innermost(call);
    const bool in_code = visit && !visit->below;
    int late = 0;
    word[HANDLES].pointer = validator_handles_before(call);
    if (in_code) {
        end_code(visit, now, false);
        word[CREATOR].number = (unsigned)visit->tool_id;
        visit_store(visit, word);
        visit->below++;
    } else if (!visit) {
        word[CREATOR].number = (unsigned)validator_threads_layer();
        validator_threads_check_call(call);
    }
    if (in_code) {
        visit->by_pmpi |= visit->function == call->function;
        check_collective(visit, call);
        if (visit->function->number == MPI_FINALIZE_T && visit->returned)
            late = visit->tool_id;
    } else if (any_finalized && !outlives_mpi(call->function)) {
        late = find_late_caller();
    }
    if (late && !outlives_mpi(call->function))
        report(FAULT_AFTER_FINALIZE, late, call->function, in_code ? visit->context : NULL, true,
               NULL);
}

/* Records the handles that a call of a layer has freed and created. Called when this call has
 * returned. */
static void record_handles(const QMPIX_Call *call, const QMPIX_Word *word)
{
    const int creator = (int)word[CREATOR].number;
    validator_handles_after(call, word[HANDLES].pointer);
    if (creator && validator_handles_creates(call->function))
        validator_handles_add(creator, call, fault_find_call(creator));
}

static void return_from_pmpi(const QMPIX_Call *call, const QMPIX_Word *word)
{
    struct visit *visit = visit_of_word(word);
    record_handles(call, word);
    if (!visit)
        return;
    visit->below--;
    begin_code(visit);
}

/* ---- Below a layer --------------------------------------------------------------------------- */

static void check_finalized(int tool_id, const struct visit *visit, const QMPIX_Call *call)
{
    const bool over =
        finalized[tool_id] ||
        (visit && !visit->below && visit->function->number == MPI_FINALIZE_T && visit->returned);
    const bool passes_on = visit && !visit->below && visit->function == call->function;
    if (over && !passes_on && !outlives_mpi(call->function))
        report(FAULT_AFTER_FINALIZE, tool_id, call->function, call->context, true, NULL);
}

/* Stores in the visit what the layer passes on. Returns whether this is the call that the layer
 * received. */
static bool record_passed(struct visit *visit, const QMPIX_Call *call)
{
    if (is_init(visit->function) && is_init(call->function))
        validator_threads_check_required(visit, call);
    if (visit->function != call->function) {
        if (is_init(visit->function) && is_init(call->function))
            visit->passed++; /* PMPI tools change the thread level in this way. */
        else
            visit->instead = call->function;
        check_collective(visit, call);
        return false;
    }
    int changed = compare_arguments(&visit->values, call);
    /* A PMPI tool cannot pass on the variable arguments, because it does not know their number. */
    if (changed > 0 && call->function->number == MPI_PCONTROL_T && allowed_to(visit->tool_id).pmpi)
        changed = -1;
    if (changed >= 0 && is_init(call->function)) { /* The argument `required` was checked above. */
        visit->passed++;
        return false;
    }
    if (changed >= 0) {
        visit->others++;
        visit->changed = changed;
        return false;
    }
    if (++visit->passed == 2 && !allowed_to(visit->tool_id).calls)
        report_visit(FAULT_TWICE, visit, true, NULL);
    return true;
}

/* Lets observe_X continue the call with another context. */
static void set_context(const QMPIX_Call *call, QMPI_Context context)
{
    ((QMPIX_Call *)(uintptr_t)call)->context = context;
}

static void go_below(int tool_id, const QMPIX_Call *call, QMPIX_Word *word)
{
    const uint64_t now = notes_time();
    struct visit *visit = visit_innermost(call);
    const bool in_code = visit && !visit->below;
    const int caller = in_code ? visit->tool_id : tool_id;
    word[0].pointer = NULL;
    if (call->context->function_id != (int)call->function->number || caller != tool_id) {
        report(FAULT_OTHER_CONTEXT, caller, call->function, in_code ? visit->context : NULL, true,
               NULL);
        set_context(call, context_right(caller, call->function->number));
    }
    check_finalized(caller, visit, call);
    word[HANDLES].pointer = validator_handles_before(call);
    word[CREATOR].number = 0;
    if (!in_code) {
        if (!visit && visit_find_elsewhere(tool_id, call)) {
            report(FAULT_OTHER_THREAD, tool_id, call->function, call->context, true, NULL);
        } else if (!visit) { /* a call of the tool for itself */
            word[CREATOR].number = (unsigned)validator_threads_layer();
            validator_threads_check_call(call);
        }
        return;
    }
    end_code(visit, now, false);
    visit_store(visit, word);
    word[PASSED].number = record_passed(visit, call);
    word[CREATOR].number = word[PASSED].number ? 0 : (unsigned)visit->tool_id;
    visit->below++;
}

static void return_from_below(const QMPIX_Call *call, const QMPIX_Word *word)
{
    struct visit *visit = visit_of_word(word);
    record_handles(call, word);
    if (!visit)
        return;
    visit->below--;
    visit->returned += word[PASSED].number != 0;
    if (word[PASSED].number && visit->passed == 1)
        compare_save_results(&visit->values, call);
    begin_code(visit);
}

/* ---- A layer's own context ------------------------------------------------------------------- */

/* Called when a layer has called the next function with a context that it or another layer has
 * received, rather than that of the node below. Reports this, and lets the call continue with the
 * right context. */
static void replace_context(int tool_id, const QMPIX_Call *call)
{
    static _Thread_local struct QMPIX_Node replacement;
    const struct visit *visit = visit_innermost(call);
    const bool in_code = visit && !visit->below;
    const int caller = in_code ? visit->tool_id : tool_id;
    const bool own = caller == tool_id && in_code && visit->function == call->function;
    report(own ? FAULT_OWN_CONTEXT : FAULT_OTHER_CONTEXT, caller, call->function,
           in_code ? visit->context : call->context, true, NULL);
    replacement = *call->context;
    replacement.next = context_right(caller, call->function->number);
    set_context(call, &replacement);
}

/* ---- Callbacks ------------------------------------------------------------------------------- */

static void before(const QMPIX_Call *call, QMPIX_Word *word)
{
    const struct qmpi_validate_place *place = call->observer->data;
    if (place->kind == QMPI_VALIDATE_PMPI)
        check_pmpi(call, word);
    else if (place->kind == QMPI_CHECK_ABOVE)
        enter_layer(place->tool_id, call, word);
    else if (place->kind == QMPI_CHECK_BELOW)
        go_below(place->tool_id, call, word);
    else
        replace_context(place->tool_id, call);
}

static void after(const QMPIX_Call *call, QMPIX_Word *word)
{
    const struct qmpi_validate_place *place = call->observer->data;
    if (place->kind == QMPI_VALIDATE_PMPI)
        return_from_pmpi(call, word);
    else if (place->kind == QMPI_CHECK_ABOVE)
        leave_layer(call, word);
    else if (place->kind == QMPI_CHECK_BELOW)
        return_from_below(call, word);
}

/* ---- The end of the process ------------------------------------------------------------------ */

static pid_t process; /* Forked children do not report. */

/* Reports faults that are known only now, and prints the summary. If there are faults, an exit
 * status of 0 becomes 1: in a nested call of exit, glibc continues with the handlers that have not
 * run yet. */
static void end_with_failure(int status, void *data)
{
    bool clean = false;
    (void)data;
    if (getpid() != process)
        return;
    validator_handles_check_end();
    validator_threads_check_end();
    bool found = fault_was_found();
    for (int tool_id = 1; tool_id <= host->layers; tool_id++)
        found |= host->misregisters(tool_id);
    if (has_called_layer) {
        notes_print_costs();
        validator_threads_print_levels();
    }
    if (job_end(found, &clean, fault_print_counts) && clean)
        host->print("validation: no faults");
    if (found && !status)
        exit(1);
}

/* ---- Start ----------------------------------------------------------------------------------- */

/* Is called when the tool of a layer has been loaded. */
static void watch_loaded(int tool_id)
{
    validator_heap_prepare_operators();
    validator_threads_prepare_cpp();
    watch_layer(tool_id);
}

void qmpi_validate_start(const struct qmpi_validate_host *given,
                         struct qmpi_validate_module *module)
{
    host = given;
    module->callbacks.before = before;
    module->callbacks.after = after;
    module->below = context_checked;
    module->loaded = watch_loaded;
    module->finalize = run_finalizer;
    context_start(given);
    notes_start(given);
    fault_start(given);
    process = getpid();
    on_exit(end_with_failure, NULL);
    watch_start(given);
    validator_storage_start(given);
    validator_handles_start(given);
    validator_heap_start();
    validator_output_start();
    validator_threads_start(given);
}
