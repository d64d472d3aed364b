/* SPDX-License-Identifier: MIT */
/*
 * The tool jobs records each job in a directory of the site. One process of the job writes the
 * record: the first one in MPI_COMM_WORLD that has the layer. The process writes the record before
 * and after MPI_Init, after MPI_Finalize and when it ends, so that a record exists however the job
 * ends. What cannot be written is left out: a job never fails because of its record.
 */
#define _GNU_SOURCE
#include "generate/build.h"
#include "toolkit/toolkit.h"
#include "tools/jobs/record.h"
#include "tools/jobs_manifest.h"
#include "util/util.h"

#include <qmpi/observer.h>
#include <qmpi/traits.h>

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct layer {
    int tool_id;
    bool reports; /* a message is printed about the first failure */
    atomic_bool has_reported;
    char *directory;      /* its full path, because the program may change its directory */
    pid_t owner;          /* the process that may write: a child that it forks may not */
    atomic_bool writes;   /* this process records the job */
    pthread_mutex_t lock; /* is held while the record changes */
    struct jobs_record record;
    struct layer *next;
};

static struct layer *layers;

/* ---- Writing --------------------------------------------------------------------------------- */

static void report_failure(struct layer *layer, int problem)
{
    if (layer->reports && !atomic_exchange(&layer->has_reported, true))
        qmpi_printf("jobs (layer %d): cannot write %s: %s\n  hint: let all users write to an "
                    "existing directory, or set on-write-error=quiet",
                    layer->tool_id, layer->record.path, strerror(problem));
}

static bool is_on(const struct layer *layer)
{
    int enabled = 0;
    return QMPIX_Tool_get_enabled(layer->tool_id, &enabled) == MPI_SUCCESS && enabled;
}

/* Begins a change of the record. Returns false if this process does not write the record, the layer
 * is off, or another change is in progress. The function does not wait for that change, which a
 * signal handler that calls this function may have interrupted. */
static bool begin_change(struct layer *layer)
{
    return atomic_load(&layer->writes) && layer->owner == getpid() && is_on(layer) &&
           pthread_mutex_trylock(&layer->lock) == 0;
}

static void end_change(struct layer *layer)
{
    const int problem = jobs_record_write(&layer->record, false);
    pthread_mutex_unlock(&layer->lock);
    if (problem)
        report_failure(layer, problem);
}

/* ---- The processes of the job ---------------------------------------------------------------- */

enum { NAME_ROOM = 65, NODES_MOST = 256 };

static int compare_node_names(const void *one, const void *other)
{
    return strcmp(one, other);
}

/* Sorts the names of nodes, and removes duplicates. Returns the number of different names. */
static int keep_different(char *names, int count)
{
    int different = 0;
    qsort(names, (size_t)count, NAME_ROOM, compare_node_names);
    for (int i = 0; i < count; i++) {
        char *name = names + (size_t)i * NAME_ROOM;
        if (different && !strcmp(name, names + (size_t)(different - 1) * NAME_ROOM))
            continue;
        memmove(names + (size_t)different++ * NAME_ROOM, name, NAME_ROOM);
    }
    return different;
}

/* In the process that records the job, returns the names of the nodes, and sets `*count` to their
 * number. The caller frees the names. Returns NULL in other processes, or if a call of MPI fails or
 * memory is exhausted. Collective over the processes that have the layer. */
static char *gather_nodes(int tool_id, int *count)
{
    MPI_Comm comm;
    char mine[NAME_ROOM] = "", *all = NULL;
    int rank = 0, size = 0;
    gethostname(mine, sizeof mine - 1);
    if (QMPIX_Tool_create_comm(tool_id, &comm) != MPI_SUCCESS)
        return NULL;
    bool good =
        PMPI_Comm_rank(comm, &rank) == MPI_SUCCESS && PMPI_Comm_size(comm, &size) == MPI_SUCCESS;
    if (good && rank == 0)
        all = calloc((size_t)size, NAME_ROOM);
    good = good &&
           PMPI_Gather(mine, NAME_ROOM, MPI_CHAR, all, NAME_ROOM, MPI_CHAR, 0, comm) == MPI_SUCCESS;
    PMPI_Comm_free(&comm);
    if (good && all) {
        *count = keep_different(all, size);
        return all;
    }
    free(all);
    return NULL;
}

struct describing {
    struct layer *layer;
    struct jobs_processes processes;
    char *names; /* names of the nodes, or NULL if they are not known */
};

static void describe(void *data)
{
    struct describing *describing = data;
    const char *nodes[NODES_MOST];
    struct jobs_processes *processes = &describing->processes;
    char *mpi = tool_world_mpi_version();
    char host[NAME_ROOM] = "";
    gethostname(host, sizeof host - 1);
    processes->nodes = nodes;
    processes->named = processes->node_count;
    if (processes->named > NODES_MOST)
        processes->named = NODES_MOST;
    for (int i = 0; i < processes->named; i++)
        nodes[i] = describing->names + (size_t)i * NAME_ROOM;
    if (!describing->names) {
        processes->named = 1;
        nodes[0] = host;
    }
    processes->mpi = mpi;
    jobs_record_describe(&describing->layer->record, processes);
    free(mpi);
}

