/* SPDX-License-Identifier: MIT */
/*
 * Offers and uses services as its options say, and prints the results. The elements of a LIST are
 * separated by `+`; each is NAME@MAJOR.MINOR. The tool uses an observer instead of interceptors, so
 * that it can be compiled for the standard ABI.
 *   offer=LIST     offers services in init
 *   find=LIST      finds services in init, in MPI_Comm_rank, and in another thread in MPI_Barrier
 *   watch=LIST     watches services from init on
 *   quiet=yes      with watch: prints only in MPI_Finalize whether the last callback was right
 *   rewatch=LIST   watches services from MPI_Comm_rank on
 *   switches=N     whenever a callback is told of a layer, it switches layer N off
 *   forks=N        whenever a callback is told of a layer, a thread forks a child that switches
 *                  layer N off
 *   provides=LIST  declares by QMPIX_Tool_declare what the layer provides; the elements of this
 *                  list and of the next one are names without versions
 *   conflicts=LIST declares with what the layer conflicts
 *   communicates=yes   declares that the layer communicates
 *   misuse=yes     makes wrong calls in init and in MPI_Comm_rank
 *   fail=yes       its init fails at the end
 */
#include "service.h"
#include "trace.h"

#include <qmpi/observer.h>

#include <limits.h>
#include <pthread.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

enum { ITEMS = 8, ROOM = 512 };

struct item {
    char name[ROOM];
    int version;
};

struct layer {
    int tool_id;
    int item_told; /* the offering layer of which the last callback was told; 0: none */
    int switches;  /* the layer that the callback switches off; 0: none */
    int forks;     /* the layer that a forked child switches off; 0: none, or this is the child */
    int quiet;
    struct item watched; /* the service of the last call of QMPIX_Service_watch */
    _Atomic int inside;  /* number of callbacks in progress */
};
static struct layer layers[256];

static const char *option(int tool_id, const char *key)
{
    const char *value = "";
    QMPIX_Tool_get_option(tool_id, key, &value);
    return value;
}

static int read_list(int tool_id, const char *key, struct item *items)
{
    int count = 0;
    const char *text = option(tool_id, key);
    while (*text && count < ITEMS) {
        int major = 0, minor = 0, length = 0;
        if (sscanf(text, "%511[^@+]%n@%d.%d", items[count].name, &length, &major, &minor) < 1)
            break;
        items[count++].version = QMPIX_SERVICE_VERSION(major, minor);
        text += strcspn(text, "+");
        text += *text == '+';
    }
    return count;
}

static const char *result_name(int result)
{
    return result == MPI_SUCCESS                     ? "good"
           : result == MPI_ERR_ARG                   ? "MPI_ERR_ARG"
           : result == MPI_ERR_NAME                  ? "MPI_ERR_NAME"
           : result == MPI_ERR_OTHER                 ? "MPI_ERR_OTHER"
           : result == MPI_ERR_UNSUPPORTED_OPERATION ? "MPI_ERR_UNSUPPORTED_OPERATION"
                                                     : "another result";
}

static void describe(const struct item *item, char *text)
{
    snprintf(text, ROOM, "%.400s@%d.%d", item->name, item->version >> 16, item->version & 0xffff);
}

static void find(int tool_id, const struct item *item, const char *when)
{
    char text[ROOM];
    const void *table = NULL;
    int offering_id = -1;
    const int result = QMPIX_Service_find(tool_id, item->name, item->version, &offering_id, &table);
    describe(item, text);
    if (result == MPI_SUCCESS)
        trace("service %d finds %s %s: layer %d answers %d", tool_id, text, when, offering_id,
              ((const service_table *)table)->answer(offering_id));
    else
        trace("service %d finds %s %s: %s%s", tool_id, text, when, result_name(result),
              table || offering_id != -1 ? " WRONG: an output was touched" : "");
}

static void find_all(int tool_id, const char *when)
{
    struct item items[ITEMS];
    const int count = read_list(tool_id, "find", items);
    for (int i = 0; i < count; i++)
        find(tool_id, &items[i], when);
}

static void *fork_in_thread(void *data)
{
    struct layer *layer = data;
    const int other = layer->forks;
    const pid_t child = fork();
    if (child) {
        waitpid(child, NULL, 0);
        return NULL;
    }
    layer->forks = layer->inside = 0;
    trace("service %d is forked", layer->tool_id);
    QMPIX_Tool_set_enabled(other, 0);
    _exit(0);
}

