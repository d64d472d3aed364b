/* SPDX-License-Identifier: MIT */
/* See interpose.h. */
#define _GNU_SOURCE
#include "pmpi/interpose.h"

#include "functions/functions.h"
#include "pmpi/closure.h"
#include "pmpi/thunk.h"
#include "process/process.h"
#include "util/util.h"

#include <dlfcn.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* ---- dlsym ----------------------------------------------------------------------------------- */

void *(*qmpi_real_dlsym)(void *handle, const char *name);
void *(*qmpi_next_dlsym)(void *handle, const char *name);

/* A sanitizer calls dlsym before its shadow memory exists, so this code must not be instrumented.
 */
#define EARLY __attribute__((no_sanitize("address", "undefined", "thread")))

EARLY static void find_real_dlsym(void)
{
    qmpi_real_dlsym = qmpi_next_symbol_dlsym();
    qmpi_next_dlsym = (qmpi_next_symbol_finder *)(uintptr_t)qmpi_next_symbol("dlsym");
    if (!qmpi_real_dlsym || !qmpi_next_dlsym)
        abort(); /* all known C libraries define it */
}

void *qmpi_interpose_find_global(const char *name)
{
    if (!qmpi_real_dlsym)
        find_real_dlsym();
    return qmpi_real_dlsym(RTLD_DEFAULT, name);
}

static bool gave_functions[QMPI_LAYERS_MAX + 1]; /* [tool_id]; only for a warning, so that relaxed
                                                    order is enough */

bool qmpi_interpose_gave_functions(int tool_id)
{
    return __atomic_load_n(&gave_functions[tool_id], __ATOMIC_RELAXED);
}

/* Returns the function for a PMPI tool. For PMPI_X, this is the function of the next layer. For
 * MPI_X, it is the tool's own function if the tool has one and `handle` is RTLD_DEFAULT, and
 * otherwise that of the next layer. If `handle` is a library's, and dlsym returns NULL or a
 * function of the layer, this result is returned instead. */
static void *find_for_tool(struct qmpi_layer *layer, void *handle, const char *name, int number,
                           bool pmpi)
{
    const bool named = handle != RTLD_NEXT && handle != RTLD_DEFAULT;
    void *plain = named ? qmpi_real_dlsym(handle, name) : NULL;
    if (named && (!plain || qmpi_pmpi_layer_of(plain) == layer))
        return plain;
    if (!pmpi && !named && handle != RTLD_NEXT && layer->functions[number])
        return (void *)(uintptr_t)layer->functions[number];
    __atomic_store_n(&gave_functions[layer->tool_id], true, __ATOMIC_RELAXED);
    return (void *)(uintptr_t)qmpi_thunk_next_function(layer, number);
}

/* Returns the function for the constructor of a preloaded tool, which runs before the stack
 * exists. */
static void *find_for_constructor(struct qmpi_preloaded_tool *preloaded, void *handle,
                                  const char *name, int number, bool pmpi)
{
    const bool named = handle != RTLD_NEXT && handle != RTLD_DEFAULT;
    void *plain = named ? qmpi_real_dlsym(handle, name) : NULL;
    void *found = qmpi_preloaded_function(preloaded, name);
    if (named && (!plain || plain == found))
        return plain;
    if (!pmpi && handle == RTLD_DEFAULT && found)
        return found;
    return qmpi_thunk_find_deferred(preloaded, number);
}

/* Returns the entry point of MPI_X if a program looks up MPI_X in the MPI library; NULL: the result
 * of dlsym is not changed. */
static void *find_for_program(void *handle, const char *name, int number)
{
    if (handle == RTLD_NEXT || !qmpi_entries[number])
        return NULL;
    void *plain = qmpi_real_dlsym(handle, name);
    /* The comparison suffices once the MPI library has been found; before, a slower search is
     * needed. */
    const bool mpi = plain && (plain == (void *)(uintptr_t)qmpi_pmpi_functions[number] ||
                               qmpi_object_mpi_library_contains(plain));
    return mpi ? (void *)(uintptr_t)qmpi_entries[number] : NULL;
}

/* The bounds of the library that last looked up dlclose. The end is 0 while they change. A reader
 * loads the end before and after the beginning: if both ends are the same, the beginning belongs to
 * them. */
static atomic_uintptr_t dlclose_user_begin, dlclose_user_end;

bool qmpi_interpose_gave_dlclose(const void *function)
{
    const uintptr_t end = atomic_load(&dlclose_user_end);
    const uintptr_t begin = atomic_load(&dlclose_user_begin);
    return (uintptr_t)function >= begin && (uintptr_t)function < end &&
           atomic_load(&dlclose_user_end) == end;
}

