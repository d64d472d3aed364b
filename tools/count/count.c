/* SPDX-License-Identifier: MIT */
/*
 * count: how often each MPI function is called. The ranks' numbers are brought together when
 * MPI_Finalize is called, or in a program without MPI_Init when a session of all processes is
 * finalized (toolkit/sessions.h); a process that ends without either reports for itself, and says
 * that it did unless all its sessions were finalized.
 */
#define _GNU_SOURCE
#include "count_manifest.h"
#include "counters.h"
#include "generate/build.h"
#include "publish.h"
#include "report.h"
#include "signal_report.h"
#include "toolkit/toolkit.h"
#include "util/util.h"

#include <qmpi/observer.h>

#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct layer {
    int tool_id;
    const char *output; /* pattern of the JSON file; NULL: a table on stderr */
    struct tool_sessions sessions;
    int rank;           /* the launcher's */
    char *process_file; /* of this process alone; NULL: it has none */
    atomic_bool reported;
    struct layer *next;
};

static struct layer *layers;
static pid_t owner;

/* ---- Bringing the ranks together ------------------------------------------------------------- */

/* A layer that has been on has counted something. */
static bool is_empty(const struct count_summary *summary)
{
    for (int number = 0; number < MPI_LAST_FUNC; number++) {
        if (summary->calls[number])
            return false;
    }
    return true;
}

static void write_summary(const struct layer *layer, const struct count_summary *summary, int rank)
{
    if (is_empty(summary))
        return;
    if (!layer->output) {
        count_report_table(summary, layer->tool_id);
        return;
    }
    char *name = tool_file_name(layer->output, layer->tool_id, rank);
    if (summary->rank >= 0 && !tool_file_name_is_per_process(layer->output) &&
        !(name && tool_file_name_is_special(name))) {
        char *process_name;
        if (asprintf(&process_name, "%s.%d", name ? name : "", rank) >= 0) {
            free(name);
            name = process_name;
        }
    }
    if (!name || !count_report_json(summary, layer->tool_id, name))
        count_report_table(summary, layer->tool_id);
    else if (summary->lost)
        qmpi_printf("count (layer %d): rank %d ended without MPI_Finalize; its calls are in %s",
                    layer->tool_id, rank, name);
    free(name);
}

/* Sums over `comm` and writes on its first rank. False: MPI would not. */
static bool gather(struct layer *layer, MPI_Comm comm)
{
    unsigned long long mine[MPI_LAST_FUNC];
    struct count_summary *summary = calloc(1, sizeof *summary);
    int rank;
    bool good = summary != NULL && PMPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN) == MPI_SUCCESS;
    counters_sum(layer->tool_id, mine);
    good = good && PMPI_Comm_rank(comm, &rank) == MPI_SUCCESS &&
           PMPI_Comm_size(comm, &summary->ranks) == MPI_SUCCESS;
    good = good && PMPI_Reduce(mine, summary->calls, MPI_LAST_FUNC, MPI_UNSIGNED_LONG_LONG, MPI_SUM,
                               0, comm) == MPI_SUCCESS;
    good = good && PMPI_Reduce(mine, summary->min, MPI_LAST_FUNC, MPI_UNSIGNED_LONG_LONG, MPI_MIN,
                               0, comm) == MPI_SUCCESS;
    good = good && PMPI_Reduce(mine, summary->max, MPI_LAST_FUNC, MPI_UNSIGNED_LONG_LONG, MPI_MAX,
                               0, comm) == MPI_SUCCESS;
    if (good) {
        layer->reported = true;
        summary->rank = -1;
        if (rank == 0)
            write_summary(layer, summary, rank);
    }
    free(summary);
    return good;
}

/* ---- A signal that ends the process ---------------------------------------------------------- */

static bool all_reported(void)
{
    bool all = true;
    for (const struct layer *layer = layers; layer; layer = layer->next)
        all = all && atomic_load(&layer->reported);
    return all;
}

static bool wants(void)
{
    return owner == getpid() && !all_reported();
}

static void on_fatal_signal(int number, const char *name)
{
    (void)number;
    for (struct layer *layer = layers; layer; layer = layer->next) {
        if (!atomic_exchange(&layer->reported, true))
            count_signal_report(layer->tool_id, layer->rank, layer->process_file, name);
    }
}

