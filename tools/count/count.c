/* SPDX-License-Identifier: MIT */
/*
 * The tool count counts the calls of each MPI function. The numbers of all ranks are combined in
 * MPI_Finalize, after the last calls of the program, or, in a program without MPI_Init, when a
 * session of all processes is finalized (toolkit/world.h). A process that ends without either
 * reports its numbers alone. Unless it has finalized all its sessions, the report says that it
 * ended without MPI_Finalize.
 */
#define _GNU_SOURCE
#include "generate/build.h"
#include "toolkit/toolkit.h"
#include "tools/count/report.h"
#include "tools/count_manifest.h"
#include "util/util.h"

#include <qmpi/mpit.h>
#include <qmpi/observer.h>
#include <qmpi/traits.h>

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct layer {
    int tool_id;
    const char *pattern;       /* pattern of the JSON file's name, or NULL for a table on stderr */
    struct tool_output output; /* the file for the numbers of all ranks */
    struct tool_output process_output; /* the file for the numbers of this process alone */
    struct tool_output pid_output;     /* the same if it has no rank (tool_world_has_rank) */
    struct tool_world_sessions sessions;
    int rank;              /* the launcher's number of this process, or 0 if it gives none */
    atomic_bool is_paused; /* MPI_Pcontrol(0) was called, and no MPI_Pcontrol(1) since */
    atomic_bool reported;  /* a thread has reported the numbers, or is about to */
    bool finalizes;        /* MPI_Finalize is in progress, and the numbers are not combined yet. */
    bool has_failed;       /* The numbers could not be combined in MPI_Finalize. */
    bool has_sessions; /* A session was open in MPI_Finalize, where the numbers were combined. */
    /* These are for reports. They are allocated early, because the program may have used up its
     * memory when a report is due. */
    struct count_summary *summary;
    unsigned long long *calls; /* [MPI_LAST_FUNC]: of this process, when they were combined last */
    struct layer *next;
};

static struct layer *layers;
static pid_t owner; /* the process that reports; a forked child does not */

/* ---- Counters -------------------------------------------------------------------------------- */

/*
 * Each thread counts in tables of its own, so that counters are exact with any number of threads,
 * without a lock or an atomic instruction on the path of a call. A thread that ends leaves its
 * tables to the next new thread. Therefore, there are never more tables than threads that were
 * alive at the same time. A signal may arrive at any time, and its handler may call MPI (see
 * toolkit/thread_state.h). The calls of handlers are counted in the same tables, those of the first
 * level, because tool_add loses no addition if a handler interrupts it.
 */
struct call_table {
    /* Other threads load these counters with relaxed order, because a slightly older number is
     * acceptable. */
    unsigned long long calls[MPI_LAST_FUNC];
    struct call_table *next; /* in the list of a layer's tables */
};

struct thread_tables {
    struct thread_level level;
    struct call_table *tables[256]; /* the table of this thread for each tool_id */
};

/* The list of tables for each tool_id: complete ones are added with release, and the first one is
 * loaded with acquire. */
static struct call_table *tables[256];

/* Returns the table of this thread for a layer, which it makes if there is none. If memory is
 * exhausted, prints a message once and returns NULL. */
static struct call_table *provide_table(int tool_id)
{
    static int reported;
    struct thread_tables *thread = (struct thread_tables *)thread_level_current;
    if (!thread)
        thread = (struct thread_tables *)thread_level_find(__builtin_frame_address(0));
    if (thread && thread->tables[tool_id])
        return thread->tables[tool_id];
    struct call_table *table = thread ? qmpi_memory_take(sizeof *table) : NULL;
    if (table) {
        table->next = __atomic_load_n(&tables[tool_id], __ATOMIC_RELAXED);
        while (!__atomic_compare_exchange_n(&tables[tool_id], &table->next, table, true,
                                            __ATOMIC_RELEASE, __ATOMIC_RELAXED))
            continue;
        thread->tables[tool_id] = table;
    } else if (!__atomic_exchange_n(&reported, 1, __ATOMIC_RELAXED)) {
        qmpi_printf("count: out of memory: the calls of a thread are not counted");
    }
    return table;
}

