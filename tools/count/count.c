/* SPDX-License-Identifier: MIT */
/*
 * count: how often each MPI function is called. The ranks' numbers are brought together when
 * MPI_Finalize is called, or the last open session is finalized in a program without MPI_Init; a
 * process that ends without either reports for itself.
 */
#define _GNU_SOURCE
#include "count_publish.h"
#include "count_report.h"
#include "counters.h"
#include "file_name.h"
#include "message.h"
#include "own_comm.h"

#include <qmpi/qmpi.h>
#include <qmpi/wrappers.h>

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct layer {
    int tool_id;
    const char *output; /* pattern of the JSON file; NULL: a table on stderr */
    int sessions;       /* open ones */
    bool reported;
    struct layer *next;
};

static struct layer *layers;
static pid_t owner;

/* ---- Bringing the ranks together ----------------------------------------------------------------
 */

static void write_summary(const struct layer *layer, const struct count_summary *summary, int rank)
{
    if (!layer->output) {
        count_report_table(summary, layer->tool_id);
        return;
    }
    char *name = tool_file_name(layer->output, layer->tool_id, rank);
    if (summary->rank >= 0 && !tool_file_name_is_per_process(layer->output)) {
        char *own;
        if (asprintf(&own, "%s.%d", name ? name : "", rank) >= 0) {
            free(name);
            name = own;
        }
    }
    if (!name || !count_report_json(summary, layer->tool_id, name))
        count_report_table(summary, layer->tool_id);
    else if (summary->rank >= 0)
        qmpi_sayf("count (layer %d): rank %d ended without MPI_Finalize; its calls are in %s",
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

static void gather_world(struct layer *layer)
{
    MPI_Comm comm;
    if (!tool_own_comm(&comm))
        return;
    gather(layer, comm);
    PMPI_Comm_free(&comm);
}

/* One process, at its end, of which nothing has been reported. */
static void report_alone(struct layer *layer)
{
    struct count_summary *summary = calloc(1, sizeof *summary);
    if (!summary)
        return;
    summary->ranks = 1;
    const int rank = qmpi_launcher_rank();
    summary->rank = rank < 0 ? 0 : rank;
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
        if (!layer->reported)
            report_alone(layer);
    }
}

/* ---- The interceptors ---------------------------------------------------------------------------
 */

static void note(QMPI_Context context, enum QMPI_Functions_enum number)
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

static int finalize(QMPI_Context context)
{
    note(context, MPI_FINALIZE_T);
    gather_world(layer_of(context));
    return QMPIX_NEXT(context, Finalize)(QMPIX_NEXT_CONTEXT(context));
}

#if MPI_VERSION >= 4
static void gather_session(struct layer *layer, MPI_Session session)
{
    MPI_Comm comm;
    if (!tool_own_comm_of_session(session, "count", layer->tool_id, &comm))
        return;
    gather(layer, comm);
    PMPI_Comm_free(&comm);
}

static int session_init(QMPI_Context context, MPI_Info info, MPI_Errhandler errhandler,
                        MPI_Session *session)
{
    note(context, MPI_SESSION_INIT_T);
    const int result =
        QMPIX_NEXT(context, Session_init)(QMPIX_NEXT_CONTEXT(context), info, errhandler, session);
    if (result == MPI_SUCCESS)
        __atomic_add_fetch(&layer_of(context)->sessions, 1, __ATOMIC_RELAXED);
    return result;
}

/* With the last session the last chance to talk to the other ranks goes, unless MPI_Init was
 * called. */
static int session_finalize(QMPI_Context context, MPI_Session *session)
{
    struct layer *layer = layer_of(context);
    int initialized = 0;
    note(context, MPI_SESSION_FINALIZE_T);
    PMPI_Initialized(&initialized);
    if (__atomic_sub_fetch(&layer->sessions, 1, __ATOMIC_RELAXED) == 0 && !initialized && session &&
        *session != MPI_SESSION_NULL)
        gather_session(layer, *session);
    return QMPIX_NEXT(context, Session_finalize)(QMPIX_NEXT_CONTEXT(context), session);
}

static void register_sessions(int tool_id)
{
    QMPI_Register_tool_function(tool_id, MPI_SESSION_INIT_T, (void (*)(void))session_init);
    QMPI_Register_tool_function(tool_id, MPI_SESSION_FINALIZE_T, (void (*)(void))session_finalize);
}
#else
static void register_sessions(int tool_id)
{
    (void)tool_id; /* there are none */
}
#endif

/* ---- Joining the stack --------------------------------------------------------------------------
 */

/* Two layers that write one file would lose one's numbers. */
static bool output_is_taken(const struct layer *layer)
{
    bool taken = false;
    char *mine = tool_file_name(layer->output, layer->tool_id, 0);
    for (const struct layer *other = layers; other && mine; other = other->next) {
        char *its = other->output ? tool_file_name(other->output, other->tool_id, 0) : NULL;
        taken |= its && !strcmp(mine, its);
        free(its);
    }
    free(mine);
    return taken;
}

static const char *check_output(const struct layer *layer)
{
    char *name = layer->output ? tool_file_name(layer->output, layer->tool_id, 0) : NULL;
    const bool bad = layer->output && !name;
    free(name);
    if (bad)
        return "output= holds a % that is none of %r %p %t %h %%\nmend: write %% for a percent "
               "sign";
    if (layer->output && output_is_taken(layer))
        return "another layer of count writes the same file\nmend: put %t (the layer's number) "
               "into "
               "output=";
    return NULL;
}

static void init(int tool_id)
{
#define REGISTER(RESULT, X, NUMBER, PARAMETERS, ARGUMENTS)                                         \
    QMPI_Register_tool_function(tool_id, NUMBER, (void (*)(void))count_##X);
    QMPIX_FOR_EACH_FUNCTION(REGISTER)
    QMPI_Register_tool_function(tool_id, MPI_PCONTROL_T, (void (*)(void))count_Pcontrol);
    count_publish_on_demand(tool_id);
    QMPI_Register_tool_function(tool_id, MPI_FINALIZE_T, (void (*)(void))finalize);
    register_sessions(tool_id);

    struct layer *layer = calloc(1, sizeof *layer);
    if (!layer) {
        QMPIX_Tool_fail(tool_id, "out of memory");
        return;
    }
    layer->tool_id = tool_id;
    QMPIX_Tool_get_option(tool_id, "output", &layer->output);
    const char *problem = check_output(layer);
    if (problem) {
        QMPIX_Tool_fail(tool_id, problem);
        free(layer);
        return;
    }
    owner = getpid();
    layer->next = layers;
    layers = layer;
    QMPI_Register_tool_storage(tool_id, layer);
}

__attribute__((constructor)) static void announce(void)
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