/* Describes the job. Uses another stack if that of this thread is too small. */
static void describe_job(struct layer *layer, int ranks, char *names, int node_count)
{
    struct describing describing = {
        .layer = layer,
        .processes = {.ranks = ranks, .node_count = names ? node_count : -1},
        .names = names};
    qmpi_call_stack_run(describe, &describing);
}

/* ---- The calls ------------------------------------------------------------------------------- */

static void start_record(void *data)
{
    struct layer *layer = data;
    tool_output_name_start();
    jobs_record_make(&layer->record, layer->directory, layer->tool_id);
    layer->owner = getpid();
}

/* Makes this process the owner if it is a child that was forked before MPI was initialized. Its
 * parent may initialize MPI as well, and then has a record of its own. */
static void take_over(struct layer *layer)
{
    if (layer->owner == getpid() || layer->record.state != JOBS_NONE ||
        pthread_mutex_trylock(&layer->lock) != 0)
        return;
    if (layer->owner != getpid()) /* no other thread was faster */
        qmpi_call_stack_run(start_record, layer);
    pthread_mutex_unlock(&layer->lock);
}

/* A launcher tells which process is rank 0. Without a launcher, this is not known before MPI_Init,
 * and nothing is written yet. */
static void before_init(struct layer *layer, const QMPIX_Call *call)
{
    (void)call;
    take_over(layer);
    atomic_store(&layer->writes, qmpi_launcher_rank() == 0);
    if (!begin_change(layer))
        return;
    describe_job(layer, qmpi_launcher_size(), NULL, -1);
    layer->record.state = JOBS_STARTING;
    end_change(layer);
}

static bool has_succeeded(const QMPIX_Call *call)
{
    int result;
    return QMPIX_Call_get_result(call, &result) == MPI_SUCCESS && result == MPI_SUCCESS;
}

/* Returns whether this process records the job. If so, sets `*ranks` to the number of ranks. If a
 * launcher has started several processes, and each of them is alone in MPI_COMM_WORLD, only the
 * first one records the job. */
static bool is_first(int tool_id, int *ranks)
{
    bool first;
    tool_world_is_everywhere(tool_id, &first);
    return first && PMPI_Comm_size(MPI_COMM_WORLD, ranks) == MPI_SUCCESS &&
           (*ranks > 1 || qmpi_launcher_rank() <= 0);
}

static void watch_end(void);

static void after_init(struct layer *layer, const QMPIX_Call *call)
{
    int ranks = 0, node_count = 0;
    if (!has_succeeded(call))
        return;
    char *names = gather_nodes(layer->tool_id, &node_count);
    const bool first = is_first(layer->tool_id, &ranks);
    if (!first && atomic_load(&layer->writes) && layer->owner == getpid())
        jobs_record_remove(&layer->record);
    atomic_store(&layer->writes, first);
    if (begin_change(layer)) {
        describe_job(layer, ranks, names, node_count);
        layer->record.state = JOBS_RUNNING;
        end_change(layer);
        watch_end();
    }
    free(names);
}

/* A program that uses only sessions has no MPI_COMM_WORLD. The record contains what the launcher
 * has provided. */
static void after_session_init(struct layer *layer, const QMPIX_Call *call)
{
    if (!has_succeeded(call) || layer->record.state != JOBS_NONE || !qmpi_launcher_reports())
        return;
    take_over(layer);
    atomic_store(&layer->writes, true);
    if (!begin_change(layer))
        return;
    describe_job(layer, qmpi_launcher_size(), NULL, -1);
    layer->record.state = JOBS_RUNNING;
    end_change(layer);
    watch_end();
}

static void after_finalize(struct layer *layer, const QMPIX_Call *call)
{
    if (!has_succeeded(call) || !begin_change(layer))
        return;
    layer->record.is_finalized = true;
    if (layer->record.state < JOBS_FINALIZED)
        layer->record.state = JOBS_FINALIZED;
    end_change(layer);
}

/* MPI_Abort may be called in a signal handler, where no message may be printed. A failure to write
 * the record is therefore not reported. */
static void before_abort(struct layer *layer, const QMPIX_Call *call)
{
    int code = -1;
    if (!begin_change(layer))
        return;
    QMPIX_Call_get_argument(call, 1, &code);
    layer->record.state = JOBS_ABORTED;
    layer->record.exit = code < 0 ? -1 : code;
    jobs_record_write(&layer->record, false);
    pthread_mutex_unlock(&layer->lock);
}

static const struct special {
    enum QMPI_Functions_enum function;
    void (*before)(struct layer *layer, const QMPIX_Call *call);
    void (*after)(struct layer *layer, const QMPIX_Call *call);
} specials[] = {
    {MPI_INIT_T, before_init, after_init},
    {MPI_INIT_THREAD_T, before_init, after_init},
    {MPI_SESSION_INIT_T, NULL, after_session_init},
    {MPI_FINALIZE_T, NULL, after_finalize},
    {MPI_ABORT_T, before_abort, NULL},
};
enum { SPECIALS = sizeof specials / sizeof *specials };