/* Counts a call of a thread that has no table for the layer yet. */
__attribute__((noinline)) static void count_first_call(int tool_id, int number)
{
    struct call_table *table = provide_table(tool_id);
    if (table)
        tool_add(&table->calls[number], 1);
}

/* Counts one call of function `number` in a layer. Only this thread changes the counter, but other
 * threads may read it at any time. */
static inline void count_call(int tool_id, int number)
{
    const struct thread_tables *thread = (const struct thread_tables *)thread_level_current;
    struct call_table *table = thread ? thread->tables[tool_id] : NULL;
    if (__builtin_expect(table != NULL, 1))
        tool_add(&table->calls[number], 1);
    else
        count_first_call(tool_id, number);
}

/* Returns the number of calls of a function in all threads. No lock is needed, because tables are
 * only ever added, and only when they are complete. */
static unsigned long long sum_calls(int tool_id, int number)
{
    unsigned long long calls = 0;
    const struct call_table *table = __atomic_load_n(&tables[tool_id], __ATOMIC_ACQUIRE);
    for (; table; table = table->next)
        calls += __atomic_load_n(&table->calls[number], __ATOMIC_RELAXED);
    return calls;
}

static void sum_all_calls(int tool_id, unsigned long long calls[MPI_LAST_FUNC])
{
    for (int number = 0; number < MPI_LAST_FUNC; number++)
        calls[number] = sum_calls(tool_id, number);
}

/* ---- Combining the ranks --------------------------------------------------------------------- */

/* Returns whether no call was counted, as in a layer that was never on. */
static bool is_empty(const struct count_summary *summary)
{
    for (int number = 0; number < MPI_LAST_FUNC; number++) {
        if (summary->calls[number])
            return false;
    }
    return true;
}

struct writing {
    struct layer *layer;
    const struct count_summary *summary;
};

/* Writes the numbers to the JSON file or, if there is none or it cannot be written, as a table. */
static void write_numbers(void *data)
{
    const struct writing *writing = data;
    struct layer *layer = writing->layer;
    const struct count_summary *summary = writing->summary;
    if (!layer->pattern) {
        count_report_table(summary, layer->tool_id);
        return;
    }
    struct tool_output *output = summary->rank < 0               ? &layer->output
                                 : summary->end == COUNT_OUTSIDE ? &layer->pid_output
                                                                 : &layer->process_output;
    const char *name = tool_output_claim(output, true);
    if (!count_report_json(summary, layer->tool_id, name)) {
        count_report_table(summary, layer->tool_id);
        return;
    }
    tool_output_report(output, "count");
    if (summary->end == COUNT_LOST)
        qmpi_printf("count (layer %d): rank %d ended without MPI_Finalize; its calls are in %s",
                    layer->tool_id, summary->rank, name);
    else if (summary->end == COUNT_OUTSIDE)
        qmpi_printf("count (layer %d): process %d, which did not initialize MPI, has ended; its "
                    "calls are in %s",
                    layer->tool_id, summary->process, name);
    else if (summary->end == COUNT_NOT_COMBINED)
        qmpi_printf(
            "count (layer %d): rank %d: MPI_Finalize could not combine its calls with those "
            "of the other ranks; they are in %s",
            layer->tool_id, summary->rank, name);
}

enum { NAME_ROOM = 64, NAMES_MOST = 8 };

/* Lists the different names among those of `count` programs, at most NAMES_MOST. The caller frees
 * the list. Returns NULL if memory is exhausted. */
static char *list_programs(const char *names, int count)
{
    const char *listed[NAMES_MOST];
    int found = 0, i;
    char *text = NULL;
    size_t length;
    FILE *stream = open_memstream(&text, &length);
    for (i = 0; stream && i < count && found < NAMES_MOST; i++) {
        const char *name = names + (size_t)i * NAME_ROOM;
        int known = 0;
        while (known < found && strcmp(listed[known], name) != 0)
            known++;
        if (known < found)
            continue;
        fprintf(stream, "%s%s", found ? ", " : "", name);
        listed[found++] = name;
    }
    if (stream && fclose(stream)) {
        free(text);
        text = NULL;
    }
    return text;
}