static void changed(int tool_id, int offering_id, const void *table, void *data)
{
    struct layer *layer = data;
    if (layer->tool_id != tool_id || !table != !offering_id)
        trace("service %d WRONG: told of %d", tool_id, offering_id);
    if (layer->inside++)
        trace("service %d WRONG: it is told twice at the same time", tool_id);
    if (layer->quiet)
        sched_yield(); /* the other thread may switch layers now */
    layer->item_told = offering_id;
    if (!layer->quiet)
        trace("service %d is told: layer %d answers %d", tool_id, offering_id,
              table ? ((const service_table *)table)->answer(offering_id) : 0);
    if (layer->switches && table)
        QMPIX_Tool_set_enabled(layer->switches, 0);
    pthread_t thread;
    if (layer->forks && table && !pthread_create(&thread, NULL, fork_in_thread, layer))
        pthread_join(thread, NULL);
    layer->inside--;
}

static void watch(int tool_id, const char *key)
{
    struct item items[ITEMS];
    const int count = read_list(tool_id, key, items);
    for (int i = 0; i < count; i++) {
        struct layer *layer = &layers[tool_id];
        layer->watched = items[i];
        const int result =
            QMPIX_Service_watch(tool_id, items[i].name, items[i].version, changed, layer);
        trace("service %d watches %s: %s", tool_id, items[i].name, result_name(result));
    }
}

static int answer(int offering_id)
{
    return offering_id * 10 + DIGIT;
}

/* The function of every second service that a layer offers. */
static int other_answer(int offering_id)
{
    return offering_id * 10 + DIGIT + 5;
}

static void offer(int tool_id)
{
    static const service_table table = {answer}, other_table = {other_answer};
    struct item items[ITEMS];
    char text[ROOM];
    const int count = read_list(tool_id, "offer", items);
    for (int i = 0; i < count; i++) {
        const int result = QMPIX_Service_offer(tool_id, items[i].name, items[i].version,
                                               i % 2 ? &other_table : &table);
        describe(&items[i], text);
        if (result != MPI_SUCCESS)
            trace("service %d offers %s: %s", tool_id, text, result_name(result));
    }
    const char *name = "";
    int version = 0;
    for (int i = 0; QMPIX_Service_get(tool_id, i, &name, &version) == MPI_SUCCESS; i++)
        trace("service %d has %s@%d.%d", tool_id, name, version >> 16, version & 0xffff);
}

static void declare(int tool_id)
{
    struct item given[2][ITEMS];
    const char *names[2][ITEMS + 1];
    const unsigned flags = *option(tool_id, "communicates") ? QMPIX_TOOL_COMMUNICATES : 0;
    for (int list = 0; list < 2; list++) {
        const int count = read_list(tool_id, list ? "conflicts" : "provides", given[list]);
        for (int i = 0; i < count; i++)
            names[list][i] = given[list][i].name;
        names[list][count] = NULL;
    }
    if (QMPIX_Tool_declare(tool_id, flags, names[0], names[1]) != MPI_SUCCESS)
        trace("service %d WRONG: it cannot declare", tool_id);
    memset(given, 'x', sizeof given); /* libqmpi has copied them */
}

static void expect(int result, int expected, const char *call)
{
    if (result != expected)
        trace("service WRONG: %s gave %s, not %s", call, result_name(result),
              result_name(expected));
}
#define EXPECT(expected, call) expect(call, expected, #call)

