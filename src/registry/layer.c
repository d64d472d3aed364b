/* SPDX-License-Identifier: MIT */
/* See layer.h. */
#include "registry/layer.h"

#include "functions/functions.h"
#include "registry/catch.h"
#include "util/util.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

static struct qmpi_layer **layers; /* [tool_id] */
static int layer_count;
static void **storage;

/* The layer whose init runs, in the thread that runs it: only there may a layer register. */
static _Thread_local struct qmpi_layer *initialising;

void qmpi_layer_start(int count)
{
    layers = qmpi_allocate((size_t)count + 1, sizeof *layers);
    storage = qmpi_allocate((size_t)count + 1, sizeof *storage);
    QMPIX_stack.storage = storage;
    for (int tool_id = 1; tool_id <= count; tool_id++) {
        layers[tool_id] = qmpi_allocate(1, sizeof *layers[tool_id]);
        layers[tool_id]->tool_id = tool_id;
        layers[tool_id]->functions =
            qmpi_permanent_alloc(QMPI_FUNCTION_COUNT, sizeof(qmpi_function *));
    }
    layer_count = count;
}

struct qmpi_layer *qmpi_layer_get(int tool_id)
{
    return tool_id >= 1 && tool_id <= layer_count ? layers[tool_id] : NULL;
}

/* Returns the value of an option in the entry; NULL: not given. */
static const char *given_option(const struct qmpi_layer *layer, const char *key)
{
    for (int i = 0; i < layer->entry->option_count; i++) {
        if (!strcmp(layer->entry->options[i].key, key))
            return layer->entry->options[i].value;
    }
    return NULL;
}

/* A name that ends in `*` stands for all keys that begin like it. */
static bool matches(const char *name, const char *key)
{
    const size_t length = strlen(name);
    return length && name[length - 1] == '*' ? !strncmp(name, key, length - 1) : !strcmp(name, key);
}

static const QMPIX_Tool_option *find_option(const QMPIX_Tool_info *info, const char *key)
{
    const QMPIX_Tool_option *option = info ? info->options : NULL;
    while (option && option->name && !matches(option->name, key))
        option++;
    return option && option->name ? option : NULL;
}

static const char *option_at(const void *options, int index)
{
    return ((const QMPIX_Tool_option *)options)[index].name;
}

static char *refuse_option(const char *tool, const char *key, const QMPIX_Tool_option *options)
{
    char *known = qmpi_copy(""), *shown = qmpi_shorten(key);
    for (const QMPIX_Tool_option *option = options; option && option->name; option++) {
        char *longer = qmpi_format("%s%s%s", known, *known ? ", " : "", option->name);
        free(known);
        known = longer;
    }
    const char *similar = options ? qmpi_suggest(key, option_at, options) : NULL;
    char *problem =
        !*known ? qmpi_message("tool %s has no option '%s'\nhint: remove the option; this tool has "
                               "none",
                               tool, shown)
        : similar ? qmpi_message("tool %s has no option '%s'\nhint: did you mean '%s'? Its options "
                                 "are %s",
                                 tool, shown, similar, known)
                  : qmpi_message("tool %s has no option '%s'\nhint: use one of its options: %s",
                                 tool, shown, known);
    free(shown);
    free(known);
    return problem;
}

/* A tool that described itself knows its options: any other is a slip of the user's. */
static char *check_options(const struct qmpi_layer *layer)
{
    const QMPIX_Tool_info *info = layer->tool->info;
    for (int i = 0; info && i < layer->entry->option_count; i++) {
        const char *key = layer->entry->options[i].key;
        if (!find_option(info, key))
            return refuse_option(layer->name, key, info->options);
    }
    return NULL;
}

bool qmpi_layer_is_initialising(const struct qmpi_layer *layer)
{
    return initialising == layer;
}

char *qmpi_layer_init(struct qmpi_layer *layer)
{
    char *problem = check_options(layer);
    if (problem)
        return problem;
    initialising = layer;
    char *thrown =
        qmpi_catch(layer->tool->init, layer->tool_id, (const void *)(uintptr_t)layer->tool->init);
    initialising = NULL;
    if (thrown) {
        problem = qmpi_format("tool %s failed to initialize: its init function threw %s\n"
                              "hint: correct the options of the layer; the developer of the tool "
                              "should report errors with QMPIX_Tool_fail",
                              layer->name, thrown);
        free(thrown);
        return problem;
    }
    if (!layer->failure)
        return NULL;
    const char *hint = strstr(layer->failure, "\nhint: ");
    return qmpi_message(
        "tool %s failed to initialize: %-s%-s", layer->name, layer->failure,
        hint ? "" : "\nhint: correct its options or its environment, or remove it from the stack");
}

void qmpi_layer_leave_out(struct qmpi_layer *layer)
{
    memset(layer->functions, 0, QMPI_FUNCTION_COUNT * sizeof *layer->functions);
    layer->mpich_functions = layer->observing = NULL;
    layer->group = NULL;
    storage[layer->tool_id] = NULL;
}

int QMPI_Register_tool_storage(int tool_id, void *tool_storage)
{
    if (!qmpi_layer_get(tool_id))
        return MPI_ERR_ARG;
    /* Tools of MPICH's variant may register their data later, and do so. */
    if (initialising != qmpi_layer_get(tool_id) && !qmpi_layer_get(tool_id)->mpich)
        return MPI_ERR_OTHER;
    storage[tool_id] = tool_storage;
    return MPI_SUCCESS;
}

__typeof__(QMPI_Register_tool_storage) qmpi_register_tool_storage
    __attribute__((alias("QMPI_Register_tool_storage")));