/* On rank 0, returns the names of the programs if the ranks run several programs or if the job may
 * contain several. The caller frees the names. Otherwise, after an error, and on other ranks,
 * returns NULL. */
static char *gather_programs(MPI_Comm comm, int rank, int ranks)
{
    char mine[NAME_ROOM] = "", *all = NULL, *text = NULL;
    unsigned long long hashes[2] = {14695981039346656037ULL, 0}, most[2];
    strncpy(mine, tool_run_program(), sizeof mine - 1);
    for (const char *c = mine; *c; c++)
        hashes[0] = (hashes[0] ^ (unsigned char)*c) * 1099511628211ULL;
    hashes[1] = ~hashes[0];
    if (PMPI_Allreduce(hashes, most, 2, MPI_UNSIGNED_LONG_LONG, MPI_MAX, comm) != MPI_SUCCESS)
        return NULL;
    if (most[0] == ~most[1])
        return rank == 0 && tool_run_has_programs() ? strdup(mine) : NULL;
    if (rank == 0)
        all = calloc((size_t)ranks, NAME_ROOM);
    if (PMPI_Gather(mine, NAME_ROOM, MPI_CHAR, all, NAME_ROOM, MPI_CHAR, 0, comm) == MPI_SUCCESS &&
        all)
        text = list_programs(all, ranks);
    free(all);
    return text;
}

static void write_summary(struct layer *layer, const struct count_summary *summary)
{
    struct writing writing = {layer, summary};
    if (!is_empty(summary) && !qmpi_call_stack_run(write_numbers, &writing))
        qmpi_printf("count (layer %d): out of memory: the numbers are not written", layer->tool_id);
}

/* Combines the numbers of all processes of `comm`, and writes them on its first rank. Returns false
 * if the numbers cannot be combined. All processes make the same calls, even if memory is exhausted
 * in one. */
static bool gather_ranks(struct layer *layer, MPI_Comm comm)
{
    struct count_summary *summary = layer->summary;
    unsigned long long *mine = layer->calls;
    int rank;
    bool good = PMPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN) == MPI_SUCCESS;
    *summary = (struct count_summary){.rank = -1};
    sum_all_calls(layer->tool_id, mine);
    good = good && PMPI_Comm_rank(comm, &rank) == MPI_SUCCESS &&
           PMPI_Comm_size(comm, &summary->ranks) == MPI_SUCCESS;
    good = good && PMPI_Reduce(mine, summary->calls, MPI_LAST_FUNC, MPI_UNSIGNED_LONG_LONG, MPI_SUM,
                               0, comm) == MPI_SUCCESS;
    good = good && PMPI_Reduce(mine, summary->min, MPI_LAST_FUNC, MPI_UNSIGNED_LONG_LONG, MPI_MIN,
                               0, comm) == MPI_SUCCESS;
    good = good && PMPI_Reduce(mine, summary->max, MPI_LAST_FUNC, MPI_UNSIGNED_LONG_LONG, MPI_MAX,
                               0, comm) == MPI_SUCCESS;
    if (good) {
        char *programs = gather_programs(comm, rank, summary->ranks);
        layer->reported = true;
        summary->programs = programs;
        if (rank == 0)
            write_summary(layer, summary);
        free(programs);
    }
    return good;
}

/* ---- A process that ends --------------------------------------------------------------------- */

/* Returns whether calls have been made since the numbers were combined, apart from those that end
 * sessions. */
static bool has_new_calls(const struct layer *layer)
{
    for (int number = 0; number < MPI_LAST_FUNC; number++) {
        if (number != MPI_SESSION_FINALIZE_T &&
            sum_calls(layer->tool_id, number) != layer->calls[number])
            return true;
    }
    return false;
}

/* Returns whether the numbers of this process, which ends, must be reported. No other thread then
 * reports them. */
static bool begin_report(struct layer *layer)
{
    return !atomic_exchange(&layer->reported, true) &&
           (!layer->has_sessions || has_new_calls(layer));
}

/* ---- A signal that ends the process ---------------------------------------------------------- */

