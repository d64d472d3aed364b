/* SPDX-License-Identifier: MIT */
/*
 * Start-up: the first MPI call builds the stack, in build_stack, whose comment lists the steps and
 * their files. A layer is added to the chains after its init has returned, so that MPI calls of its
 * init go to the layers below it.
 */
#define _GNU_SOURCE
#include "clock/clock.h"
#include "config/config.h"
#include "elf/elf.h"
#include "functions/functions.h"
#include "job/job.h"
#include "loader/loader.h"
#include "mpich/mpich.h"
#include "mpit/mpit.h"
#include "observe/observe.h"
#include "pmpi/pmpi.h"
#include "process/process.h"
#include "redirect/redirect.h"
#include "registry/registry.h"
#include "startup/conditions.h"
#include "startup/finalizers.h"
#include "startup/init_checks.h"
#include "startup/switch.h"
#include "util/util.h"
#include "validate/validate.h"

#include <dlfcn.h>
#include <link.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>

/* The assembly code of the entry points calls these two functions; they have no other prototype.
 * `caller` is the return address of the MPI call. They return the function to which a call of MPI_X
 * or PMPI_X continues. */
qmpi_function *qmpi_startup_call(int number, const void *caller) QMPI_HIDDEN;
qmpi_function *qmpi_startup_pmpi_call(int number, const void *caller) QMPI_HIDDEN;

QMPI_LOCK(start_lock);
/* Stored with release, under start_lock, by the thread that has built the stack. A thread that
 * loads true with acquire sees all that does not change later: layers, tools, tables and
 * settings. */
static bool has_started;
static bool building;               /* the thread that holds start_lock is building the stack */
static _Thread_local bool starting; /* this thread is building the stack */

/* Whether this process was forked while another thread was building the stack. The stack will then
 * never be complete. */
static bool abandoned;

static void start_for_fortran(void);

static struct qmpi_stack stack; /* never freed, because layers have pointers into it */

/* ---- Plan ------------------------------------------------------------------------------------ */

/* A layer that is planned. */
struct plan {
    const struct qmpi_tool_entry *entry;
    enum qmpi_library_kind kind;
    struct qmpi_tool *tool;                /* registered already; NULL: not registered */
    struct qmpi_preloaded_tool *preloaded; /* loaded already; NULL: not loaded */
    char *path; /* the library; loaded if `tool` and `preloaded` are NULL */
};

/* Plans a layer for a preloaded tool. If the tool is listed again, the next layer is loaded from a
 * copy. */
static void plan_preloaded(struct plan *plan, struct qmpi_preloaded_tool *preloaded)
{
    plan->kind = QMPI_KIND_PMPI;
    plan->path = qmpi_copy(preloaded->path);
    if (!preloaded->taken)
        plan->preloaded = preloaded;
    preloaded->taken = true;
}

/* Takes the file and the kind from an earlier entry of the same name, which had no problem, so that
 * each file is inspected once. Returns false if there is none. */
static bool plan_again(struct plan *plan, const struct plan *earlier, int count)
{
    for (int i = 0; i < count; i++) {
        if (!earlier[i].path || strcmp(earlier[i].entry->name, plan->entry->name) != 0)
            continue;
        plan->path = qmpi_copy(earlier[i].path);
        plan->kind = earlier[i].kind;
        return true;
    }
    return false;
}

/* Reports a named stack that has the name of a tool, which is an error. Returns whether the stack
 * of the entry has such a name. */
static bool refuse_stack(const struct qmpi_tool_entry *entry)
{
    if (!entry->stack)
        return false;
    char *path = qmpi_library_find_namesake(entry->stack, qmpi_installation_folder());
    if (!path && !qmpi_tool_find(entry->stack))
        return false;
    qmpi_problem_print_heading(
        entry, qmpi_message("'%s' is also the name of %s\n"
                            "hint: rename the stack, or remove it and list the tools themselves",
                            entry->stack, path ? path : "a registered tool"));
    free(path);
    return true;
}