static void misuse(int tool_id, int in_init)
{
    static const service_table table = {answer};
    static const int ids[] = {-1, 0, 250, INT_MAX, INT_MIN};
    static const char *const none[] = {NULL}, *const empty[] = {"", NULL};
    static char long_name[257];
    const char *const names[] = {NULL, "", "a b", "a\n", "\xc3\xa4", long_name};
    const void *found = NULL;
    const char *name = NULL;
    int version = -1;
    const int right = in_init ? MPI_SUCCESS : MPI_ERR_OTHER;
    memset(long_name, 'n', 256);
    for (size_t i = 0; i < sizeof ids / sizeof *ids; i++) {
        EXPECT(MPI_ERR_ARG, QMPIX_Service_offer(ids[i], "misuse", 1, &table));
        EXPECT(MPI_ERR_ARG, QMPIX_Service_find(ids[i], "misuse", 1, NULL, &found));
        EXPECT(MPI_ERR_ARG, QMPIX_Service_watch(ids[i], "misuse", 1, changed, NULL));
        EXPECT(MPI_ERR_ARG, QMPIX_Service_get(ids[i], 0, &name, &version));
        EXPECT(MPI_ERR_ARG, QMPIX_Tool_declare(ids[i], 0, none, none));
    }
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        EXPECT(MPI_ERR_ARG, QMPIX_Service_offer(tool_id, names[i], 1, &table));
        EXPECT(MPI_ERR_ARG, QMPIX_Service_find(tool_id, names[i], 1, NULL, &found));
        EXPECT(MPI_ERR_ARG, QMPIX_Service_watch(tool_id, names[i], 1, changed, NULL));
    }
    EXPECT(MPI_ERR_ARG, QMPIX_Service_offer(tool_id, "misuse", -1, &table));
    EXPECT(MPI_ERR_ARG, QMPIX_Service_offer(tool_id, "misuse", 1, NULL));
    EXPECT(right, QMPIX_Service_offer(tool_id, &long_name[1], 1, &table)); /* 255 characters */
    EXPECT(MPI_ERR_ARG, QMPIX_Service_find(tool_id, "misuse", -1, NULL, &found));
    EXPECT(MPI_ERR_ARG, QMPIX_Service_find(tool_id, "misuse", 1, NULL, NULL));
    EXPECT(MPI_ERR_NAME, QMPIX_Service_find(tool_id, "misuse", 1, NULL, &found));
    EXPECT(MPI_ERR_ARG, QMPIX_Service_watch(tool_id, "misuse", -1, changed, NULL));
    EXPECT(MPI_ERR_ARG, QMPIX_Service_watch(tool_id, "misuse", 1, NULL, NULL));
    EXPECT(MPI_ERR_ARG, QMPIX_Service_get(tool_id, -1, &name, &version));
    EXPECT(MPI_ERR_ARG, QMPIX_Service_get(tool_id, INT_MAX, &name, &version));
    EXPECT(MPI_ERR_ARG, QMPIX_Service_get(tool_id, 0, NULL, &version));
    EXPECT(MPI_ERR_ARG, QMPIX_Service_get(tool_id, 0, &name, NULL));
    EXPECT(MPI_ERR_ARG, QMPIX_Tool_declare(tool_id, 1U << 31, NULL, NULL));
    EXPECT(MPI_ERR_ARG, QMPIX_Tool_declare(tool_id, 0, empty, NULL));
    EXPECT(MPI_ERR_ARG, QMPIX_Tool_declare(tool_id, 0, NULL, empty));
    EXPECT(right, QMPIX_Tool_declare(tool_id, 0, NULL, none));
    if (found || name || version != -1)
        trace("service WRONG: a failing call touched its output");
    trace("service %d has misused", tool_id);
}

static void *find_in_thread(void *data)
{
    find_all(((struct layer *)data)->tool_id, "in a thread");
    return NULL;
}

static void before(const QMPIX_Call *call, QMPIX_Word *word)
{
    struct layer *layer = call->observer->data;
    pthread_t thread;
    (void)word;
    if (call->function->number == MPI_COMM_RANK_T) {
        find_all(layer->tool_id, "later");
        watch(layer->tool_id, "rewatch");
        if (*option(layer->tool_id, "misuse"))
            misuse(layer->tool_id, 0);
    } else if (call->function->number == MPI_BARRIER_T) {
        if (!pthread_create(&thread, NULL, find_in_thread, layer))
            pthread_join(thread, NULL);
    } else if (layer->quiet) {
        const void *table;
        int offering_id = 0;
        QMPIX_Service_find(layer->tool_id, layer->watched.name, layer->watched.version,
                           &offering_id, &table);
        trace("service %d was told of layer %s", layer->tool_id,
              layer->item_told == offering_id ? "as it is" : "WRONG");
    }
}

static void init(int tool_id)
{
    static const enum QMPI_Functions_enum functions[] = {MPI_COMM_RANK_T, MPI_BARRIER_T,
                                                         MPI_FINALIZE_T};
    const QMPIX_Observer observer = {.size = sizeof observer,
                                     .before = before,
                                     .data = &layers[tool_id],
                                     .functions = functions,
                                     .function_count = 3};
    layers[tool_id].tool_id = tool_id;
    layers[tool_id].switches = atoi(option(tool_id, "switches"));
    layers[tool_id].forks = atoi(option(tool_id, "forks"));
    layers[tool_id].quiet = *option(tool_id, "quiet") != '\0';
    QMPIX_Register_tool_observer(tool_id, &observer);
    QMPIX_Tool_keep_function(tool_id, MPI_FINALIZE_T);
    if (*option(tool_id, "misuse"))
        misuse(tool_id, 1);
    offer(tool_id);
    declare(tool_id);
    find_all(tool_id, "in init");
    watch(tool_id, "watch");
    if (*option(tool_id, "fail"))
        QMPIX_Tool_fail(tool_id, "as its option says");
}

__attribute__((constructor)) static void register_tool(void)
{
    QMPI_Register_tool_name(TOOL, init);
}