/* Whether the libraries that libqmpi needs have been initialized. */
static bool is_constructed;

__attribute__((constructor)) static void set_constructed(void)
{
    is_constructed = true;
}

/*
 * UCX redirects all references to dlclose to a function of its own, and calls from there the
 * dlclose that dlsym returned, which must be libqmpi's. RTLD_NEXT is excluded: it finds libqmpi's
 * dlclose, unless the caller is behind libqmpi in the search order; then the result may be what
 * libqmpi's dlclose itself calls, and replacing it would cause an endless recursion. For the same
 * reason, a caller that finds the C library's dlclose although another library interposes it gets
 * the function that calls the C library. Before libqmpi is initialized, the result is left to the C
 * library, because the library of a sanitizer looks up dlclose before instrumented code may run.
 */
EARLY static bool means_dlclose(void *handle, const char *name)
{
    return is_constructed && handle != RTLD_NEXT && qmpi_exported_dlclose &&
           !strcmp(name, "dlclose");
}

/* Whether a function belongs to the library that defines the C library's dlsym. */
static bool is_of_c_library(const void *function)
{
    struct qmpi_elf_loaded library, its;
    return qmpi_elf_loaded_containing((const void *)(uintptr_t)qmpi_real_dlsym, &library) &&
           qmpi_elf_loaded_containing(function, &its) && its.base == library.base;
}

static void *find_dlclose(void *handle, const char *name, const void *caller)
{
    struct qmpi_elf_loaded asking;
    void *ours = (void *)(uintptr_t)qmpi_exported_dlclose;
    void *const plain = qmpi_real_dlsym(handle, name);
    if (plain != ours && plain != qmpi_next_symbol(name)) {
        if (!plain || !is_of_c_library(plain))
            return NULL;
        ours =
            (void *)(uintptr_t)qmpi_interpose_dlclose_of((qmpi_interpose_closer *)(uintptr_t)plain);
    }
    if (qmpi_elf_loaded_containing(caller, &asking)) {
        const ElfW(Phdr) *last = NULL;
        for (int i = 0; i < asking.segment_count; i++)
            last = asking.segments[i].p_type == PT_LOAD ? &asking.segments[i] : last;
        atomic_store(&dlclose_user_end, 0);
        atomic_store(&dlclose_user_begin, asking.base);
        atomic_store(&dlclose_user_end, last ? asking.base + last->p_vaddr + last->p_memsz : 0);
    }
    return ours;
}

EARLY void *qmpi_interpose_dlsym(void *handle, const char *name, const void *caller)
{
    if (!qmpi_real_dlsym || !qmpi_next_dlsym)
        find_real_dlsym();
    if (name[0] == 'd')
        return means_dlclose(handle, name) ? find_dlclose(handle, name, caller) : NULL;
    const bool pmpi = name[0] == 'P';
    const char *plain = name + pmpi;
    if (plain[0] != 'M' || plain[1] != 'P' || plain[2] != 'I')
        return NULL;
    const int number = qmpi_function_find(plain);
    struct qmpi_layer *layer = number >= 0 && qmpi_pmpi_is_used ? qmpi_pmpi_layer_of(caller) : NULL;
    if (layer)
        return find_for_tool(layer, handle, name, number, pmpi);
    if (number < 0 || !qmpi_entries[number])
        return NULL;
    struct qmpi_preloaded_tool *preloaded =
        qmpi_chain_is_active() ? NULL : qmpi_preloaded_contains(caller);
    if (preloaded)
        return find_for_constructor(preloaded, handle, name, number, pmpi);
    return pmpi ? NULL : find_for_program(handle, name, number);
}

/* ---- Environment ----------------------------------------------------------------------------- */

/* Returns the variable that an option sets for one layer; NULL: the option sets none. */
static const char *variable_of(const struct qmpi_tool_option *option)
{
    static const char prefix[] = "env.";
    return strncmp(option->key, prefix, sizeof prefix - 1) ? NULL : option->key + sizeof prefix - 1;
}

bool qmpi_interpose_wants_environ(const struct qmpi_layer *layer)
{
    for (int i = 0; i < layer->entry->option_count; i++) {
        if (variable_of(&layer->entry->options[i]))
            return true;
    }
    return false;
}

static char *overriding_value(const void *caller, const char *name)
{
    const struct qmpi_layer *layer = qmpi_pmpi_layer_of(caller);
    for (int i = 0; layer && i < layer->entry->option_count; i++) {
        const char *variable = variable_of(&layer->entry->options[i]);
        if (variable && !strcmp(variable, name))
            return layer->entry->options[i].value;
    }
    return NULL;
}

char *qmpi_interpose_getenv(const char *name)
{
    char *value = overriding_value(__builtin_return_address(0), name);
    return value ? value : getenv(name);
}