/* Plans the entry that follows the `count` plans of `listed`. Returns NULL, or a problem. */
static char *plan_entry(struct plan *listed, int count, const struct qmpi_tool_entry *entry)
{
    struct plan *plan = &listed[count];
    char *problem = NULL;
    *plan = (struct plan){.entry = entry, .kind = QMPI_KIND_QMPI};
    if (entry->problem)
        return qmpi_copy(entry->problem);
    plan->tool = qmpi_tool_find(entry->name);
    if (plan->tool || plan_again(plan, listed, count))
        return NULL;
    struct qmpi_preloaded_tool *preloaded = qmpi_preloaded_by_name(entry->name);
    if (!preloaded) {
        char *registered = qmpi_tool_list_names();
        plan->path = qmpi_library_find(entry, qmpi_installation_folder(), registered, &problem);
        free(registered);
        if (plan->path)
            problem = qmpi_library_inspect(plan->path, qmpi_mpi_library_soname(), &plan->kind);
        preloaded = problem ? NULL : qmpi_preloaded_by_file(plan->path);
    }
    if (preloaded) {
        free(plan->path);
        plan_preloaded(plan, preloaded);
    }
    return problem;
}

/* Returns an entry for a tool that is not listed. */
static const struct qmpi_tool_entry *make_entry(const struct qmpi_preloaded_tool *preloaded)
{
    struct qmpi_tool_entry *entry = qmpi_allocate(1, sizeof *entry);
    entry->text = qmpi_copy(preloaded->path);
    entry->name = qmpi_copy(preloaded->name);
    return entry;
}

/* Plans the preloaded tools that are not listed: those loaded before libqmpi if `in_front` is true,
 * and otherwise those loaded after it. Returns the number of plans. */
static int plan_unlisted(struct plan *plans, bool in_front)
{
    int count = 0;
    for (int i = 0; i < qmpi_preloaded_count(); i++) {
        struct qmpi_preloaded_tool *preloaded = qmpi_preloaded_get(i);
        if (preloaded->taken || preloaded->in_front != in_front)
            continue;
        plans[count].entry = make_entry(preloaded);
        plan_preloaded(&plans[count++], preloaded);
    }
    return count;
}

/* Returns the reason why a tool cannot be at this position, or NULL if it can. If a tool is loaded
 * before libqmpi, calls of the program reach it before all layers above it. */
static char *check_place(const struct plan *plans, int index)
{
    const struct qmpi_preloaded_tool *preloaded = plans[index].preloaded;
    if (!preloaded || !preloaded->in_front || index == 0 ||
        (plans[index - 1].preloaded && plans[index - 1].preloaded->in_front))
        return NULL;
    return qmpi_message(
        "%s is loaded before libqmpi, so the program's calls would bypass the layers above "
        "it\nhint: put libqmpi first in LD_PRELOAD, or list this tool first",
        preloaded->path);
}

/* Removes the tools that cannot be at their positions. Returns the number of the others. */
static int check_places(struct plan *plans, int count)
{
    int valid = 0;
    for (int i = 0; i < count; i++) {
        plans[valid] = plans[i];
        char *problem = check_place(plans, valid);
        if (problem)
            qmpi_problem_report_entry(plans[i].entry, problem);
        else
            valid++;
    }
    return valid;
}

/*
 * Plans the stack, from the application down. All entries that cannot be used are reported. Then
 * they are left out, or the process ends. The caller frees the plans.
 */
static struct plan *plan_stack(const struct qmpi_tool_list *list, int *count)
{
    qmpi_preloaded_find();
    const int tool_count = qmpi_preloaded_count();
    struct plan *listed = qmpi_allocate((size_t)list->count, sizeof *listed);
    int listed_count = 0;
    bool refused = false; /* whether the named stack of the entry was refused */
    for (int i = 0; i < list->count; i++) {
        if (!i || list->entries[i].stack != list->entries[i - 1].stack)
            refused = refuse_stack(&list->entries[i]);
        if (refused)
            continue;
        char *problem = plan_entry(listed, listed_count, &list->entries[i]);
        if (problem) {
            free(listed[listed_count].path);
            listed[listed_count].path = NULL;
            qmpi_problem_print_entry(&list->entries[i], problem);
        } else {
            listed_count++;
        }
    }
    qmpi_problem_stop();
    struct plan *plans = qmpi_allocate((size_t)(listed_count + tool_count), sizeof *plans);
    *count = plan_unlisted(plans, true);
    memcpy(plans + *count, listed, (size_t)listed_count * sizeof *plans);
    *count += listed_count;
    *count += plan_unlisted(plans + *count, false);
    *count = check_places(plans, *count);
    free(listed);
    return plans;
}

