/* SPDX-License-Identifier: MIT */
/*
 * count: how often each MPI function is called. The ranks' numbers are brought together when
 * MPI_Finalize is called, or in a program without MPI_Init when a session of all processes is
 * finalized (toolkit/sessions.h); a process that ends without either reports for itself, and says
 * that it did unless all its sessions were finalized.
 */
#define _GNU_SOURCE
#include "counters.h"
#include "generate/build.h"
#include "publish.h"
#include "report.h"
#include "signal_report.h"
#include "toolkit/toolkit.h"
#include "util/util.h"

#include <qmpi/qmpi.h>
#include <qmpi/wrappers.h>

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

static void write_summary(const struct layer *layer, const struct count_summary *summary, int rank)
{
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

/* ---- The interceptors ------------------------------------------------------------------------ */

/* Not inlined in hundreds of functions. */
__attribute__((noinline)) static void note(QMPI_Context context, enum QMPI_Functions_enum number)
{
    int tool_id;
    if (QMPIX_Context_get_tool_id(context, &tool_id) == MPI_SUCCESS)
        counters_note(tool_id, number);
}

#define WRAP(RESULT, X, NUMBER, PARAMETERS, ARGUMENTS)                                             \
    static RESULT count_##X PARAMETERS                                                             \
    {                                                                                              \
        note(context, NUMBER);                                                                     \
        return QMPIX_NEXT(context, X) ARGUMENTS;                                                   \
    }
QMPIX_FOR_EACH_FUNCTION(WRAP)

QMPIX_PCONTROL_READER static int count_Pcontrol(QMPI_Context context, const int level, ...)
{
    QMPIX_Pcontrol_words words;
    QMPIX_PCONTROL_READ(words, level);
    note(context, MPI_PCONTROL_T);
    return QMPIX_NEXT(context, Pcontrol)(QMPIX_NEXT_CONTEXT(context), level,
                                         QMPIX_PCONTROL_PASS(words));
}

static struct layer *layer_of(QMPI_Context context)
{
    int tool_id = 0;
    void *layer = NULL;
    QMPIX_Context_get_tool_id(context, &tool_id);
    QMPI_Context_get_storage(context, tool_id, &layer);
    return layer;
}

/* For functions that are kept: called also while the layer is off. */
static void note_if_on(QMPI_Context context, enum QMPI_Functions_enum number)
{
    int tool_id = 0, enabled = 0;
    QMPIX_Context_get_tool_id(context, &tool_id);
    if (QMPIX_Tool_get_enabled(tool_id, &enabled) == MPI_SUCCESS && enabled)
        counters_note(tool_id, (int)number);
}

static int finalize(QMPI_Context context)
{
    MPI_Comm comm;
    note_if_on(context, MPI_FINALIZE_T);
    if (tool_private_comm(&comm)) {
        gather(layer_of(context), comm);
        PMPI_Comm_free(&comm);
    }
    termination_unwatch();
    return QMPIX_NEXT(context, Finalize)(QMPIX_NEXT_CONTEXT(context));
}

static int init_mpi(QMPI_Context context, int *argc, char ***argv)
{
    note_if_on(context, MPI_INIT_T);
    const int result = QMPIX_NEXT(context, Init)(QMPIX_NEXT_CONTEXT(context), argc, argv);
    termination_watch();
    return result;
}

static int init_thread(QMPI_Context context, int *argc, char ***argv, int required, int *provided)
{
    note_if_on(context, MPI_INIT_THREAD_T);
    const int result = QMPIX_NEXT(context, Init_thread)(QMPIX_NEXT_CONTEXT(context), argc, argv,
                                                        required, provided);
    termination_watch();
    return result;
}

static int comm_free(QMPI_Context context, MPI_Comm *comm)
{
    note_if_on(context, MPI_COMM_FREE_T);
    if (comm)
        tool_sessions_leave(&layer_of(context)->sessions, *comm, false);
    return QMPIX_NEXT(context, Comm_free)(QMPIX_NEXT_CONTEXT(context), comm);
}

static int comm_disconnect(QMPI_Context context, MPI_Comm *comm)
{
    note_if_on(context, MPI_COMM_DISCONNECT_T);
    if (comm)
        tool_sessions_leave(&layer_of(context)->sessions, *comm, true);
    return QMPIX_NEXT(context, Comm_disconnect)(QMPIX_NEXT_CONTEXT(context), comm);
}

#ifdef MPI_SESSION_NULL
static int session_init(QMPI_Context context, MPI_Info info, MPI_Errhandler errhandler,
                        MPI_Session *session)
{
    note_if_on(context, MPI_SESSION_INIT_T);
    const int result =
        QMPIX_NEXT(context, Session_init)(QMPIX_NEXT_CONTEXT(context), info, errhandler, session);
    if (result != MPI_SUCCESS)
        return result;
    if (tool_sessions_begin(&layer_of(context)->sessions, *session))
        layer_of(context)->reported = false; /* there is more to come after an earlier session */
    termination_watch();
    return result;
}

static int comm_create_from_group(QMPI_Context context, MPI_Group group, const char *tag,
                                  MPI_Info info, MPI_Errhandler errhandler, MPI_Comm *comm)
{
    note_if_on(context, MPI_COMM_CREATE_FROM_GROUP_T);
    const int result = QMPIX_NEXT(context, Comm_create_from_group)(
        QMPIX_NEXT_CONTEXT(context), group, tag, info, errhandler, comm);
    if (result == MPI_SUCCESS)
        tool_sessions_add(&layer_of(context)->sessions, *comm);
    return result;
}

/* Where there is more to come, in another session or after MPI_Init, it is reported anew. */
static int session_finalize(QMPI_Context context, MPI_Session *session)
{
    struct layer *layer = layer_of(context);
    MPI_Comm comm;
    bool last;
    int initialized = 0;
    note_if_on(context, MPI_SESSION_FINALIZE_T);
    if (session && *session != MPI_SESSION_NULL &&
        tool_sessions_end(&layer->sessions, *session, &comm, &last)) {
        PMPI_Initialized(&initialized);
        gather(layer, comm);
        PMPI_Comm_free(&comm);
        if (!last || initialized)
            atomic_store(&layer->reported, false);
        termination_unwatch();
    }
    return QMPIX_NEXT(context, Session_finalize)(QMPIX_NEXT_CONTEXT(context), session);
}
#endif

/* ---- Joining the stack ----------------------------------------------------------------------- */

#define INTERCEPT(NUMBER, FUNCTION)                                                                \
    {                                                                                              \
        NUMBER, (void (*)(void))FUNCTION                                                           \
    }
#define LIST(RESULT, X, NUMBER, PARAMETERS, ARGUMENTS) INTERCEPT(NUMBER, count_##X),

/* A later row replaces an earlier one of the same function. */
static const struct {
    enum QMPI_Functions_enum number;
    void (*function)(void);
} interceptors[] = {
    QMPIX_FOR_EACH_FUNCTION(LIST) /* and those that do more than count: */
    INTERCEPT(MPI_PCONTROL_T, count_Pcontrol),
    INTERCEPT(MPI_INIT_T, init_mpi),
    INTERCEPT(MPI_INIT_THREAD_T, init_thread),
    INTERCEPT(MPI_FINALIZE_T, finalize),
    INTERCEPT(MPI_COMM_FREE_T, comm_free),
    INTERCEPT(MPI_COMM_DISCONNECT_T, comm_disconnect),
#ifdef MPI_SESSION_NULL
    INTERCEPT(MPI_SESSION_INIT_T, session_init),
    INTERCEPT(MPI_SESSION_FINALIZE_T, session_finalize),
    INTERCEPT(MPI_COMM_CREATE_FROM_GROUP_T, comm_create_from_group),
#endif
};

static void register_functions(int tool_id)
{
    for (size_t i = 0; i < sizeof interceptors / sizeof *interceptors; i++)
        QMPI_Register_tool_function(tool_id, interceptors[i].number, interceptors[i].function);
    QMPIX_Tool_keep_function(tool_id, MPI_INIT_T);
    QMPIX_Tool_keep_function(tool_id, MPI_INIT_THREAD_T);
    tool_sessions_retain(tool_id);
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
    register_functions(tool_id);
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
    layer->next = layers;
    layers = layer;
    QMPI_Register_tool_storage(tool_id, layer);
}

__attribute__((constructor)) static void register_tool(void)
{
    static const QMPIX_Tool_option options[] = {
        {"output", NULL, "write JSON to this file instead of a table to stderr (%r %p %t %h)"},
        {NULL, NULL, NULL},
    };
    static const QMPIX_Tool_info info = {
        .size = sizeof info,
        .description = "counts the calls of every MPI function",
        .version = QMPI_VERSION,
        .options = options,
    };
    QMPI_Register_tool_name("count", init);
    QMPIX_Register_tool_info("count", &info);
}
