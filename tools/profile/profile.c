/* SPDX-License-Identifier: MIT */
/*
 * The tool profile shows how a program spends its time in MPI, by function, call site, peer,
 * communicator, file and region, over all ranks. This file reads the options, publishes variables,
 * and makes the layers, each of which has one observer of all functions.
 *
 * A call passes these files: record/record.c receives it, and counts it (record/call.h, and
 * record/call.c for less frequent kinds) in the tables of its thread (record/threads.h). In
 * MPI_Finalize, collect/gather.c merges the results of all ranks (result/merge.c), each of which
 * collect/rank_result.c and collect/rank_calls.c make from these tables. collect/save.c writes the
 * merged result through the functions of result/profile.h; those for text are in result/text.c and
 * result/text_tables.c. If it is written as JSON (result/json_write.c, with the tables of members
 * in result/profile_result.c), `qmpi report` (cli/report.c) reads the file again
 * (result/json_read.c), and prints it through the same functions.
 */
#define _GNU_SOURCE
#include "generate/build.h"
#include "toolkit/toolkit.h"
#include "tools/profile/layer.h"
#include "tools/profile/record/closed.h"
#include "tools/profile/record/objects.h"
#include "tools/profile/record/python.h"
#include "tools/profile/record/receives.h"
#include "tools/profile/record/record.h"
#include "tools/profile/record/regions.h"
#include "tools/profile/record/threads.h"
#include "tools/profile/record/traits.h"
#include "tools/profile/record/waits.h"
#include "tools/profile_manifest.h"
#include "util/util.h"

#include <qmpi/mpit.h>
#include <qmpi/observer.h>

#include <dlfcn.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

/* ---- Options --------------------------------------------------------------------------------- */

static const QMPIX_Tool_option known_options[] = TOOL_OPTIONS;

#define SECOND UINT64_C(1000000000)

/* Opens the library that writes a page in HTML. On failure, returns NULL, and sets *problem to the
 * reason with a hint, which the caller frees, or to NULL if memory is exhausted. */
static profile_html_writer *open_page_writer(char **problem)
{
    char *path = tool_companion_file(PROFILE_HTML_FILE);
    void *library = path ? dlopen(path, RTLD_NOW | RTLD_LOCAL) : NULL;
    void *find = library ? dlsym(library, PROFILE_HTML_FUNCTION) : NULL;
    free(path);
    *problem = NULL;
    if (!find) {
        const char *reason = dlerror();
        *problem = qmpi_format("the library that writes HTML cannot be opened: %s\n"
                               "hint: write JSON, which qmpi report --html reads",
                               reason ? reason : "out of memory");
        return NULL;
    }
    profile_html_writer *writer = ((profile_html_find *)(uintptr_t)find)();
    if (!writer)
        *problem = qmpi_format("%s", "HTML requires zlib, without which qmpi was built\n"
                                     "hint: write JSON, which qmpi report --html of another build "
                                     "reads");
    return writer;
}

static bool find_page_writer(int tool_id, struct layer_options *options)
{
    char *problem;
    options->write_page = open_page_writer(&problem);
    if (!options->write_page)
        QMPIX_Tool_fail(tool_id, problem ? problem : "out of memory");
    free(problem);
    return options->write_page;
}

static bool read_output(int tool_id, struct layer_options *options)
{
    const char *given;
    int format = 0;
    if (!tool_option_file(tool_id, "output", &options->output) ||
        !tool_option_word(tool_id, "format", profile_output_format_names,
                          "give text, json, csv or html", &format))
        return false;
    const bool is_given = QMPIX_Tool_get_option(tool_id, "format", &given) == MPI_SUCCESS;
    options->format =
        is_given ? (enum profile_output_format)format : profile_output_format_of(options->output);
    if (options->format == PROFILE_HTML && !find_page_writer(tool_id, options))
        return false;
    if (options->output || options->format == PROFILE_TEXT)
        return true;
    QMPIX_Tool_fail(tool_id, "format= requires a file; only the table can go to stderr\n"
                             "hint: name a file with output=FILE");
    return false;
}