/* Reports planned layers whose @functions are wrong, before any is loaded, and removes them. */
static void check_functions(struct plan *plans, int *count)
{
    int valid = 0;
    for (int i = 0; i < *count; i++) {
        char *problem = qmpi_conditions_check(plans[i].entry);
        if (problem)
            qmpi_problem_print_entry(plans[i].entry, problem);
        else
            plans[valid++] = plans[i];
    }
    *count = valid;
    qmpi_problem_stop();
}

static void limit_height(int *count)
{
    if (*count <= QMPI_LAYERS_MAX)
        return;
    char *problem = qmpi_message("%d entries, but a stack has at most %d layers\nhint: list fewer "
                                 "tools",
                                 *count, QMPI_LAYERS_MAX);
    qmpi_problem_report(stack.source, problem, "the layers after the 255th");
    *count = QMPI_LAYERS_MAX;
}

/* ---- Layers ---------------------------------------------------------------------------------- */

/* Prepares a layer. All layers are prepared before the first one is built, because tools may ask
 * about the layers above. */
static void prepare_layer(struct qmpi_layer *layer, const struct plan *plan)
{
    layer->entry = plan->entry;
    layer->tool = plan->tool;
    layer->path = plan->path;
    layer->name = plan->entry->name;
    layer->preloaded = plan->preloaded;
}

static char *load_pmpi_layer(struct qmpi_layer *layer)
{
    char *problem = qmpi_registry_check_conflicts(layer);
    if (!problem)
        problem = qmpi_pmpi_load(layer);
    if (!problem)
        qmpi_validate_loaded(layer->tool_id);
    return problem;
}

/* A tool that is compiled for the standard ABI needs libqmpi under another name. Opens a library of
 * that name, which contains no code and depends on this libqmpi. */
static void open_abi_name(const char *tool)
{
    char *path = qmpi_library_find_abi_name(qmpi_installation_folder(), tool);
    if (path && !dlopen(path, RTLD_LAZY | RTLD_LOCAL))
        qmpi_debug(QMPI_TOPIC_LOAD, "%s", dlerror());
    free(path);
}

/* The constructor of the tool's library registers the tool; its init registers the interceptors of
 * the layer, and may make further declarations. */
static char *load_qmpi_layer(struct qmpi_layer *layer)
{
    char *problem = NULL;
    if (!layer->tool)
        layer->tool = qmpi_tool_load(layer->path, layer->entry->name, qmpi_redirect_is_interposed(),
                                     &problem);
    if (problem)
        return problem;
    layer->name = layer->tool->name;
    qmpi_debug(QMPI_TOPIC_LOAD, "layer %d: tool %s from %s", layer->tool_id, layer->name,
               layer->tool->path);
    problem = qmpi_registry_check_conflicts(layer);
    if (!problem) {
        qmpi_validate_loaded(layer->tool_id);
        problem = qmpi_layer_init(layer);
    }
    return problem ? problem : qmpi_registry_check_conflicts(layer);
}

static void build_layer(struct qmpi_layer *layer, const struct plan *plan)
{
    const bool pmpi_tool = plan->kind == QMPI_KIND_PMPI;
    qmpi_problem_set_loading(plan->entry);
    qmpi_chain_expose(layer->tool_id);
    if (plan->kind == QMPI_KIND_ABI)
        open_abi_name(plan->path);
    char *problem = qmpi_conditions_apply(layer);
    if (!problem)
        problem = pmpi_tool ? load_pmpi_layer(layer) : load_qmpi_layer(layer);
    __atomic_store_n(&layer->ready, !problem, __ATOMIC_RELEASE);
    if (problem) {
        qmpi_layer_leave_out(layer);
        qmpi_mpit_leave_out(layer->tool_id);
        qmpi_switch_leave_out(layer->tool_id);
        qmpi_problem_report_entry(plan->entry, problem);
    } else {
        qmpi_conditions_complete(layer, pmpi_tool);
    }
    const bool may_be_off = qmpi_condition_may_be_unmet(plan->entry);
    qmpi_chain_add(layer->tool_id,
                   &(struct qmpi_chain_layer){.functions = layer->functions,
                                              .mpich = layer->mpich_functions,
                                              .observing = layer->observing,
                                              .observe = qmpi_observe_node,
                                              .pmpi_tool = pmpi_tool,
                                              .starts = may_be_off ? qmpi_switch_passes : NULL});
    qmpi_observe_report(layer->tool_id);
}