/* Where MPI begins: what is a signal's action then is the program's own wish. */
static void termination_watch(void)
{
    static const struct tool_signals user = {wants, on_fatal_signal};
    tool_signals_watch(&user);
}

static void termination_unwatch(void)
{
    if (all_reported())
        tool_signals_unwatch();
}

/* ---- Exit ------------------------------------------------------------------------------------ */

/* One process, at its end, of which nothing has been reported. */
static void report_alone(struct layer *layer)
{
    struct count_summary *summary = calloc(1, sizeof *summary);
    if (!summary)
        return;
    summary->ranks = 1;
    const int rank = qmpi_launcher_rank();
    summary->rank = rank < 0 ? 0 : rank;
    summary->lost = !tool_sessions_are_over(&layer->sessions);
    counters_sum(layer->tool_id, summary->calls);
    memcpy(summary->min, summary->calls, sizeof summary->min);
    memcpy(summary->max, summary->calls, sizeof summary->max);
    write_summary(layer, summary, summary->rank);
    free(summary);
}

__attribute__((destructor)) static void leave(void)
{
    if (owner != getpid())
        return; /* a forked child: the numbers are its parent's */
    for (struct layer *layer = layers; layer; layer = layer->next) {
        if (!atomic_exchange(&layer->reported, true))
            report_alone(layer);
    }
    termination_unwatch();
}

/* ---- The calls ------------------------------------------------------------------------------- */

static struct layer *layer_of(const QMPIX_Call *call)
{
    return call->observer->data;
}

static bool succeeded(const QMPIX_Call *call)
{
    int result;
    return QMPIX_Call_get_result(call, &result) == MPI_SUCCESS && result == MPI_SUCCESS;
}

/* Whether the layer is on for a function: some are passed to it also where it is off. */
static bool is_on(const struct layer *layer, int number)
{
    int enabled = 0;
    return QMPIX_Tool_get_function_enabled(layer->tool_id, (enum QMPI_Functions_enum)number,
                                           &enabled) == MPI_SUCCESS &&
           enabled;
}

static void before_finalize(struct layer *layer, const QMPIX_Call *call)
{
    MPI_Comm comm;
    (void)call;
    if (tool_private_comm(&comm)) {
        gather(layer, comm);
        PMPI_Comm_free(&comm);
    }
    termination_unwatch();
}

static void leave_comm(struct layer *layer, const QMPIX_Call *call)
{
    MPI_Comm comm;
    if (QMPIX_Call_get_elements(call, 0, 0, 1, &comm) == MPI_SUCCESS)
        tool_sessions_leave(&layer->sessions, comm,
                            call->function->number == MPI_COMM_DISCONNECT_T);
}

/* Where there is more to come, in another session or after MPI_Init, it is reported anew. */
static void before_session_finalize(struct layer *layer, const QMPIX_Call *call)
{
    MPI_Session session;
    MPI_Comm comm;
    bool last;
    int initialized = 0;
    if (QMPIX_Call_get_elements(call, 0, 0, 1, &session) == MPI_SUCCESS &&
        session != MPI_SESSION_NULL && tool_sessions_end(&layer->sessions, session, &comm, &last)) {
        PMPI_Initialized(&initialized);
        gather(layer, comm);
        PMPI_Comm_free(&comm);
        if (!last || initialized)
            atomic_store(&layer->reported, false);
        termination_unwatch();
    }
}

static void after_init(struct layer *layer, const QMPIX_Call *call)
{
    (void)layer;
    (void)call;
    termination_watch();
}

static void after_session_init(struct layer *layer, const QMPIX_Call *call)
{
    enum { SESSION = 2 };
    MPI_Session session;
    if (!succeeded(call) || QMPIX_Call_get_elements(call, SESSION, 0, 1, &session) != MPI_SUCCESS)
        return;
    if (tool_sessions_begin(&layer->sessions, session))
        layer->reported = false; /* there is more to come after an earlier session */
    termination_watch();
}

static void after_create_from_group(struct layer *layer, const QMPIX_Call *call)
{
    enum { COMM = 4 };
    MPI_Comm comm;
    if (succeeded(call) && QMPIX_Call_get_elements(call, COMM, 0, 1, &comm) == MPI_SUCCESS)
        tool_sessions_add(&layer->sessions, comm);
}

