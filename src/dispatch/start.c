/* SPDX-License-Identifier: MIT */
/*
 * See start.h. The order: read QMPI_TOOLS, find and inspect every library, and only then load and
 * initialise the layers, one at a time from the bottom up; a layer goes on top of the chains when
 * its init is done, so what it calls meanwhile goes to the layers below it.
 */
#include "start.h"

#include "announce.h"
#include "base.h"
#include "find.h"
#include "layer.h"
#include "load.h"
#include "message.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static bool done;
static _Thread_local bool starting;

static struct qmpi_tool_list list; /* lives for the whole run: layers point into it */

/* ---- What is wrong, and what follows from it ----------------------------------------------------
 */

static bool skips_on_error(void)
{
    const char *value = qmpi_getenv("QMPI_ON_ERROR");
    return value && !strcmp(value, "skip");
}

static void check_on_error(void)
{
    const char *value = qmpi_getenv("QMPI_ON_ERROR");
    if (value && strcmp(value, "skip") != 0 && strcmp(value, "stop") != 0 && qmpi_speaks())
        qmpi_sayf("QMPI_ON_ERROR: unknown value '%s', taken as stop; it is stop or skip", value);
}

/* Says it and ends the process, or says it and returns to go on without. Frees `problem`. */
static void report(const char *where, char *problem, const char *without)
{
    if (qmpi_speaks()) {
        char *indented = qmpi_copy("");
        const char *mend = strstr(problem, "\nmend: ");
        const int length = mend ? (int)(mend - problem) : (int)strlen(problem);
        free(indented);
        indented = qmpi_format("%s: %.*s%s%s%s", where, length, problem, mend ? "\n  " : "",
                               mend ? mend + 1 : "", skips_on_error() ? without : "");
        qmpi_say(indented);
        free(indented);
    }
    free(problem);
    if (!skips_on_error())
        _exit(2);
}

static void report_entry(const struct qmpi_entry *entry, char *problem)
{
    char *shown = qmpi_shorten(entry->text);
    char *where = qmpi_format("QMPI_TOOLS, entry %d '%s'", entry->position, shown);
    report(where, problem, "\n  the run goes on without this layer (QMPI_ON_ERROR=skip)");
    free(where);
    free(shown);
}

/* ---- The layers to come -------------------------------------------------------------------------
 */

/* What is known of an entry before anything is loaded. */
struct plan {
    const struct qmpi_entry *entry;
    struct qmpi_tool *tool;
    char *path;
    enum qmpi_kind kind;
};

static char *plan_entry(const struct qmpi_entry *entry, struct plan *plan)
{
    char *problem = NULL;
    *plan = (struct plan){.entry = entry, .kind = QMPI_KIND_NATIVE};
    if (entry->problem)
        return qmpi_copy(entry->problem);
    plan->tool = qmpi_announce_find(entry->name);
    if (plan->tool)
        return NULL;
    plan->path = qmpi_find_library(entry->name, &problem);
    if (plan->path)
        problem = qmpi_kind_read(plan->path, qmpi_base_soname(), &plan->kind);
    if (!problem && plan->kind == QMPI_KIND_PMPI)
        problem = qmpi_format("%s is a PMPI tool", plan->path);
    return problem;
}

static int plan_layers(struct plan *plans)
{
    int count = 0;
    for (int i = 0; i < list.count; i++) {
        char *problem = plan_entry(&list.entries[i], &plans[count]);
        if (problem) {
            free(plans[count].path);
            report_entry(&list.entries[i], problem);
        } else {
            count++;
        }
    }
    return count;
}

static void check_height(void)
{
    if (list.count <= QMPI_LAYERS_MAX)
        return;
    char *problem = qmpi_format("%d entries, but a stack has at most %d layers\nmend: list fewer "
                                "tools",
                                list.count, QMPI_LAYERS_MAX);
    report("QMPI_TOOLS", problem, "\n  the run goes on with the first 255 (QMPI_ON_ERROR=skip)");
    list.count = QMPI_LAYERS_MAX;
}

static void build_layer(struct qmpi_layer *layer, const struct plan *plan)
{
    layer->entry = plan->entry;
    layer->tool = plan->tool;
    layer->path = plan->path;
    layer->kind = plan->kind;
    layer->name = plan->entry->name;
    qmpi_chain_show(layer->tool_id);
    char *problem = qmpi_load_native(layer);
    if (!problem)
        problem = qmpi_layer_init(layer);
    if (problem) {
        qmpi_layer_leave_out(layer);
        report_entry(plan->entry, problem);
    }
    qmpi_chain_add(layer->tool_id, layer->functions);
}

static void start(void)
{
    qmpi_debug_start();
    check_on_error();
    qmpi_base_find();
    const char *tools = qmpi_getenv("QMPI_TOOLS");
    qmpi_tool_list_parse(tools, &list);
    qmpi_debug(QMPI_TOPIC_PARSE, "QMPI_TOOLS has %d entries", list.count);
    if (list.count && qmpi_base_mismatch()) {
        report("this program", qmpi_copy(qmpi_base_mismatch()),
               "\n  the run goes on without tools (QMPI_ON_ERROR=skip)");
        list.count = 0;
    }
    check_height();
    struct plan *plans = qmpi_allocate((size_t)list.count, sizeof *plans);
    const int count = plan_layers(plans);
    qmpi_layer_start(count);
    qmpi_chain_start(count);
    for (int tool_id = count; tool_id >= 1; tool_id--)
        build_layer(qmpi_layer_get(tool_id), &plans[tool_id - 1]);
    free(plans);
    qmpi_announce_close();
    qmpi_chain_publish();
}

/* ---- First calls --------------------------------------------------------------------------------
 */

qmpi_function *qmpi_start_call(int number)
{
    if (starting) /* a constructor or an init of ours calls MPI: the layers so far */
        return qmpi_heads[number] ? qmpi_chain_way(number) : qmpi_bases[number];
    if (!__atomic_load_n(&done, __ATOMIC_ACQUIRE)) {
        pthread_mutex_lock(&lock);
        if (!done) {
            starting = true;
            start();
            starting = false;
            __atomic_store_n(&done, true, __ATOMIC_RELEASE);
        }
        pthread_mutex_unlock(&lock);
    }
    return qmpi_slots[number];
}

qmpi_function *qmpi_start_base(int number)
{
    qmpi_base_find();
    return qmpi_bases[number];
}