static bool any_pmpi_tool(const struct plan *plans, int count)
{
    int i = 0;
    while (i < count && plans[i].kind != QMPI_KIND_PMPI)
        i++;
    return i < count;
}

static bool any_has_option(const struct plan *plans, int count, enum qmpi_tool_reserved option)
{
    int i = 0;
    while (i < count && !plans[i].entry->reserved[option])
        i++;
    return i < count;
}

/* ---- The stack ------------------------------------------------------------------------------- */

/* If objects have been loaded since the last call, redirects references to the entry points. */
static void redirect_references(void)
{
    qmpi_redirect();
    qmpi_mpich_override();
}

/* Describes a layer to the other processes. Layers of different processes are the same if their
 * tools and options are equal. */
static void describe_to_job(const struct qmpi_layer *layer)
{
    const struct qmpi_tool_entry *entry = layer->entry;
    char *with_options = NULL;
    for (int i = 0; i < entry->option_count; i++) {
        /* The length makes the text unambiguous, because values may contain commas and equals
         * signs. */
        const struct qmpi_tool_option *option = &entry->options[i];
        char *more = qmpi_format("%s,%zu:%s=%s", with_options ? with_options : layer->name,
                                 strlen(option->value), option->key, option->value);
        free(with_options);
        with_options = more;
    }
    qmpi_statement_set_layer(layer->tool_id, with_options ? with_options : layer->name,
                             layer->name);
}

/* Reads QMPI_RANK_TIMEOUT, and reports an invalid value. */
static double read_rank_timeout(void)
{
    const char *value = qmpi_setting("QMPI_RANK_TIMEOUT");
    double seconds = 10;
    if (!value || qmpi_config_read_seconds(value, &seconds) || !qmpi_launcher_reports())
        return seconds;
    char *shown = qmpi_message_shorten(value);
    qmpi_printf(
        "QMPI_RANK_TIMEOUT: '%s' is not a time above 0; using %g\n  hint: " QMPI_SECONDS_HINT,
        shown, seconds);
    free(shown);
    return seconds;
}

/* Reports an invalid value of QMPI_INTERNAL, which src/redirect reads before the first MPI call. */
static void check_internal(void)
{
    const char *value = qmpi_setting("QMPI_INTERNAL");
    bool shown;
    if (!value || !*value || qmpi_value_boolean(value, &shown) || !qmpi_launcher_reports())
        return;
    char *text = qmpi_message_shorten(value);
    qmpi_printf("QMPI_INTERNAL: unknown value '%s'; using no\n  hint: set it to " QMPI_VALUE_YES,
                text);
    free(text);
}

#ifdef MPI_SESSION_NULL
/* Replaces MPI_Session_init, because a program with sessions may never call MPI_Init. */
static void stop_in_session(void)
{
    qmpi_problem_stop_now();
}
#endif

/*
 * If the process cannot run, lets it end in MPI_Init, where the other processes wait for it and
 * learn the reason. Until then, its calls go to the MPI library.
 */
static void stop_in_init(void)
{
    qmpi_problem_release_signals();
    qmpi_statement_set_stop();
    qmpi_chain_start(0);
    qmpi_job_watch(qmpi_terminator_targets, true, read_rank_timeout());
#ifdef MPI_SESSION_NULL
    qmpi_terminator_targets[MPI_SESSION_INIT_T] = stop_in_session;
#endif
    qmpi_tool_end_registration();
    qmpi_chain_activate();
}

/* Returns whether the function is MPI_Init, or one that programs usually call before MPI_Init. */
static bool precedes_init(int number)
{
    static const int functions[] = {MPI_INIT_T,        MPI_INIT_THREAD_T, MPI_INITIALIZED_T,
                                    MPI_FINALIZED_T,   MPI_GET_VERSION_T, MPI_GET_LIBRARY_VERSION_T,
                                    MPI_INFO_CREATE_T, MPI_INFO_SET_T};
    for (size_t i = 0; i < sizeof functions / sizeof *functions; i++) {
        if (functions[i] == number)
            return true;
    }
    return false;
}

