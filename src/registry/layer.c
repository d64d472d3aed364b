/* SPDX-License-Identifier: MIT */
/* See layer.h. */
#define _GNU_SOURCE
#include "registry/layer.h"

#include "util/util.h"

#include <dlfcn.h>
#include <link.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unwind.h>

static struct qmpi_layer **layers; /* [tool_id] */
static int layer_count;
static void **storage;

/* The layer whose init this thread is running, or NULL. */
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
            qmpi_memory_permanent(QMPI_FUNCTION_COUNT, sizeof(qmpi_function *));
    }
    layer_count = count;
}

struct qmpi_layer *qmpi_layer_get(int tool_id)
{
    return tool_id >= 1 && tool_id <= layer_count ? layers[tool_id] : NULL;
}

/* Returns the value of an option in the entry, or NULL if it is not given. */
static const char *find_given_option(const struct qmpi_layer *layer, const char *key)
{
    for (int i = 0; i < layer->entry->option_count; i++) {
        if (!strcmp(layer->entry->options[i].key, key))
            return layer->entry->options[i].value;
    }
    return NULL;
}

/* Returns whether the name of an option covers `key`. A final `*` in the name means any text. */
static bool option_covers(const char *name, const char *key)
{
    const size_t length = strlen(name);
    return length && name[length - 1] == '*' ? !strncmp(name, key, length - 1) : !strcmp(name, key);
}

static const QMPIX_Tool_option *find_option(const QMPIX_Tool_info *info, const char *key)
{
    const QMPIX_Tool_option *option = info ? info->options : NULL;
    while (option && option->name && !option_covers(option->name, key))
        option++;
    return option && option->name ? option : NULL;
}

static const char *name_of_option(const void *options, int index)
{
    return ((const QMPIX_Tool_option *)options)[index].name;
}