static bool all_reported(void)
{
    bool all = true;
    for (const struct layer *layer = layers; layer; layer = layer->next)
        all = all && atomic_load(&layer->reported);
    return all;
}

static bool wants_count_signals(void)
{
    return owner == getpid() && !all_reported();
}

/* The numbers are static because the stack of a signal handler may be too small for them. Only one
 * handler runs at a time. */
static void report_layer_on_signal(struct layer *layer, const char *signal)
{
    static unsigned long long calls[MPI_LAST_FUNC];
    sum_all_calls(layer->tool_id, calls);
    count_report_signal(calls, layer->tool_id, layer->rank,
                        layer->pattern ? &layer->process_output : NULL, signal);
}

static void report_on_signal(int number, const char *name)
{
    (void)number;
    for (struct layer *layer = layers; layer; layer = layer->next) {
        if (begin_report(layer))
            report_layer_on_signal(layer, name);
    }
}

/* Watches for signals. This begins when MPI is initialized, because the program usually has set the
 * actions of signals by then. */
static void watch_signals(void)
{
    static const struct tool_end_signals user = {wants_count_signals, report_on_signal};
    tool_end_watch_signals(&user);
}

static void unwatch_signals(void)
{
    if (all_reported())
        tool_end_unwatch_signals();
}

/* ---- Exit ------------------------------------------------------------------------------------ */

/* Reports the numbers of this process, which is about to end and is part of no other report. */
static void report_alone(struct layer *layer)
{
    struct count_summary *summary = layer->summary;
    *summary = (struct count_summary){.ranks = 1};
    const int rank = qmpi_launcher_rank();
    summary->rank = rank < 0 ? 0 : rank;
    summary->process = getpid();
    summary->programs = tool_run_has_programs() ? tool_run_program() : NULL;
    if (!tool_world_has_rank(&layer->sessions))
        summary->end = COUNT_OUTSIDE;
    else if (layer->has_failed)
        summary->end = COUNT_NOT_COMBINED;
    else if (layer->has_sessions || tool_world_sessions_are_over(&layer->sessions))
        summary->end = COUNT_OVER;
    else
        summary->end = COUNT_LOST;
    sum_all_calls(layer->tool_id, summary->calls);
    memcpy(summary->min, summary->calls, sizeof summary->min);
    memcpy(summary->max, summary->calls, sizeof summary->max);
    write_summary(layer, summary);
}

/* Some launchers kill the processes when MPI_Abort is called, so that none of them exits. */
static void before_abort(struct layer *layer, const QMPIX_Call *call)
{
    (void)call;
    if (owner == getpid() && begin_report(layer))
        report_alone(layer);
    unwatch_signals();
}

static void report_at_exit(void)
{
    if (owner != getpid())
        return; /* The numbers belong to the parent of this forked child. */
    for (struct layer *layer = layers; layer; layer = layer->next) {
        if (begin_report(layer))
            report_alone(layer);
    }
    unwatch_signals();
}

/* The numbers are reported after all destructors, because a destructor of one of the program's
 * libraries may still call MPI_Finalize. */
__attribute__((destructor)) static void report_after_destructors(void)
{
    tool_end_after_destructors(report_at_exit);
}

/* ---- The calls ------------------------------------------------------------------------------- */

static struct layer *layer_of(const QMPIX_Call *call)
{
    return call->observer->data;
}

static bool has_succeeded(const QMPIX_Call *call)
{
    int result;
    return QMPIX_Call_get_result(call, &result) == MPI_SUCCESS && result == MPI_SUCCESS;
}

/* Returns whether the layer is on for a function. Some functions reach the layer even while it is
 * off. */
static bool is_on(const struct layer *layer, int number)
{
    int enabled = 0;
    return QMPIX_Tool_get_function_enabled(layer->tool_id, (enum QMPI_Functions_enum)number,
                                           &enabled) == MPI_SUCCESS &&
           enabled;
}