static void wrap_for_layers(const struct plan *plans, int count)
{
    qmpi_layer_use_switch(qmpi_switch_intercept);
    qmpi_mpit_use_switch(qmpi_switch_is_enabled, qmpi_switch_set_enabled);
    qmpi_service_use_switch(qmpi_switch_is_enabled);
    qmpi_mpit_merge(qmpi_terminator_targets, qmpi_pmpi_targets);
    qmpi_observe_creators(qmpi_terminator_targets);
    qmpi_init_checks_watch(qmpi_terminator_targets, any_pmpi_tool(plans, count));
    qmpi_clock_watch(qmpi_terminator_targets);
    qmpi_finalizers_watch(qmpi_terminator_targets);
    if (any_has_option(plans, count, QMPI_RESERVED_RANKS))
        qmpi_conditions_watch(qmpi_terminator_targets);
    if (any_has_option(plans, count, QMPI_RESERVED_ENABLED))
        qmpi_conditions_watch_pcontrol(qmpi_terminator_targets);
}

/*
 * Wraps the functions that terminators call: MPI_T_* (src/mpit), the functions that begin and end
 * MPI, those that create communicators, windows and files, and MPI_Pcontrol. All other terminators
 * call PMPI_X of the MPI library, except those of attribute functions if MPICH's Fortran binding is
 * loaded (redirect/attributes.c). The functions must be wrapped before layers are added, because
 * some layers read the pointers to them. `exchanges` is true if this process exchanges data with
 * the others of its job.
 */
static void wrap_terminator_targets(const struct plan *plans, int count, bool exchanges)
{
    if (exchanges || count)
        qmpi_job_watch(qmpi_terminator_targets, exchanges, exchanges ? read_rank_timeout() : 0);
    if (count)
        wrap_for_layers(plans, count);
    if (exchanges || count)
        qmpi_job_watch_sessions(qmpi_terminator_targets);
}

/* Prepares the validation of tools, if it is requested. */
static void open_validation(int count)
{
    char *problem = count ? qmpi_validate_open(count) : NULL;
    if (problem)
        qmpi_problem_report("QMPI_VALIDATE", problem, "validation");
}

static void build_layers(const struct plan *plans, int count)
{
    for (int tool_id = 1; tool_id <= count; tool_id++)
        prepare_layer(qmpi_layer_get(tool_id), &plans[tool_id - 1]);
    if (count) {
        qmpi_call_stack_prepare();
        qmpi_problem_catch_signals();
    }
    for (int tool_id = count; tool_id >= 1 && !qmpi_problem_is_stopping(); tool_id--)
        build_layer(qmpi_layer_get(tool_id), &plans[tool_id - 1]);
}

/*
 * Builds the stack; `data` points to the number of the first function that the program calls. The
 * steps and their files:
 *
 *   find PMPI_X of the MPI library               process/mpi_library.c
 *   redirect references to the entry points      redirect/redirect.c, redirect/fortran.c
 *   read QMPI_TOOLS and configuration files      config/stack.c, config/tool_list.c for an entry
 *   plan a layer for each entry                  plan_stack, loader/library.c
 *   build the layers, from the bottom up         build_layer:
 *     a QMPI tool: open its library, whose
 *       constructor registers the tool           registry/tool.c
 *       call its init, which registers the
 *       interceptors of the layer                registry/layer.c; an observer, observe/observe.c
 *                                                (a tool for the standard ABI, as most bundled ones
 *                                                are, reaches these through abi_calls.c, which
 *                                                generate/abi_calls.py makes)
 *     a PMPI tool                                pmpi/load.c
 *     add the interceptors to the chains         dispatch/chain.c
 *   lead the entry points to the chains          dispatch/chain.c
 */