static const struct special *special_of(const QMPIX_Call *call)
{
    int i = 0;
    while (i < SPECIALS && specials[i].function != (enum QMPI_Functions_enum)call->function->number)
        i++;
    return i < SPECIALS ? &specials[i] : NULL;
}

static void jobs_before_call(const QMPIX_Call *call, QMPIX_Word *word)
{
    const struct special *special = special_of(call);
    (void)word;
    if (special && special->before)
        special->before(call->observer->data, call);
}

static void jobs_after_call(const QMPIX_Call *call, QMPIX_Word *word)
{
    const struct special *special = special_of(call);
    (void)word;
    if (special && special->after)
        special->after(call->observer->data, call);
}

/* ---- The end of the process ------------------------------------------------------------------ */

static bool wants_jobs_signals(void)
{
    const struct layer *layer = layers;
    while (layer && layer->owner != getpid())
        layer = layer->next;
    return layer != NULL;
}

/* Changes and writes a copy of the record, because the signal may have interrupted a change of the
 * record itself. */
static void record_signal(int number, const char *name)
{
    static struct jobs_record last;
    (void)number;
    for (struct layer *layer = layers; layer; layer = layer->next) {
        if (!atomic_load(&layer->writes) || layer->owner != getpid() ||
            layer->record.state == JOBS_ABORTED)
            continue;
        last = layer->record;
        last.state = JOBS_SIGNALED;
        last.signal = name;
        jobs_record_write(&last, true);
    }
}

static void record_exit(int status, void *unused)
{
    (void)unused;
    for (struct layer *layer = layers; layer; layer = layer->next) {
        if (layer->record.state == JOBS_ABORTED || !begin_change(layer))
            continue;
        layer->record.state = JOBS_EXITED;
        layer->record.exit = status & 0xff;
        end_change(layer);
    }
}

/* This is called when MPI has been initialized, because the program has usually set the actions of
 * signals by then. */
static void watch_end(void)
{
    static const struct tool_end_signals user = {wants_jobs_signals, record_signal};
    static atomic_bool watches;
    tool_end_watch_signals(&user);
    if (!atomic_exchange(&watches, true))
        on_exit(record_exit, NULL);
}

/* ---- Joining the stack ----------------------------------------------------------------------- */

static bool read_jobs_options(struct layer *layer, const char **directory)
{
    static const char *const words[] = {"quiet", "report", NULL};
    int word = 0;
    if (!tool_option_file(layer->tool_id, "directory", directory) ||
        !tool_option_word(layer->tool_id, "on-write-error", words, "give quiet or report", &word))
        return false;
    layer->reports = word == 1;
    if (*directory)
        return true;
    QMPIX_Tool_fail(layer->tool_id, "no directory is given for the records\n"
                                    "hint: give directory=DIRECTORY");
    return false;
}

static bool make_record(struct layer *layer, const char *pattern)
{
    tool_output_name_start();
    char *directory = tool_output_name(pattern, layer->tool_id, 0);
    layer->directory = directory ? qmpi_output_full_path(directory) : NULL;
    free(directory);
    if (!layer->directory) {
        QMPIX_Tool_fail(layer->tool_id, "out of memory");
        return false;
    }
    start_record(layer);
    return true;
}

static bool register_jobs_observer(struct layer *layer)
{
    enum QMPI_Functions_enum functions[SPECIALS];
    for (int i = 0; i < SPECIALS; i++)
        functions[i] = specials[i].function;
    const QMPIX_Observer observer = {.size = sizeof observer,
                                     .before = jobs_before_call,
                                     .after = jobs_after_call,
                                     .data = layer,
                                     .functions = functions,
                                     .function_count = SPECIALS};
    if (QMPIX_Register_tool_observer(layer->tool_id, &observer) != MPI_SUCCESS) {
        QMPIX_Tool_fail(layer->tool_id, "libqmpi rejects the observer of this tool\nhint: use the "
                                        "jobs.so that is part of this qmpi");
        return false;
    }
    /* The layer sees these calls even while it is off, because gather_nodes is collective. */
    QMPIX_Tool_keep_function(layer->tool_id, MPI_INIT_T);
    QMPIX_Tool_keep_function(layer->tool_id, MPI_INIT_THREAD_T);
    return true;
}

static void init_jobs_layer(int tool_id)
{
    const char *directory = NULL;
    struct layer *layer = calloc(1, sizeof *layer);
    if (!layer) {
        QMPIX_Tool_fail(tool_id, "out of memory");
        return;
    }
    layer->tool_id = tool_id;
    pthread_mutex_init(&layer->lock, NULL);
    if (!read_jobs_options(layer, &directory) || !make_record(layer, directory) ||
        !register_jobs_observer(layer)) {
        free(layer->directory);
        free(layer);
        return;
    }
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
    QMPI_Register_tool_name("jobs", init_jobs_layer);
    QMPIX_Register_tool_info("jobs", &info);
}