/* Combines the numbers in MPI_Finalize, if the layer has received this call. */
static void finish_world(struct layer *layer)
{
    MPI_Comm comm;
    MPI_Session session;
    if (!layer->finalizes)
        return;
    layer->finalizes = false;
    layer->has_failed = !tool_world_create_comm(layer->tool_id, &comm);
    if (!layer->has_failed) {
        layer->has_failed = !gather_ranks(layer, comm);
        PMPI_Comm_free(&comm);
    }
    if (!layer->has_failed && tool_world_sessions_are_open(&layer->sessions, &session)) {
        layer->has_sessions = true;
        atomic_store(&layer->reported, false); /* more calls may follow */
    }
    unwatch_signals();
}

static void finalize_layer(int tool_id, uint64_t ticks)
{
    (void)ticks;
    for (struct layer *layer = layers; layer; layer = layer->next) {
        if (layer->tool_id == tool_id)
            finish_world(layer);
    }
}

static void before_finalize(struct layer *layer, const QMPIX_Call *call)
{
    (void)call;
    layer->finalizes = true;
}

/* Usually, finalize_layer has combined the numbers. If MPI is still open, a lower layer has not
 * passed the call on, and the numbers are combined here. */
static void after_finalize(struct layer *layer, const QMPIX_Call *call)
{
    (void)call;
    if (tool_world_is_open())
        finish_world(layer);
}

static void before_comm_free(struct layer *layer, const QMPIX_Call *call)
{
    MPI_Comm comm;
    if (QMPIX_Call_get_elements(call, 0, 0, 1, &comm) == MPI_SUCCESS)
        tool_world_sessions_leave(&layer->sessions, comm,
                                  call->function->number == MPI_COMM_DISCONNECT_T);
}

/* Combines the numbers if all processes reach the end of this session (tool_world_sessions_end). If
 * other sessions are still open or are opened later, another report follows when they end. */
static void before_session_finalize(struct layer *layer, const QMPIX_Call *call)
{
    MPI_Session session;
    MPI_Comm comm;
    bool last;
    if (QMPIX_Call_get_elements(call, 0, 0, 1, &session) == MPI_SUCCESS &&
        session != MPI_SESSION_NULL &&
        tool_world_sessions_end(&layer->sessions, session, &comm, &last)) {
        gather_ranks(layer, comm);
        PMPI_Comm_free(&comm);
        if (!last)
            atomic_store(&layer->reported, false);
        unwatch_signals();
    }
}

static void after_init(struct layer *layer, const QMPIX_Call *call)
{
    (void)call;
    layer->reported = false; /* an earlier session may have been reported */
    watch_signals();
}

static void after_session_init(struct layer *layer, const QMPIX_Call *call)
{
    enum { SESSION = 2 };
    MPI_Session session;
    if (!has_succeeded(call) ||
        QMPIX_Call_get_elements(call, SESSION, 0, 1, &session) != MPI_SUCCESS)
        return;
    if (tool_world_sessions_begin(&layer->sessions, session))
        layer->reported = false; /* an earlier session may have been reported */
    watch_signals();
}

static void after_comm_create(struct layer *layer, const QMPIX_Call *call)
{
    enum { COMM = 4 };
    MPI_Comm comm;
    if (call->function->number == MPI_COMM_CREATE_FROM_GROUP_T && has_succeeded(call) &&
        QMPIX_Call_get_elements(call, COMM, 0, 1, &comm) == MPI_SUCCESS)
        tool_world_sessions_add(&layer->sessions, layer->tool_id, comm);
}

static void before_pcontrol(struct layer *layer, const QMPIX_Call *call)
{
    int level;
    if (QMPIX_Call_get_argument(call, 0, &level) == MPI_SUCCESS && (level == 0 || level == 1))
        atomic_store(&layer->is_paused, level == 0);
}

/* Functions whose calls need more than counting. */
static const struct special {
    QMPIX_Role role;
    void (*before)(struct layer *layer, const QMPIX_Call *call);
    void (*after)(struct layer *layer, const QMPIX_Call *call);
} specials[] = {
    {QMPIX_ROLE_INIT, NULL, after_init},
    {QMPIX_ROLE_FINALIZE, before_finalize, after_finalize},
    {QMPIX_ROLE_ABORT, before_abort, NULL},
    {QMPIX_ROLE_COMM_CREATE, NULL, after_comm_create},
    {QMPIX_ROLE_COMM_FREE, before_comm_free, NULL},
    {QMPIX_ROLE_SESSION_INIT, NULL, after_session_init},
    {QMPIX_ROLE_SESSION_FINALIZE, before_session_finalize, NULL},
    {QMPIX_ROLE_PCONTROL, before_pcontrol, NULL},
};