static char *refuse_option(const char *tool, const char *key, const QMPIX_Tool_option *options)
{
    char *known = qmpi_copy(""), *shown = qmpi_message_shorten(key);
    for (const QMPIX_Tool_option *option = options; option && option->name; option++) {
        char *longer = qmpi_format("%s%s%s", known, *known ? ", " : "", option->name);
        free(known);
        known = longer;
    }
    const char *similar = options ? qmpi_text_suggest(key, name_of_option, options) : NULL;
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

/* Refuses options that the description of the tool does not list. If the tool has no description,
 * accepts all. */
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

/* ---- init and its exceptions ----------------------------------------------------------------- */

/*
 * Exceptions that left init would leave locks of libqmpi and of the loader held. The frame that
 * catches them is assembly code (arch/catch_PROCESSOR.S), with a personality routine of its own
 * (see the Itanium C++ ABI, part 1): the search for a handler ends there, whatever the exception
 * is, unless the thread is being cancelled.
 */

/* Calls function(argument). Returns the exception that it threw, or NULL if it returned. */
struct _Unwind_Exception *qmpi_catch_call(void (*function)(int), int argument) QMPI_HIDDEN;
extern const char qmpi_catch_landing[] QMPI_HIDDEN;
_Unwind_Reason_Code qmpi_catch_personality(int version, _Unwind_Action actions,
                                           _Unwind_Exception_Class class,
                                           struct _Unwind_Exception *exception,
                                           struct _Unwind_Context *context) QMPI_HIDDEN;

_Unwind_Reason_Code qmpi_catch_personality(int version, _Unwind_Action actions,
                                           _Unwind_Exception_Class class,
                                           struct _Unwind_Exception *exception,
                                           struct _Unwind_Context *context)
{
    (void)class;
    if (version != 1)
        return _URC_FATAL_PHASE1_ERROR;
    if (actions & _UA_FORCE_UNWIND) /* the thread is cancelled */
        return _URC_CONTINUE_UNWIND;
    if (actions & _UA_SEARCH_PHASE)
        return _URC_HANDLER_FOUND;
    _Unwind_SetGR(context, __builtin_eh_return_data_regno(0), (_Unwind_Word)(uintptr_t)exception);
    _Unwind_SetIP(context, (_Unwind_Ptr)(uintptr_t)qmpi_catch_landing);
    return _URC_INSTALL_CONTEXT;
}

/* Functions of the C++ runtime. A program in C does not have them in its global scope. */
struct cpp_runtime {
    void *(*begin_catch)(void *exception);
    void (*end_catch)(void);
    const struct type_info {
        const void *table;
        const char *name;
    } * (*current_type)(void);
    char *(*demangle)(const char *name, char *buffer, size_t *length, int *status);
};

/* Finds the C++ runtime among the libraries of the object that contains `code`. */
static bool find_cpp_runtime(const void *code, struct cpp_runtime *runtime)
{
    static const char *const names[] = {"__cxa_begin_catch", "__cxa_end_catch",
                                        "__cxa_current_exception_type", "__cxa_demangle"};
    void *found[4];
    Dl_info info;
    struct link_map *map = NULL;
    if (!dladdr1(code, &info, (void **)&map, RTLD_DL_LINKMAP) || !map)
        return false;
    void *handle = dlopen(map->l_name, RTLD_LAZY | RTLD_NOLOAD);
    for (size_t i = 0; i < 4; i++) {
        found[i] = handle ? dlsym(handle, names[i]) : NULL;
        if (!found[i])
            return false;
    }
    memcpy(runtime, found, sizeof found);
    return true;
}

static bool is_cpp_exception(const struct _Unwind_Exception *exception)
{
    char class[sizeof exception->exception_class];
    memcpy(class, &exception->exception_class, sizeof class);
    /* The lower four bytes give the language. The lowest one distinguishes primary from dependent
     * exceptions. */
    return !memcmp(&class[1], "++C", 3);
}

static char *describe_current_exception(const struct cpp_runtime *runtime)
{
    const struct type_info *type = runtime->current_type();
    if (!type)
        return qmpi_copy("an exception");
    int status = 0;
    const char *mangled = type->name + (*type->name == '*');
    char *plain = runtime->demangle(mangled, NULL, NULL, &status);
    char *text = qmpi_format("an exception of type %s", plain ? plain : mangled);
    free(plain);
    return text;
}

/*
 * Calls function(argument). Returns NULL if it returned. If it threw an exception of C++ or another
 * language, destroys the exception and returns its type as text, which the caller frees. `code` is
 * an address in the tool.
 */
static char *call_and_catch(void (*function)(int), int argument, const void *code)
{
    struct cpp_runtime runtime;
    struct _Unwind_Exception *exception = qmpi_catch_call(function, argument);
    if (!exception)
        return NULL;
    if (!is_cpp_exception(exception) || !find_cpp_runtime(code, &runtime)) {
        _Unwind_DeleteException(exception);
        return qmpi_copy("an exception");
    }
    runtime.begin_catch(exception);
    char *text = describe_current_exception(&runtime);
    runtime.end_catch();
    return text;
}

bool qmpi_layer_is_initialising(const struct qmpi_layer *layer)
{
    return initialising == layer;
}

/* Reports a process that ends by exit in an init function, because no other message would name the
 * tool. `initialising` is that of the thread that called exit, which also runs the destructors. */
__attribute__((destructor)) static void report_exit(void)
{
    if (initialising)
        qmpi_printf("layer %d (%s): the init function of the tool ended the process with exit\n"
                    "  hint: correct its options or its environment, or remove it from the stack; "
                    "the developer of the tool should report errors with QMPIX_Tool_fail",
                    initialising->tool_id, initialising->name);
}

int qmpi_layer_note_registration(const char *call, int result)
{
    if (result == MPI_SUCCESS || !initialising)
        return result;
    if (!initialising->refusals++) {
        initialising->refused = call;
        initialising->refused_with = result;
    }
    return result;
}

int qmpi_layer_check_registration(const char *call, int tool_id, bool is_valid)
{
    const struct qmpi_layer *layer = qmpi_layer_get(tool_id);
    const int other = layer == initialising ? MPI_SUCCESS : MPI_ERR_OTHER;
    return qmpi_layer_note_registration(call, layer && is_valid ? other : MPI_ERR_ARG);
}

static const char *name_class(int error_class)
{
    return error_class == MPI_ERR_ARG      ? "MPI_ERR_ARG"
           : error_class == MPI_ERR_NO_MEM ? "MPI_ERR_NO_MEM"
                                           : "MPI_ERR_OTHER";
}

/* Reports refused registrations, because tools that ignore the return codes would miss calls
 * without notice. */
static void report_refusals(const struct qmpi_layer *layer)
{
    if (!layer->refusals || layer->failure || !qmpi_launcher_reports())
        return;
    char *others = layer->refusals > 1 ? qmpi_format(", and %d more", layer->refusals - 1) : NULL;
    qmpi_printf(
        "layer %d (%s): a registration in the init function of the tool failed: %s returned "
        "%s%s\n"
        "  hint: the developer of the tool should correct the arguments of this call; its "
        "manual page names the errors",
        layer->tool_id, layer->name, layer->refused, name_class(layer->refused_with),
        others ? others : "");
    free(others);
}

char *qmpi_layer_init(struct qmpi_layer *layer)
{
    char *problem = check_options(layer);
    if (problem)
        return problem;
    initialising = layer;
    char *thrown = call_and_catch(layer->tool->init, layer->tool_id,
                                  (const void *)(uintptr_t)layer->tool->init);
    initialising = NULL;
    report_refusals(layer);
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

static int register_storage(int tool_id, void *tool_storage)
{
    if (!qmpi_layer_get(tool_id))
        return MPI_ERR_ARG;
    /* In MPICH's variant, storage may also be registered later. */
    if (initialising != qmpi_layer_get(tool_id) && !qmpi_layer_get(tool_id)->mpich)
        return MPI_ERR_OTHER;
    storage[tool_id] = tool_storage;
    return MPI_SUCCESS;
}

int QMPI_Register_tool_storage(int tool_id, void *tool_storage)
{
    return qmpi_layer_note_registration(__func__, register_storage(tool_id, tool_storage));
}

__typeof__(QMPI_Register_tool_storage) qmpi_tool_register_storage
    __attribute__((alias("QMPI_Register_tool_storage")));

/* This function is inlined, because start-up calls it thousands of times. */
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
            qmpi_memory_permanent(QMPI_FUNCTION_COUNT, sizeof *layer->mpich_functions);
    layer->functions[number] = NULL;
    layer->mpich_functions[number] = fp;
    return MPI_SUCCESS;
}

static qmpi_layer_late_intercept *late_intercept;

void qmpi_layer_use_switch(qmpi_layer_late_intercept *intercept)
{
    late_intercept = intercept;
}

/* A separate function, so that successful registrations need no frame. */
__attribute__((noinline)) static int refuse_function(int tool_id, int number, qmpi_function *fp,
                                                     int result)
{
    if (result == MPI_ERR_OTHER && late_intercept)
        result = late_intercept(tool_id, number, fp);
    return qmpi_layer_note_registration("QMPI_Register_tool_function", result);
}

int QMPI_Register_tool_function(int tool_id, enum QMPI_Functions_enum fn, void (*fp)(void))
{
    const int number = (int)fn;
    const int result = check_interceptor(tool_id, number, fp);
    if (result != MPI_SUCCESS)
        return refuse_function(tool_id, number, fp, result);
    initialising->functions[number] = fp;
    if (initialising->mpich_functions)
        initialising->mpich_functions[number] = NULL;
    return MPI_SUCCESS;
}

int QMPIX_Tool_get_skip_errors(int tool_id, int *skip)
{
    const struct qmpi_layer *layer = qmpi_layer_get(tool_id);
    if (!layer || !skip)
        return MPI_ERR_ARG;
    *skip = qmpi_settings_skip_errors(layer->entry->on_error);
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
    const char *given = find_given_option(layer, key);
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

static bool has_only_observer(const struct qmpi_layer *layer)
{
    for (int number = 0; layer->observing && number < QMPI_FUNCTION_COUNT; number++) {
        if (layer->functions[number])
            return false;
    }
    return layer->observing;
}

int QMPIX_Tool_get_binding(int tool_id, const char **text)
{
    const struct qmpi_layer *layer = qmpi_layer_get(tool_id);
    if (!layer || !text)
        return MPI_ERR_ARG;
    *text = layer->details             ? layer->details
            : layer->mpich             ? "QMPI tool, MPICH's variant"
            : has_only_observer(layer) ? "QMPI tool, observer"
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
        source = qmpi_tool_entry_source(layer->entry);
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

/* ---- Groups of objects ----------------------------------------------------------------------- */

/* The list of all groups. A complete group is added at the front, with release. Any thread may load
 * the list, with acquire. */
static struct qmpi_layer_group *groups;

struct qmpi_layer_group *qmpi_layer_group_make(struct qmpi_layer *layer,
                                               const struct qmpi_elf_loaded *objects, int count,
                                               char *shares)
{
    struct qmpi_layer_group *group = qmpi_allocate(1, sizeof *group);
    group->layer = layer;
    group->shares = shares;
    group->objects = qmpi_allocate((size_t)count, sizeof *group->objects);
    group->count = count;
    for (int i = 0; i < count; i++) {
        group->objects[i] = objects[i];
        group->objects[i].name = qmpi_copy(objects[i].name);
    }
    group->next = qmpi_layer_group_first();
    while (!__atomic_compare_exchange_n(&groups, &group->next, group, false, __ATOMIC_RELEASE,
                                        __ATOMIC_ACQUIRE))
        continue;
    return group;
}

struct qmpi_layer_group *qmpi_layer_group_of(const void *address)
{
    struct qmpi_layer_group *group = qmpi_layer_group_first();
    for (; group; group = group->next) {
        for (int i = 0; i < group->count; i++) {
            if (qmpi_elf_loaded_contains(&group->objects[i], address))
                return group;
        }
    }
    return NULL;
}

void *qmpi_layer_group_find(const struct qmpi_layer_group *group, const char *name)
{
    for (int i = 0; i < group->count; i++) {
        void *address = qmpi_elf_loaded_find(&group->objects[i], name);
        if (address)
            return address;
    }
    return NULL;
}

struct qmpi_layer_group *qmpi_layer_group_first(void)
{
    return __atomic_load_n(&groups, __ATOMIC_ACQUIRE);
}

bool qmpi_layer_group_begins_with(const struct qmpi_elf_loaded *object)
{
    for (const struct qmpi_layer_group *group = qmpi_layer_group_first(); group;
         group = group->next) {
        if (group->objects[0].base == object->base)
            return true;
    }
    return false;
}