/* The functions that do more than count. */
static const struct special {
    enum QMPI_Functions_enum number;
    void (*before)(struct layer *layer, const QMPIX_Call *call);
    void (*after)(struct layer *layer, const QMPIX_Call *call);
} specials[] = {
    {MPI_INIT_T, NULL, after_init},
    {MPI_INIT_THREAD_T, NULL, after_init},
    {MPI_FINALIZE_T, before_finalize, NULL},
    {MPI_COMM_FREE_T, leave_comm, NULL},
    {MPI_COMM_DISCONNECT_T, leave_comm, NULL},
    {MPI_SESSION_INIT_T, NULL, after_session_init},
    {MPI_SESSION_FINALIZE_T, before_session_finalize, NULL},
    {MPI_COMM_CREATE_FROM_GROUP_T, NULL, after_create_from_group},
};

/* [number]: which of them; 0: none. */
static unsigned char special_of[MPI_LAST_FUNC];

/* Functions of their own, so that the others save no registers. */
__attribute__((noinline)) static void before_special(const QMPIX_Call *call)
{
    struct layer *layer = layer_of(call);
    const int number = (int)call->function->number;
    const struct special *special = &specials[special_of[number] - 1];
    if (is_on(layer, number))
        counters_note(layer->tool_id, number);
    if (special->before)
        special->before(layer, call);
}

__attribute__((noinline)) static void after_special(const QMPIX_Call *call)
{
    const struct special *special = &specials[special_of[call->function->number] - 1];
    if (special->after)
        special->after(layer_of(call), call);
}

/* A function of the MPI library that is not in the list has a number that is not counted. */
static void before(const QMPIX_Call *call, QMPIX_Word *word)
{
    const unsigned number = (unsigned)call->function->number;
    (void)word;
    if (number >= MPI_LAST_FUNC)
        return;
    if (__builtin_expect(special_of[number], 0))
        before_special(call);
    else
        counters_note(layer_of(call)->tool_id, (int)number);
}

static void after(const QMPIX_Call *call, QMPIX_Word *word)
{
    const unsigned number = (unsigned)call->function->number;
    (void)word;
    if (number < MPI_LAST_FUNC && special_of[number])
        after_special(call);
}

/* ---- Joining the stack ----------------------------------------------------------------------- */

static bool observe(struct layer *layer)
{
    const QMPIX_Observer observer = {
        .size = sizeof observer, .before = before, .after = after, .data = layer};
    for (size_t i = 0; i < sizeof specials / sizeof *specials; i++)
        special_of[specials[i].number] = (unsigned char)(i + 1);
    if (QMPIX_Register_tool_observer(layer->tool_id, &observer) != MPI_SUCCESS)
        return false;
    QMPIX_Tool_keep_function(layer->tool_id, MPI_INIT_T);
    QMPIX_Tool_keep_function(layer->tool_id, MPI_INIT_THREAD_T);
    tool_sessions_retain(layer->tool_id);
    return true;
}

/* Its name, while there is memory for it; the process may have none when a signal ends it. */
static char *process_file(const struct layer *layer)
{
    char *process_name = NULL;
    char *name = layer->output ? tool_file_name(layer->output, layer->tool_id, layer->rank) : NULL;
    if (!name || tool_file_name_is_per_process(layer->output) || tool_file_name_is_special(name))
        return name;
    if (asprintf(&process_name, "%s.%d", name, layer->rank) < 0)
        process_name = NULL;
    free(name);
    return process_name;
}

static void init(int tool_id)
{
    count_publish_lazily(tool_id);

    struct layer *layer = calloc(1, sizeof *layer);
    if (!layer) {
        QMPIX_Tool_fail(tool_id, "out of memory");
        return;
    }
    layer->tool_id = tool_id;
    tool_sessions_make(&layer->sessions);
    if (!tool_option_file(tool_id, "output", &layer->output) ||
        tool_option_file_is_taken(tool_id, "output", layer->output)) {
        free(layer);
        return;
    }
    tool_file_name_start();
    counters_start();
    owner = getpid();
    const int rank = qmpi_launcher_rank();
    layer->rank = rank < 0 ? 0 : rank;
    layer->process_file = process_file(layer);
    if (!observe(layer))
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
    QMPI_Register_tool_name("count", init);
    QMPIX_Register_tool_info("count", &info);
}