static void build_stack(void *data)
{
    const int number = *(const int *)data;
    int count;
    qmpi_message_debug_start(qmpi_setting("QMPI_DEBUG"));
    qmpi_problem_start();
    qmpi_problem_print_config();
    qmpi_clock_configure();
    check_internal();
    qmpi_mpi_library_find();
    if (qmpi_mpi_library_implementation() == QMPI_MPI_OPEN_MPI)
        qmpi_launcher_ignore_pmi();
    redirect_references();
    qmpi_fortran_begin(start_for_fortran, qmpi_switch_passes, false);
    qmpi_stack_read(&stack);
    qmpi_problem_name_middle(stack.source);
    qmpi_problem_print_notes(&stack);
    qmpi_debug(QMPI_TOPIC_PARSE, "%s has %d entries", stack.source, stack.tools.count);
    const bool mismatch = qmpi_mpi_library_mismatch() != NULL;
    const bool exchanges = stack.tools.count > 0 && !mismatch && qmpi_launcher_has_others();
    qmpi_problem_defer(!mismatch && qmpi_launcher_has_others() && precedes_init(number));
    if (stack.tools.count && mismatch) {
        qmpi_problem_report_stack(&stack, qmpi_copy(qmpi_mpi_library_mismatch()));
        stack.tools.count = 0;
    }
    limit_height(&stack.tools.count);
    struct plan *plans = plan_stack(&stack.tools, &count);
    check_functions(plans, &count);
    limit_height(&count);
    if (!qmpi_problem_is_stopping()) {
        qmpi_layer_start(count);
        qmpi_chain_start(count);
        wrap_terminator_targets(plans, count, exchanges);
        open_validation(count);
        build_layers(plans, count);
    }
    free(plans);
    if (qmpi_problem_is_stopping()) {
        stop_in_init();
        return;
    }
    for (int tool_id = 1; tool_id <= count; tool_id++) {
        if (qmpi_layer_get(tool_id)->ready)
            describe_to_job(qmpi_layer_get(tool_id));
    }
    qmpi_problem_release_signals();
    struct qmpi_fortran_callers callers = qmpi_fortran_hold();
    const struct qmpi_layer *top = qmpi_layer_get(qmpi_switch_topmost());
    qmpi_fortran_set_callers(top ? top->group : NULL, &callers);
    qmpi_fortran_release(&callers);
    qmpi_tool_end_registration();
    qmpi_mpit_publish_stack();
    qmpi_service_notify();
    qmpi_chain_activate();
}

/* ---- Starting once --------------------------------------------------------------------------- */

static void abandon_in_child(void)
{
    abandoned = building && !starting;
}

/* Called with start_lock held. */
static void start_locked(int number)
{
    if (has_started)
        return;
    qmpi_lock_start();
    qmpi_elf_walk_start();
    qmpi_output_standard_duplicate();
    pthread_atfork(NULL, NULL, abandon_in_child);
    building = starting = true;
    qmpi_call_stack_extend();
    qmpi_call_stack_run_here(build_stack, &number);
    building = starting = false;
    __atomic_store_n(&has_started, true, __ATOMIC_RELEASE);
}

static int find_dynamic_loader(struct dl_phdr_info *info, size_t size, void *data)
{
    struct qmpi_elf_loaded *loader = data;
    (void)size;
    if (info->dlpi_addr != getauxval(AT_BASE))
        return 0;
    *loader = (struct qmpi_elf_loaded){
        .base = info->dlpi_addr, .segments = info->dlpi_phdr, .segment_count = info->dlpi_phnum};
    return 1;
}

/* Returns the return addresses on the whole call stack, which the caller frees. */
static void **unwind_call_stack(int *count)
{
    for (int room = 64;; room *= 2) {
        void **frames = qmpi_allocate((size_t)room, sizeof *frames);
        *count = qmpi_call_stack_unwind(frames, room);
        if (*count < room)
            return frames;
        free(frames);
    }
}

/*
 * Returns whether the calling thread is in a constructor of an object that it opens with dlopen, or
 * in a destructor of an object that it closes. Such a thread holds the dynamic loader's lock. It is
 * recognized by functions of the loader on its call stack that other code has called, such as
 * dlopen. Constructors that run before main() are also called by the loader, but no code has called
 * the loader, and no lock is held.
 */
static bool is_in_constructor(void)
{
    struct qmpi_elf_loaded loader = {.segment_count = 0};
    bool in_loader = false, called = false;
    int count;
    if (!getauxval(AT_BASE) || !qmpi_elf_walk(find_dynamic_loader, &loader))
        return false; /* it is a static program */
    void **frames = unwind_call_stack(&count);
    for (int i = 0; i < count && !called; i++) {
        const bool here = qmpi_elf_loaded_contains(&loader, frames[i]);
        called = in_loader && !here && frames[i];
        in_loader |= here;
    }
    free(frames);
    return called;
}

/*
 * Builds the stack, unless it is built. A thread in a constructor must not wait for a thread that
 * builds the stack, because that thread needs the loader's lock, which the constructor's thread
 * holds. Returns true when the stack is built. Returns false if another thread is still building
 * it and this thread is in a constructor.
 */
static bool start_once(int number)
{
    if (pthread_mutex_trylock(&start_lock) != 0) {
        if (is_in_constructor())
            return __atomic_load_n(&has_started, __ATOMIC_ACQUIRE);
        pthread_mutex_lock(&start_lock);
    }
    start_locked(number);
    pthread_mutex_unlock(&start_lock);
    return true;
}