/* Returns false if an option is invalid; the layer has then failed with a message. */
static bool read_profile_options(int tool_id, struct layer_options *options)
{
    static const char *const ranks[] = {"outliers", "all", NULL};
    int all = 0;
    bool path = false;
    *options = (struct layer_options){.top = 20,
                                      .depth = 1,
                                      .python = true,
                                      .thresholds = {PROFILE_THRESHOLD, PROFILE_INIT_THRESHOLD}};
    if (!tool_option_word(tool_id, "ranks", ranks, "give outliers or all", &all) ||
        !tool_option_boolean(tool_id, "sync", &options->sync) ||
        !tool_option_boolean(tool_id, "python", &options->python) ||
        !tool_option_boolean(tool_id, "path", &path) ||
        !tool_option_whole(tool_id, "top", 0, 1000000, &options->top) ||
        !tool_option_whole(tool_id, "depth", 1, PROFILE_DEPTH_MAX, &options->depth) ||
        !tool_option_percent(tool_id, "threshold", &options->thresholds.any) ||
        !tool_option_percent(tool_id, "init-threshold", &options->thresholds.init) ||
        !tool_option_time(tool_id, "checkpoint", "of at least 1s", SECOND, 1000000 * SECOND,
                          &options->checkpoint) ||
        !tool_option_signal(tool_id, "save-signal", &options->save_signal))
        return false;
    if (path) {
        QMPIX_Tool_fail(tool_id, "path=yes is no longer supported: the critical path is found in a "
                                 "trace\nhint: run the program with '-t trace', and then "
                                 "'qmpi report --path qmpi-trace'");
        return false;
    }
    options->every_rank = all == 1;
    options->python = options->python && python_begin(tool_id);
    if (options->python)
        options->depth =
            options->depth < PROFILE_DEPTH_MAX ? options->depth + 1 : PROFILE_DEPTH_MAX;
    return read_output(tool_id, options);
}

/* ---- Performance variables -------------------------------------------------------------------
 * The figures of each function are MPI_T performance variables, which a monitor can read while the
 * program runs. They are sums over the figures of threads, which are read without a lock. If a
 * monitor resets a variable, this affects only the value of its handle.
 */

/* Returns a word that identifies the function and the layer of a variable. */
static void *make_user_word(int tool_id, int number)
{
    return (void *)((uintptr_t)tool_id << 16 | (uintptr_t)number);
}

/* Adds a thread's figures of a function. If the thread never called the function, as is usual, its
 * sites are not searched. */
static void add_thread_figures(struct thread_stats *sum, const struct thread_profile *thread,
                               int number)
{
    struct table_place place = {0}, place_of_site = {0};
    const struct thread_function_row *row;
    while ((row = table_next(&thread->functions, &place)) &&
           thread_key_function(row->key) != number)
        ;
    const size_t depth = row ? thread->sites.key_words - 1 : 0;
    for (uint64_t *its; row && (its = table_next(&thread->sites, &place_of_site));) {
        if (thread_key_function(*its) == number)
            thread_stats_add(sum, &thread_site_of(its, depth)->stats);
    }
}

/* Returns the sum over all threads and regions. */
static struct thread_stats sum_threads(const void *user)
{
    const uintptr_t word = (uintptr_t)user;
    struct thread_stats sum = {0};
    for (const struct thread_profile *thread = threads_first((int)(word >> 16)); thread;
         thread = thread->next)
        add_thread_figures(&sum, thread, (int)(word & 0xffff));
    return sum;
}

#define READ_WORDS(member)                                                                         \
    static int read_##member(void *user, const void *object, void *buffer, int count)              \
    {                                                                                              \
        const unsigned long long value = sum_threads(user).member;                                 \
        (void)object;                                                                              \
        (void)count;                                                                               \
        memcpy(buffer, &value, sizeof value);                                                      \
        return MPI_SUCCESS;                                                                        \
    }
READ_WORDS(calls)
READ_WORDS(sent)
READ_WORDS(received)

/* Returns the length of a tick, as it was known when a timer was first read. This value never
 * changes, so that no timer goes back. A signal handler may call this function, which therefore
 * waits for nothing. */
static double tick_of_readers(void)
{
    static _Atomic double tick;
    double known = atomic_load(&tick);
    if (known == 0) {
        const double mine = ticks_length();
        if (atomic_compare_exchange_strong(&tick, &known, mine))
            known = mine;
    }
    return known;
}

QMPI_COMPUTES static double seconds_of(const void *user)
{
    return (double)sum_threads(user).time * tick_of_readers();
}

static int read_time(void *user, const void *object, void *buffer, int count)
{
    struct qmpi_arithmetic before;
    (void)object;
    (void)count;
    qmpi_arithmetic_begin(&before);
    const double seconds = seconds_of(user);
    qmpi_arithmetic_end(&before);
    memcpy(buffer, &seconds, sizeof seconds);
    return MPI_SUCCESS;
}