/* Inlined: a stack is built with thousands of these calls. */
static inline int check_interceptor(int tool_id, int number, qmpi_function *fp)
{
    if ((unsigned)number >= QMPI_FUNCTION_COUNT || !fp)
        return MPI_ERR_ARG;
    if (initialising && initialising->tool_id == tool_id)
        return MPI_SUCCESS;
    return qmpi_layer_get(tool_id) ? MPI_ERR_OTHER : MPI_ERR_ARG;
}

int qmpi_layer_intercept_mpich(int tool_id, int number, qmpi_function *fp)
{
    const int result = check_interceptor(tool_id, number, fp);
    if (result != MPI_SUCCESS)
        return result;
    struct qmpi_layer *layer = initialising;
    layer->mpich = true;
    if (!layer->mpich_functions)
        layer->mpich_functions =
            qmpi_permanent_alloc(QMPI_FUNCTION_COUNT, sizeof *layer->mpich_functions);
    layer->functions[number] = NULL;
    layer->mpich_functions[number] = fp;
    return MPI_SUCCESS;
}

int QMPI_Register_tool_function(int tool_id, enum QMPI_Functions_enum fn, void (*fp)(void))
{
    const int result = check_interceptor(tool_id, (int)fn, fp);
    if (result != MPI_SUCCESS)
        return result;
    initialising->functions[fn] = fp;
    if (initialising->mpich_functions)
        initialising->mpich_functions[fn] = NULL;
    return MPI_SUCCESS;
}

int QMPIX_Tool_get_skip_errors(int tool_id, int *skip)
{
    const struct qmpi_layer *layer = qmpi_layer_get(tool_id);
    if (!layer || !skip)
        return MPI_ERR_ARG;
    *skip = qmpi_skips_errors(layer->entry->on_error);
    return MPI_SUCCESS;
}

int QMPIX_Tool_fail(int tool_id, const char *message)
{
    struct qmpi_layer *layer = qmpi_layer_get(tool_id);
    if (!layer || !message)
        return MPI_ERR_ARG;
    if (initialising != layer)
        return MPI_ERR_OTHER;
    free(layer->failure);
    layer->failure = qmpi_copy(message);
    return MPI_SUCCESS;
}

int QMPIX_Tool_get_option(int tool_id, const char *key, const char **value)
{
    const struct qmpi_layer *layer = qmpi_layer_get(tool_id);
    if (!layer || !key || !value || !layer->tool)
        return MPI_ERR_ARG;
    const char *given = given_option(layer, key);
    if (!given) {
        const QMPIX_Tool_option *option = find_option(layer->tool->info, key);
        given = option ? option->default_value : NULL;
    }
    if (!given)
        return MPI_ERR_INFO_NOKEY;
    *value = given;
    return MPI_SUCCESS;
}

int QMPIX_Tool_get_given_option(int tool_id, int index, const char **key, const char **value)
{
    const struct qmpi_layer *layer = qmpi_layer_get(tool_id);
    if (!layer || !layer->tool || !key || !value || index < 0 ||
        index >= layer->entry->option_count)
        return MPI_ERR_ARG;
    *key = layer->entry->options[index].key;
    *value = layer->entry->options[index].value;
    return MPI_SUCCESS;
}

int QMPIX_Tool_count(int *count)
{
    if (!count)
        return MPI_ERR_ARG;
    *count = layer_count;
    return MPI_SUCCESS;
}

int QMPIX_Tool_get_name(int tool_id, const char **name)
{
    const struct qmpi_layer *layer = qmpi_layer_get(tool_id);
    if (!layer || !name)
        return MPI_ERR_ARG;
    *name = layer->name;
    return MPI_SUCCESS;
}

int QMPIX_Tool_get_library(int tool_id, const char **path)
{
    const struct qmpi_layer *layer = qmpi_layer_get(tool_id);
    if (!layer || !path)
        return MPI_ERR_ARG;
    *path = layer->tool ? layer->tool->path : layer->path;
    return MPI_SUCCESS;
}

int QMPIX_Tool_get_info(int tool_id, const QMPIX_Tool_info **info)
{
    const struct qmpi_layer *layer = qmpi_layer_get(tool_id);
    if (!layer || !info)
        return MPI_ERR_ARG;
    *info = layer->tool ? layer->tool->info : NULL;
    return MPI_SUCCESS;
}

int QMPIX_Tool_get_binding(int tool_id, const char **text)
{
    const struct qmpi_layer *layer = qmpi_layer_get(tool_id);
    if (!layer || !text)
        return MPI_ERR_ARG;
    *text = layer->details ? layer->details
            : layer->mpich ? "QMPI tool, MPICH's variant"
                           : "QMPI tool";
    return MPI_SUCCESS;
}

int QMPIX_Tool_get_source(int tool_id, const char **text)
{
    struct qmpi_layer *layer = qmpi_layer_get(tool_id);
    if (!layer || !text)
        return MPI_ERR_ARG;
    char *source = __atomic_load_n(&layer->source, __ATOMIC_ACQUIRE), *first = NULL;
    if (!source) {
        source = qmpi_entry_source(layer->entry);
        if (!__atomic_compare_exchange_n(&layer->source, &first, source, false, __ATOMIC_ACQ_REL,
                                         __ATOMIC_ACQUIRE)) {
            free(source);
            source = first;
        }
    }
    *text = source;
    return MPI_SUCCESS;
}

int QMPIX_Tool_intercepts(int tool_id, enum QMPI_Functions_enum fn, int *flag)
{
    const struct qmpi_layer *layer = qmpi_layer_get(tool_id);
    if (!layer || (unsigned)fn >= QMPI_FUNCTION_COUNT || !flag)
        return MPI_ERR_ARG;
    *flag = layer->functions[fn] || (layer->mpich_functions && layer->mpich_functions[fn]) ||
            (layer->observing && layer->observing[fn]);
    return MPI_SUCCESS;
}