/* Builds the stack for a Fortran program, unless this thread is building it. */
static void start_for_fortran(void)
{
    if (!starting && !abandoned && !__atomic_load_n(&has_started, __ATOMIC_ACQUIRE))
        start_once(MPI_INIT_T); /* a Fortran program usually calls this function first */
}

static void find_library(void *data)
{
    (void)data;
    qmpi_mpi_library_find();
}

/* The search needs more stack than a thread may have. */
static void find_library_once(void)
{
    /* Stored with release after the search. A thread that loads true with acquire sees what it has
     * found. */
    static bool is_found;
    if (__atomic_load_n(&is_found, __ATOMIC_ACQUIRE))
        return;
    qmpi_call_stack_run_here(find_library, NULL);
    __atomic_store_n(&is_found, true, __ATOMIC_RELEASE);
}

static qmpi_function *bypass_stack(int number)
{
    /* Set by the first call. No other data depends on it. */
    static bool said;
    if (!__atomic_exchange_n(&said, true, __ATOMIC_RELAXED) && qmpi_launcher_reports()) {
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
    find_library_once();
    return qmpi_pmpi_functions[number];
}

/* Returns the target of a call that a constructor or an init function makes while the stack is
 * built. The call sees the layers added so far. */
static qmpi_function *find_target_so_far(int number, const void *caller, bool pmpi)
{
    qmpi_function *pmpi_tool = qmpi_pmpi_target(number, caller, pmpi);
    if (pmpi_tool)
        return pmpi_tool;
    if (!qmpi_heads[number])
        return qmpi_pmpi_functions[number];
    return pmpi ? qmpi_pmpi_targets[number] : qmpi_chain_target(number);
}

qmpi_function *qmpi_startup_call(int number, const void *caller)
{
    if (starting)
        return find_target_so_far(number, caller, false);
    if (abandoned)
        return bypass_stack(number);
    if (!__atomic_load_n(&has_started, __ATOMIC_ACQUIRE)) {
        /* The caller may be a thread of a tool that is being loaded. It must not wait, because the
         * thread that loads the tool may be waiting for it. */
        qmpi_function *loading = qmpi_pmpi_target(number, caller, false);
        if (loading)
            return loading;
        if (!start_once(number))
            return bypass_stack(number);
    }
    /* The stack exists now. If the caller is the constructor of a tool, the tool has become a layer
     * meanwhile, and its call continues at the layer below. */
    qmpi_function *pmpi_tool = qmpi_pmpi_target(number, caller, false);
    return pmpi_tool ? pmpi_tool : __atomic_load_n(&qmpi_slots[number], __ATOMIC_ACQUIRE);
}

qmpi_function *qmpi_startup_pmpi_call(int number, const void *caller)
{
    find_library_once();
    if (starting)
        return find_target_so_far(number, caller, true);
    if (abandoned)
        return qmpi_pmpi_functions[number];
    /* This may be the program's first MPI call, if a PMPI tool in front of libqmpi has passed it
     * on. */
    if (!__atomic_load_n(&has_started, __ATOMIC_ACQUIRE)) {
        qmpi_function *loading = qmpi_pmpi_target(number, caller, true);
        if (loading)
            return loading;
        /* A language binding that was opened with dlopen has passed on a call of the program. */
        if (qmpi_redirect_is_binding(caller))
            return qmpi_startup_call(number, caller);
        const struct qmpi_preloaded_tool *front = qmpi_preloaded_in_front(qmpi_names[number].name);
        if ((front || qmpi_preloaded_contains(caller)) && !start_once(number))
            return bypass_stack(number);
        qmpi_function *pmpi_tool = qmpi_pmpi_target(number, caller, true);
        if (pmpi_tool)
            return pmpi_tool;
        if (front && front->layer)
            return qmpi_thunk_next_function(front->layer, number);
    }
    return qmpi_pmpi_targets[number] ? qmpi_pmpi_targets[number] : qmpi_pmpi_functions[number];
}

/* Redirects language bindings before the program's first call, because a binding may pass that call
 * on as PMPI_Init. */
__attribute__((constructor)) static void redirect_early(void)
{
    if (qmpi_object_self_is_idle())
        return;
    redirect_references();
    qmpi_fortran_begin(start_for_fortran, qmpi_switch_passes, true);
}