/* For each function, its index in `specials` plus 1, or 0 if it is not special. */
static unsigned char special_of[MPI_LAST_FUNC];

/* This function and the next are not inlined, so that other calls save no registers. */
__attribute__((noinline)) static void before_special(const QMPIX_Call *call)
{
    struct layer *layer = layer_of(call);
    const int number = (int)call->function->number;
    const struct special *special = &specials[special_of[number] - 1];
    const bool counts = !atomic_load(&layer->is_paused) || number == MPI_PCONTROL_T;
    if (counts && is_on(layer, number))
        count_call(layer->tool_id, number);
    if (special->before)
        special->before(layer, call);
}

__attribute__((noinline)) static void after_special(const QMPIX_Call *call)
{
    const struct special *special = &specials[special_of[call->function->number] - 1];
    if (special->after)
        special->after(layer_of(call), call);
}

/* Counts the call. A function of the MPI library that is unknown to qmpi has a higher number, and
 * is not counted. */
static void count_before_call(const QMPIX_Call *call, QMPIX_Word *word)
{
    const unsigned number = (unsigned)call->function->number;
    (void)word;
    if (number >= MPI_LAST_FUNC)
        return;
    const struct layer *layer = layer_of(call);
    if (__builtin_expect(special_of[number], 0))
        before_special(call);
    else if (!atomic_load_explicit(&layer->is_paused, memory_order_relaxed))
        count_call(layer->tool_id, (int)number);
}

static void count_after_call(const QMPIX_Call *call, QMPIX_Word *word)
{
    const unsigned number = (unsigned)call->function->number;
    (void)word;
    if (number < MPI_LAST_FUNC && special_of[number])
        after_special(call);
}

/* ---- MPI_T variables ------------------------------------------------------------------------- */

/* Each function of this MPI has a variable qmpi.count.calls.MPI_X, which a monitor can read while
 * the program runs. If a monitor resets a variable, only the value of the monitor's handle is
 * reset, not the counter. */

/* Returns the user data of a variable, which identifies its counter. */
static void *user_data_of(int tool_id, int number)
{
    return (void *)((uintptr_t)tool_id << 16 | (uintptr_t)number);
}

static int read_calls(void *user, const void *object, void *buffer, int count)
{
    const uintptr_t word = (uintptr_t)user;
    const unsigned long long calls = sum_calls((int)(word >> 16), (int)(word & 0xffff));
    (void)object;
    (void)count;
    memcpy(buffer, &calls, sizeof calls);
    return MPI_SUCCESS;
}

static bool publish_count_variables(int tool_id)
{
    char name[300], description[300];
    QMPIX_Pvar calls = {
        .size = sizeof calls,
        .name = name,
        .description = description,
        .var_class = MPI_T_PVAR_CLASS_COUNTER,
        .datatype = MPI_UNSIGNED_LONG_LONG,
        .flags = QMPIX_PVAR_CONTINUOUS | QMPIX_PVAR_ATOMIC,
        .read = read_calls,
    };
    for (int number = 0; number < MPI_LAST_FUNC; number++) {
        const enum QMPI_Functions_enum function = (enum QMPI_Functions_enum)number;
        int exists = 0;
        if (QMPIX_Function_exists(function, &exists) != MPI_SUCCESS || !exists)
            continue;
        const char *function_name = QMPIX_Function_name(function);
        snprintf(name, sizeof name, "calls.%s", function_name);
        snprintf(description, sizeof description, "Calls of %s", function_name);
        calls.user = user_data_of(tool_id, number);
        if (QMPIX_Pvar_create(tool_id, &calls, NULL) != MPI_SUCCESS)
            return false;
    }
    return true;
}

