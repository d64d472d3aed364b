/* SPDX-License-Identifier: MIT */
/* See validate.h. */
#define _GNU_SOURCE
#include "validate/validate.h"

#include "config/config.h"
#include "dispatch/dispatch.h"
#include "elf/elf.h"
#include "observe/observe.h"
#include "pmpi/pmpi.h"
#include "process/process.h"
#include "registry/registry.h"
#include "util/util.h"

#include <dlfcn.h>
#include <link.h>
#include <stdlib.h>
#include <string.h>

static bool layer_contains(int tool_id, const void *address)
{
    const struct qmpi_layer *layer = qmpi_layer_get(tool_id);
    const struct qmpi_layer_group *group = qmpi_layer_group_of(address);
    Dl_info info;
    struct link_map *map = NULL;
    if (group)
        return group->layer == layer;
    return layer && layer->tool && layer->tool->library &&
           dladdr1(address, &info, (void **)&map, RTLD_DL_LINKMAP) && map == layer->tool->library;
}

static bool layer_misregisters(int tool_id)
{
    const struct qmpi_layer *layer = qmpi_layer_get(tool_id);
    return layer && layer->refusals;
}

struct redirecting {
    void *(*find)(const char *name);
};

static void *find_target(void *data, const char *name, enum qmpi_elf_reference reference)
{
    (void)reference;
    return ((const struct redirecting *)data)->find(name);
}

/* Finds the library of a layer's tool, or the program for a PMPI tool in it. Returns false for a
 * QMPI tool in the program. */
static bool find_layer_library(int tool_id, struct qmpi_elf_loaded *object)
{
    const struct qmpi_layer *layer = qmpi_layer_get(tool_id);
    if (layer && layer->group && layer->group->count) {
        *object = layer->group->objects[0];
        return true;
    }
    const struct link_map *map = layer && layer->tool ? layer->tool->library : NULL;
    return map && *map->l_name &&
           qmpi_elf_loaded_containing((const void *)(uintptr_t)layer->tool->init, object);
}

static bool redirect_layer(int tool_id, void *(*find)(const char *name))
{
    struct redirecting redirecting = {find};
    struct qmpi_elf_loaded object;
    if (!find_layer_library(tool_id, &object))
        return false;
    free(qmpi_elf_rewrite(&object, find_target, &redirecting));
    return true;
}

static bool range_of_layer(int tool_id, uintptr_t *start, uintptr_t *end)
{
    struct qmpi_elf_loaded object;
    if (!find_layer_library(tool_id, &object))
        return false;
    *start = UINTPTR_MAX;
    *end = 0;
    for (int i = 0; i < object.segment_count; i++) {
        const ElfW(Phdr) *segment = &object.segments[i];
        const uintptr_t first = object.base + segment->p_vaddr, last = first + segment->p_memsz;
        if (segment->p_type != PT_LOAD)
            continue;
        *start = first < *start ? first : *start;
        *end = last > *end ? last : *end;
    }
    return *start < *end;
}

static bool is_finalized(void)
{
    int flag = 0;
    return QMPI_PMPI(Finalized, FINALIZED)(&flag) == MPI_SUCCESS && flag;
}

static int thread_level(void)
{
    int flag = 0, level = -1;
    if (QMPI_PMPI(Initialized, INITIALIZED)(&flag) != MPI_SUCCESS || !flag || is_finalized() ||
        QMPI_PMPI(Query_thread, QUERY_THREAD)(&level) != MPI_SUCCESS)
        return -1;
    return level;
}

static const void *code_of_context(QMPI_Context context)
{
    const int tool_id = context->tool_id, number = context->function_id;
    const struct qmpi_layer *layer = qmpi_layer_get(tool_id);
    qmpi_function *code = NULL;
    if (!layer)
        return NULL;
    if (layer->functions[number])
        code = layer->functions[number];
    else if (layer->mpich_functions && layer->mpich_functions[number])
        code = layer->mpich_functions[number];
    else if (layer->observing && layer->observing[number])
        code = (qmpi_function *)(qmpi_observers[tool_id].before != qmpi_observe_nothing
                                     ? qmpi_observers[tool_id].before
                                     : qmpi_observers[tool_id].after);
    return (const void *)(uintptr_t)code;
}

/* The observers of all nodes that check layers, in one array. */
static const QMPIX_Observer *check_observers;
static size_t check_count;

static const struct qmpi_validate_place *place_of_context(QMPI_Context context)
{
    const QMPIX_Observer *observer = qmpi_chain_observer(context);
    return observer >= check_observers && observer < check_observers + check_count ? observer->data
                                                                                   : NULL;
}