static const struct kind {
    /* The name of the function is appended to `name` and `description`. */
    const char *category, *name, *description;
    int var_class;
    MPI_Datatype datatype;
    QMPIX_Var_read *read;
    bool moves; /* The kind exists only for functions that move bytes. */
} kinds[] = {
    {"calls", "calls.", "Calls of ", MPI_T_PVAR_CLASS_COUNTER, MPI_UNSIGNED_LONG_LONG, read_calls,
     false},
    {"bytes", "bytes.sent.", "Bytes sent or written by ", MPI_T_PVAR_CLASS_AGGREGATE,
     MPI_UNSIGNED_LONG_LONG, read_sent, true},
    {"bytes", "bytes.received.", "Bytes received or read by ", MPI_T_PVAR_CLASS_AGGREGATE,
     MPI_UNSIGNED_LONG_LONG, read_received, true},
    {"time", "time.", "Seconds in ", MPI_T_PVAR_CLASS_TIMER, MPI_DOUBLE, read_time, false},
};
enum { KINDS = sizeof kinds / sizeof *kinds };

static bool publish_categories(int tool_id)
{
    static const struct {
        const char *name, *description;
    } all[] = {
        {"calls", "Calls by function"},
        {"bytes", "Bytes moved by calls, by function"},
        {"time", "Time in calls, by function"},
    };
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        const QMPIX_Category category = {
            .size = sizeof category, .name = all[i].name, .description = all[i].description};
        if (QMPIX_Category_create(tool_id, &category, NULL) != MPI_SUCCESS)
            return false;
    }
    return true;
}

static bool publish_kind(int tool_id, const struct kind *kind, int number)
{
    char name[300], description[300];
    const char *function = QMPIX_Function_name((enum QMPI_Functions_enum)number);
    const QMPIX_Pvar pvar = {
        .size = sizeof pvar,
        .name = name,
        .description = description,
        .var_class = kind->var_class,
        .datatype = kind->datatype,
        .flags = QMPIX_PVAR_CONTINUOUS | QMPIX_PVAR_ATOMIC,
        .category = kind->category,
        .read = kind->read,
        .user = make_user_word(tool_id, number),
    };
    snprintf(name, sizeof name, "%s%s", kind->name, function);
    snprintf(description, sizeof description, "%s%s", kind->description, function);
    return QMPIX_Pvar_create(tool_id, &pvar, NULL) == MPI_SUCCESS;
}

static bool publish_profile_variables(int tool_id)
{
    if (!publish_categories(tool_id))
        return false;
    for (int number = 0; number < MPI_LAST_FUNC; number++) {
        const struct traits *traits = &traits_all[number];
        int exists = 0;
        QMPIX_Function_exists((enum QMPI_Functions_enum)number, &exists);
        for (int i = 0; exists && i < KINDS; i++) {
            if (kinds[i].moves && !traits->has_transfers && !traits->has_bytes)
                continue;
            if (!publish_kind(tool_id, &kinds[i], number))
                return false;
        }
    }
    return true;
}

/* libqmpi calls this when MPI_T is first initialized, so that programs that do not use MPI_T pay
 * nothing for more than a thousand variables. */
static void publish_or_say(int tool_id)
{
    if (!publish_profile_variables(tool_id))
        qmpi_printf("profile (layer %d): libqmpi rejects its variables\n  hint: use the profile.so "
                    "that is part of this qmpi",
                    tool_id);
}

/* ---- Layers ---------------------------------------------------------------------------------- */

/* Returns the first line of the library version, which may have several. */
static char *mpi_version(void)
{
    char text[MPI_MAX_LIBRARY_VERSION_STRING] = "";
    int length;
    PMPI_Get_library_version(text, &length);
    text[strcspn(text, "\n")] = '\0';
    for (char *c = text; *c; c++) {
        if (*c == '\t')
            *c = ' ';
    }
    return strdup(text);
}

static void set_begin_time(struct layer *layer)
{
    const time_t now = time(NULL);
    struct tm parts;
    if (gmtime_r(&now, &parts))
        strftime(layer->begin, sizeof layer->begin, "%Y-%m-%dT%H:%M:%SZ", &parts);
}

/* Returns the command line as a shell would accept it, or NULL if it is unknown. A long one is cut
 * at its end. */
static char *read_command(void)
{
    enum { LONGEST = 4096 };
    char *words = calloc(LONGEST + 1, 1), *command = NULL;
    size_t length = 0, size = 0;
    FILE *file = fopen("/proc/self/cmdline", "re");
    if (file && words)
        length = fread(words, 1, LONGEST, file);
    FILE *text = length ? open_memstream(&command, &size) : NULL;
    for (const char *word = words; text && word < words + length; word += strlen(word) + 1) {
        const bool is_plain = *word && !strpbrk(word, " \t\n'\"\\$`|&;<>()*?[]#~!{}");
        fputs(word == words ? "" : " ", text);
        fputs(is_plain ? "" : "'", text);
        for (const char *at = word; *at; at++)
            fputs(*at == '\'' ? "'\\''" : (char[]){*at, '\0'}, text);
        fputs(is_plain ? "" : "'", text);
    }
    if (text)
        fclose(text);
    if (file)
        fclose(file);
    free(words);
    return command;
}