static void publish_layer(int tool_id)
{
    if (!publish_count_variables(tool_id) && qmpi_launcher_reports())
        qmpi_printf("count (layer %d): libqmpi rejects its variables\n  hint: use the count.so "
                    "that is part of this qmpi",
                    tool_id);
}

/* ---- Joining the stack ----------------------------------------------------------------------- */

/* Makes a function special if its role is among `specials`. A function that initializes MPI reaches
 * the layer even while it is off, because the layer may be switched on later. */
static void prepare_function(int tool_id, enum QMPI_Functions_enum number)
{
    const QMPIX_Function *function;
    QMPIX_Traits traits = {.size = sizeof traits};
    if (QMPIX_Function_describe(number, &function) != MPI_SUCCESS)
        return;
    QMPIX_Function_get_traits(function, &traits);
    for (size_t i = 0; i < sizeof specials / sizeof *specials; i++) {
        if (specials[i].role == traits.role)
            special_of[number] = (unsigned char)(i + 1);
    }
    if (traits.role == QMPIX_ROLE_INIT)
        QMPIX_Tool_keep_function(tool_id, number);
}

static bool register_count_observer(struct layer *layer)
{
    const QMPIX_Observer observer = {.size = sizeof observer,
                                     .before = count_before_call,
                                     .after = count_after_call,
                                     .data = layer};
    if (QMPIX_Register_tool_observer(layer->tool_id, &observer) != MPI_SUCCESS)
        return false;
    for (int number = 0; number < MPI_LAST_FUNC; number++)
        prepare_function(layer->tool_id, (enum QMPI_Functions_enum)number);
    tool_world_sessions_retain(layer->tool_id);
    return QMPIX_Register_finalizer(layer->tool_id, finalize_layer) == MPI_SUCCESS;
}

/* Makes the names of the files early, because no memory may be left when a signal ends the process.
 */
static bool name_files(struct layer *layer)
{
    struct tool_output_names names = {.pattern = layer->pattern, .tool_id = layer->tool_id};
    char *folder = getcwd(NULL, 0);
    names.folder = folder;
    bool good = !layer->pattern || tool_output_make(&layer->output, &names);
    names.rank = layer->rank;
    names.is_of_process = true;
    good = good && (!layer->pattern || tool_output_make(&layer->process_output, &names));
    names.has_no_rank = true;
    good = good && (!layer->pattern || tool_output_make(&layer->pid_output, &names));
    free(folder);
    if (!good)
        QMPIX_Tool_fail(layer->tool_id, "out of memory");
    return good;
}

static void init_count_layer(int tool_id)
{
    QMPIX_Register_publisher(tool_id, publish_layer); /* called when MPI_T is initialized */
    struct layer *layer = calloc(1, sizeof *layer);
    if (!layer || !(layer->summary = calloc(1, sizeof *layer->summary)) ||
        !(layer->calls = calloc(MPI_LAST_FUNC, sizeof *layer->calls))) {
        QMPIX_Tool_fail(tool_id, "out of memory");
        return; /* The run stops, or goes on without this layer, so nothing is freed. */
    }
    layer->tool_id = tool_id;
    tool_world_sessions_make(&layer->sessions);
    if (!tool_option_file(tool_id, "output", &layer->pattern) ||
        tool_option_file_is_taken(tool_id, "output", layer->pattern)) {
        free(layer->calls);
        free(layer->summary);
        free(layer);
        return;
    }
    tool_output_name_start();
    thread_level_start(sizeof(struct thread_tables), NULL);
    owner = getpid();
    const int rank = qmpi_launcher_rank();
    layer->rank = rank < 0 ? 0 : rank;
    if (!name_files(layer) || !register_count_observer(layer))
        return;
    layer->next = layers;
    layers = layer;
}

__attribute__((constructor)) static void register_tool(void)
{
    static const QMPIX_Tool_option options[] = TOOL_OPTIONS;
    static const QMPIX_Tool_info info = {
        .size = sizeof info,
        .description = TOOL_DESCRIPTION,
        .version = QMPI_VERSION,
        .options = options,
    };
    QMPI_Register_tool_name("count", init_count_layer);
    QMPIX_Register_tool_info("count", &info);
}