/* Creates the observers of the nodes that check layers. They exist for the whole run. */
static void create_checks(int layers, const QMPIX_Observer *callbacks, qmpi_function *const *below)
{
    const size_t count = (size_t)layers + 1;
    QMPIX_Observer *observers = qmpi_memory_permanent(count * QMPI_CHECK_COUNT, sizeof *observers);
    struct qmpi_validate_place *places =
        qmpi_memory_permanent(count * QMPI_CHECK_COUNT, sizeof *places);
    const void *(*rows)[QMPI_CHECK_COUNT] = qmpi_memory_permanent(count, sizeof *rows);
    for (int tool_id = 1; tool_id <= layers; tool_id++) {
        for (int kind = 0; kind < QMPI_CHECK_COUNT; kind++) {
            const int i = tool_id * QMPI_CHECK_COUNT + kind;
            places[i] = (struct qmpi_validate_place){tool_id, kind};
            observers[i] = *callbacks;
            observers[i].data = &places[i];
            observers[i].flags = QMPIX_OBSERVE_ACTS;
            rows[tool_id][kind] = &observers[i];
        }
    }
    check_observers = observers;
    check_count = count * QMPI_CHECK_COUNT;
    qmpi_chain_check(
        &(struct qmpi_chain_checks){.functions = qmpi_observing,
                                    .below = below,
                                    .observers = (const void *const(*)[QMPI_CHECK_COUNT])rows});
}

/* Observes calls of PMPI_X with two nodes for each function: one of the observer, and one that
 * calls the original target of PMPI_X. */
static void watch_pmpi(const QMPIX_Observer *callbacks)
{
    static struct qmpi_validate_place place = {0, QMPI_VALIDATE_PMPI};
    static QMPIX_Observer observer;
    struct qmpi_node *nodes = qmpi_memory_permanent((size_t)QMPI_FUNCTION_COUNT * 2, sizeof *nodes);
    QMPI_Context row[QMPI_FUNCTION_COUNT] = {NULL};
    observer = *callbacks;
    observer.data = &place;
    observer.flags = QMPIX_OBSERVE_ACTS;
    for (int number = 0; number < QMPI_FUNCTION_COUNT; number++) {
        struct qmpi_node *upper = &nodes[2 * number], *lower = upper + 1;
        if (!qmpi_pmpi_targets[number] || !qmpi_observing[number])
            continue;
        lower->node.function = qmpi_dispatch_functions[number].pmpi_adapter;
        lower->node.function_id = number;
        lower->node.data = (const void *)(uintptr_t)qmpi_pmpi_targets[number];
        upper->node.function = qmpi_observing[number];
        upper->node.function_id = number;
        upper->node.next = &lower->node;
        upper->observer = &observer;
        row[number] = &upper->node;
    }
    if (!qmpi_thunk_prepare(row)) /* this system does not allow thunks; other checks continue */
        return;
    for (int number = 0; number < QMPI_FUNCTION_COUNT; number++) {
        if (row[number])
            qmpi_pmpi_targets[number] = qmpi_thunk_node_function(row[number]);
    }
}

static struct qmpi_validate_module module = {.callbacks = {.size = sizeof module.callbacks}};

void qmpi_validate_loaded(int tool_id)
{
    if (module.loaded)
        module.loaded(tool_id);
}

void qmpi_validate_finalize(int tool_id, qmpi_validate_finalizer *finalizer, uint64_t ticks)
{
    if (module.finalize)
        module.finalize(tool_id, finalizer, ticks);
    else
        finalizer(tool_id, ticks);
}

char *qmpi_validate_open(int layers)
{
    static struct qmpi_validate_host host = {.print = qmpi_print,
                                             .declares = qmpi_registry_declares,
                                             .misregisters = layer_misregisters,
                                             .contains = layer_contains,
                                             .code = code_of_context,
                                             .redirect = redirect_layer,
                                             .range = range_of_layer,
                                             .thread_level = thread_level,
                                             .is_finalized = is_finalized,
                                             .place = place_of_context,
                                             .observing = qmpi_observing,
                                             .unwind = qmpi_call_stack_unwind};
    const char *value = qmpi_setting("QMPI_VALIDATE");
    const QMPIX_Function *described;
    bool validates = false;
    if (value && *value && !qmpi_value_boolean(value, &validates)) {
        char *shown = qmpi_message_shorten(value);
        char *problem = qmpi_message("invalid value '%s'\nhint: set it to " QMPI_VALUE_YES, shown);
        free(shown);
        return problem;
    }
    if (!validates)
        return NULL;
    char *path = qmpi_format("%s/%s", qmpi_installation_folder(), QMPI_VALIDATE_FILE);
    void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    qmpi_validate_starter *const start =
        library ? (qmpi_validate_starter *)(uintptr_t)dlsym(library, QMPI_VALIDATE_START) : NULL;
    free(path);
    if (!start)
        return qmpi_message("QMPI_VALIDATE=yes: %s\nhint: install qmpi again, or unset this "
                            "variable",
                            dlerror());
    /* Creates the descriptions of all functions. The records of checked calls refer to them, even
     * if no tool has an observer. */
    QMPIX_Function_describe(MPI_INIT_T, &described);
    host.layers = layers;
    start(&host, &module);
    create_checks(layers, &module.callbacks, module.below);
    watch_pmpi(&module.callbacks);
    return NULL;
}