static struct layer *make_layer(int tool_id)
{
    struct layer *layer = calloc(1, sizeof *layer);
    if (!layer || !objects_make(layer) || !regions_make(&layer->regions) ||
        !receives_make(&layer->receives)) {
        QMPIX_Tool_fail(tool_id, "out of memory");
        return NULL; /* The run stops, or goes on without this layer, so nothing is freed. */
    }
    const int rank = qmpi_launcher_rank();
    layer->tool_id = tool_id;
    layer->rank = rank < 0 ? 0 : rank;
    layer->was_on = layer_is_on(layer);
    layer->folder = getcwd(NULL, 0);
    tool_world_sessions_make(&layer->sessions);
    layer->program = realpath("/proc/self/exe", NULL);
    layer->command = read_command();
    environment_read(&layer->environment);
    layer->mpi = mpi_version();
    pthread_mutex_init(&layer->lock, NULL);
    sem_init(&layer->saving.wanted, 0, 0);
    set_begin_time(layer);
    return layer;
}

static void stack_changed(int tool_id)
{
    for (struct layer *layer = layer_list; layer; layer = layer->next) {
        if (layer->tool_id != tool_id)
            continue;
        if (layer_is_on(layer))
            atomic_store(&layer->was_on, true);
        else
            receives_lose(layer);
    }
}

static void library_closed(int tool_id, const char *library, const void *begin, const void *end)
{
    for (struct layer *layer = layer_list; layer; layer = layer->next) {
        if (layer->tool_id == tool_id)
            closed_replace(tool_id, (size_t)layer->options.depth, library, begin, end);
    }
}

static void always_on_functions(int tool_id, bool sync)
{
    tool_world_sessions_retain(tool_id);
    for (int number = 0; number < MPI_LAST_FUNC; number++) {
        if (traits_set_always_on(&traits_all[number], sync))
            QMPIX_Tool_keep_function(tool_id, (enum QMPI_Functions_enum)number);
    }
}

/* Declares that the layer synchronizes collectives, and conflicts with other layers that do: the
 * second one would find that no rank waits. */
static void declare_barriers(int tool_id)
{
    static const char *const barriers[] = {"synchronizes-collectives", NULL};
    QMPIX_Tool_declare(tool_id, 0, barriers, barriers);
}

static void init_profile_layer(int tool_id)
{
    struct layer *layer = make_layer(tool_id);
    if (!layer || !read_profile_options(tool_id, &layer->options))
        return;
    if (tool_option_file_is_taken(tool_id, "output", layer->options.output))
        return;
    const QMPIX_Observer observer = {
        .size = sizeof observer,
        .before = layer->options.depth == 1 ? record_before : record_before_deep,
        .after = record_after,
        .data = layer,
        .flags = QMPIX_OBSERVE_STATUSES | QMPIX_OBSERVE_TIME | QMPIX_OBSERVE_COMMS,
    };
    ticks_refine();
    waits_start();
    arguments_find_size();
    traits_find();
    if (layer->options.sync) {
        traits_let_wait();
        declare_barriers(tool_id);
    }
    threads_start();
    if (QMPIX_Register_tool_observer(tool_id, &observer) != MPI_SUCCESS ||
        QMPIX_Register_finalizer(tool_id, record_finalize) != MPI_SUCCESS ||
        QMPIX_Register_publisher(tool_id, publish_or_say) != MPI_SUCCESS) {
        QMPIX_Tool_fail(tool_id, "libqmpi rejects the observer of this tool\nhint: use the "
                                 "profile.so that is part of this qmpi");
        return;
    }
    always_on_functions(tool_id, layer->options.sync);
    QMPIX_Register_stack_changed(tool_id, stack_changed);
    QMPIX_Register_library_closed(tool_id, library_closed);
    tool_output_name_start();
    layer_add(layer);
}

__attribute__((constructor)) static void register_tool(void)
{
    static const QMPIX_Tool_info info = {
        .size = sizeof info,
        .description = TOOL_DESCRIPTION,
        .version = QMPI_VERSION,
        .options = known_options,
    };
    QMPI_Register_tool_name("profile", init_profile_layer);
    QMPIX_Register_tool_info("profile", &info);
}