char *qmpi_interpose_secure_getenv(const char *name)
{
    char *value = overriding_value(__builtin_return_address(0), name);
    return value ? value : secure_getenv(name);
}

static bool is_overridden(const struct qmpi_layer *layer, const char *assignment)
{
    for (int i = 0; i < layer->entry->option_count; i++) {
        const char *variable = variable_of(&layer->entry->options[i]);
        const size_t length = variable ? strlen(variable) : 0;
        if (variable && !strncmp(variable, assignment, length) && assignment[length] == '=')
            return true;
    }
    return false;
}

char ***qmpi_interpose_environ(struct qmpi_layer *layer)
{
    size_t room = (size_t)layer->entry->option_count + 1, count = 0;
    if (layer->environment)
        return &layer->environment;
    for (char **variable = environ; variable && *variable; variable++)
        room++;
    char **environment = qmpi_allocate(room, sizeof *environment);
    for (char **variable = environ; variable && *variable; variable++) {
        if (!is_overridden(layer, *variable))
            environment[count++] = *variable;
    }
    for (int i = 0; i < layer->entry->option_count; i++) {
        const char *variable = variable_of(&layer->entry->options[i]);
        if (variable)
            environment[count++] = qmpi_format("%s=%s", variable, layer->entry->options[i].value);
    }
    layer->environment = environment;
    return &layer->environment;
}

struct qmpi_interpose_saved {
    int count;
    struct {
        const char *name;
        char *value; /* NULL: not set */
    } variables[];
};

struct qmpi_interpose_saved *qmpi_interpose_enter_environ(const struct qmpi_layer *layer)
{
    const int options = layer->entry->option_count;
    struct qmpi_interpose_saved *saved =
        qmpi_allocate(1, sizeof *saved + (size_t)options * sizeof saved->variables[0]);
    for (int i = 0; i < options; i++) {
        const char *name = variable_of(&layer->entry->options[i]);
        if (!name)
            continue;
        const char *value = getenv(name);
        saved->variables[saved->count].name = name;
        saved->variables[saved->count++].value = value ? qmpi_copy(value) : NULL;
        setenv(name, layer->entry->options[i].value, 1);
    }
    return saved;
}

void qmpi_interpose_leave_environ(struct qmpi_interpose_saved *saved)
{
    for (int i = 0; i < saved->count; i++) {
        if (saved->variables[i].value)
            setenv(saved->variables[i].name, saved->variables[i].value, 1);
        else
            unsetenv(saved->variables[i].name);
        free(saved->variables[i].value);
    }
    free(saved);
}

/* ---- Exit handlers --------------------------------------------------------------------------- */

/* A function of the C++ ABI in the C library; no header declares it. */
int __cxa_atexit(void (*function)(void *), void *argument, void *object);

struct exit_handler {
    void (*function)(void *);
    void *argument;
    struct exit_handler *before; /* registered earlier by the same layer */
};

QMPI_LOCK(exit_lock);
static struct exit_handler *last_handlers[QMPI_LAYERS_MAX + 1]; /* [tool_id] */
static bool is_registered; /* run_exit_handlers is registered for the end of the process */

static struct exit_handler *take_exit_handler(int tool_id)
{
    pthread_mutex_lock(&exit_lock);
    struct exit_handler *handler = last_handlers[tool_id];
    if (handler)
        last_handlers[tool_id] = handler->before;
    pthread_mutex_unlock(&exit_lock);
    return handler;
}

static void run_exit_handlers(void)
{
    pthread_mutex_lock(&exit_lock);
    is_registered = false; /* a handler that is registered from here on registers this function
                              again, because its layer may have been handled already */
    pthread_mutex_unlock(&exit_lock);
    for (int tool_id = 1; tool_id <= QMPI_LAYERS_MAX; tool_id++) {
        struct exit_handler *handler;
        while ((handler = take_exit_handler(tool_id))) {
            handler->function(handler->argument);
            free(handler);
        }
    }
}

int qmpi_interpose_cxa_atexit(void (*function)(void *), void *argument, void *object)
{
    const struct qmpi_layer *layer = qmpi_pmpi_layer_of(__builtin_return_address(0));
    if (!layer)
        return __cxa_atexit(function, argument, object);
    struct exit_handler *handler = calloc(1, sizeof *handler);
    if (!handler)
        return -1;
    pthread_mutex_lock(&exit_lock);
    *handler = (struct exit_handler){function, argument, last_handlers[layer->tool_id]};
    last_handlers[layer->tool_id] = handler;
    const bool first = !is_registered;
    is_registered = true;
    pthread_mutex_unlock(&exit_lock);
    return first ? atexit(run_exit_handlers) : 0;
}
