/* SPDX-License-Identifier: MIT */
/* See fortran.h. */
#define _GNU_SOURCE
#include "redirect/fortran.h"

#include "elf/elf.h"
#include "pmpi/pmpi.h"
#include "process/process.h"
#include "redirect/fortran_inits.h"
#include "registry/registry.h"
#include "util/util.h"

#include <dlfcn.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

/* ---- Definitions of procedures --------------------------------------------------------------- */

/*
 * The objects in the process that define MPI's Fortran procedures. The loader resolves a reference
 * of the program to the first definition. If the first definition is in a language binding or a
 * tool, libqmpi decides which definition the program calls. If it is in the program, or in a
 * library that replaces procedures but no C functions, libqmpi does not change the reference.
 */
enum definer_kind { FOREIGN, TOOL, BINDING };

struct definer {
    struct qmpi_elf_loaded object;
    enum definer_kind kind;
};

struct definers {
    struct definer *all;
    int count;
};

static struct definers definers; /* in the order of the loader; includes all tools, even those that
                                    define no procedures */

static void add_definer(struct definers *list, const struct qmpi_elf_loaded *object,
                        enum definer_kind kind)
{
    list->all = qmpi_memory_grow(list->all, list->count, sizeof *list->all);
    list->all[list->count++] = (struct definer){*object, kind};
}

/* Returns whether the list contains the object at this address as a tool, or as an object that a
 * tool needs. */
static bool has_tool(const struct definers *list, ElfW(Addr) base)
{
    for (int i = 0; i < list->count; i++) {
        if (list->all[i].kind == TOOL && list->all[i].object.base == base)
            return true;
    }
    return false;
}

static struct definers find_tools(void)
{
    struct definers tools = {NULL, 0};
    qmpi_preloaded_find();
    for (int i = 0; i < qmpi_preloaded_count(); i++) {
        const struct qmpi_preloaded_tool *preloaded = qmpi_preloaded_get(i);
        if (preloaded->program)
            continue;
        int count;
        struct qmpi_elf_loaded *dependencies = qmpi_closure_of(&preloaded->object, &count);
        for (int k = 0; k < count; k++)
            add_definer(&tools, &dependencies[k], TOOL);
        free(dependencies);
    }
    return tools;
}

static int add_if_definer(struct dl_phdr_info *info, size_t size, void *data)
{
    const struct definers *tools = data;
    struct qmpi_elf_loaded object;
    (void)size;
    if (!qmpi_elf_loaded_read(info, &object))
        return 0;
    if (has_tool(tools, object.base))
        add_definer(&definers, &object, TOOL);
    else if (qmpi_object_is_binding(&object))
        add_definer(&definers, &object, BINDING);
    else if (!qmpi_object_is_mpi(&object) && qmpi_binding_has_procedures(&object.image))
        add_definer(&definers, &object, FOREIGN);
    return 0;
}

/* Records the objects that define procedures. Called once, by the constructor or before the stack
 * is built. */
static void find_definers(void)
{
    struct definers tools = find_tools();
    qmpi_elf_walk(add_if_definer, &tools);
    free(tools.all);
    /* Keeps the objects loaded, because they are searched later. */
    for (int i = 0; i < definers.count; i++) {
        if (*definers.all[i].object.name)
            dlopen(definers.all[i].object.name, RTLD_LAZY | RTLD_NOLOAD | RTLD_NODELETE);
    }
}

/*
 * Returns whether to redirect a reference of `object` to this procedure. This is the case if the
 * first definition is in a binding or a tool. If no recorded object defines the procedure, because
 * the binding was loaded later, `object` must not define it, either.
 */
static bool is_redirectable(const struct qmpi_elf_loaded *object, const char *name)
{
    for (int i = 0; i < definers.count; i++) {
        if (qmpi_elf_loaded_find(&definers.all[i].object, name))
            return definers.all[i].kind != FOREIGN;
    }
    return !qmpi_elf_loaded_find(object, name);
}

/* ---- Targets --------------------------------------------------------------------------------- */

/* mpi_f08 has its own constants, which are initialized by a procedure of its own. */
enum module { PLAIN, F08, MODULES };

static const struct {
    const char *name;
    enum module module;
} inits[] = {
#define INIT(NUMBER, NAME, GROUP) [NUMBER] = {NAME, GROUP},
    QMPI_FORTRAN_INITS(INIT)
#undef INIT
};
enum { INITS = sizeof inits / sizeof *inits };

/* [number]: code that calls qmpi_fortran_first. */
extern qmpi_function *const qmpi_fortran_deferred[INITS] QMPI_HIDDEN;

QMPI_LOCK(lock);
static void (*build_stack)(void); /* builds the stack unless it exists */
static bool (*is_called)(int tool_id, int number);

/* The PMPI tool on top of the stack, if it has Fortran wrappers. Accessed under the lock. */
static const struct qmpi_layer_group *top;
static bool has_init[MODULES]; /* whether `top` has a wrapper for initialization that is used */
static struct qmpi_fortran_wrappers wrappers; /* of `top` */

/* [tool_id]: whether the program has called the tool's wrapper for initialization. Accessed under
 * the lock. */
static bool initialized[QMPI_LAYERS_MAX + 1][MODULES];

static int find_init(const char *name)
{
    for (int i = 0; i < INITS; i++) {
        if (!strcmp(inits[i].name, name))
            return i;
    }
    return -1;
}

/* Returns the wrapper of the tool on top, or NULL if there is no wrapper or it is not used. */
static void *used_wrapper(const char *name)
{
    const int number = qmpi_binding_function(name);
    return top && number >= 0 && !wrappers.unused[number] ? qmpi_layer_group_find(top, name) : NULL;
}

/* Returns whether the program may call wrappers of a module: it has called the top tool's wrapper
 * for initialization in this module. If the tool has none for this module, the one for the other
 * module counts. If the tool has neither, returns true. */
static bool is_ready(enum module module)
{
    const enum module other = module == PLAIN ? F08 : PLAIN;
    const bool *done = initialized[top->layer->tool_id];
    return done[module] || (!has_init[module] && (done[other] || !has_init[other]));
}

/* Returns the binding's procedure of this name, or NULL if there is none or references of the
 * object to it are not redirected. */
static void *redirectable_procedure(const struct qmpi_elf_loaded *object, const char *name)
{
    void *procedure = qmpi_binding_is_procedure(name) ? qmpi_binding_find(name) : NULL;
    return procedure && is_redirectable(object, name) ? procedure : NULL;
}

/* Returns the wrapper of the tool on top that the program is to call now, or NULL if there is no
 * such wrapper. */
static void *called_wrapper(const char *name)
{
    if (!top || !is_ready(strstr(name, "_f08") ? F08 : PLAIN) ||
        !is_called(top->layer->tool_id, qmpi_binding_function(name)))
        return NULL;
    return used_wrapper(name);
}

static void *fortran_target(void *data, const char *name, enum qmpi_elf_reference reference)
{
    (void)reference;
    void *procedure = redirectable_procedure(data, name);
    if (!procedure)
        return NULL;
    const int init = find_init(name);
    if (init >= 0)
        return (void *)(uintptr_t)qmpi_fortran_deferred[init];
    void *wrapper = called_wrapper(name);
    return wrapper ? wrapper : procedure;
}

static void *any_fortran_target(void *data, const char *name, enum qmpi_elf_reference reference)
{
    (void)reference;
    return redirectable_procedure(data, name);
}

/* Returns whether an object belongs to the program, and not to MPI or a tool, and calls
 * procedures. */
static bool is_caller(void *data, const struct qmpi_elf_loaded *object)
{
    (void)data;
    return !has_tool(&definers, object->base) && !qmpi_object_is_mpi(object) &&
           !qmpi_layer_group_of(object->image.dynamic) &&
           qmpi_elf_refers(object, any_fortran_target, (void *)(uintptr_t)object);
}

struct qmpi_fortran_callers qmpi_fortran_hold(void)
{
    struct qmpi_fortran_callers callers = {NULL, 0};
    if (qmpi_binding_any)
        callers.held = qmpi_elf_hold(is_caller, NULL, &callers.count);
    return callers;
}

void qmpi_fortran_release(struct qmpi_fortran_callers *callers)
{
    qmpi_elf_release(callers->held, callers->count);
    *callers = (struct qmpi_fortran_callers){NULL, 0};
}

static void redirect_caller(void *data)
{
    struct qmpi_elf_loaded *object = data;
    char *problem = qmpi_elf_rewrite(object, fortran_target, object);
    if (problem)
        qmpi_debug(QMPI_TOPIC_LOAD, "Fortran calls of %s are not redirected: %-s", object->name,
                   problem);
    free(problem);
}

/* Sets the targets of the references of these objects, without allocating memory except for
 * messages. */
static void redirect_callers(const struct qmpi_fortran_callers *callers)
{
    for (int i = 0; i < callers->count; i++)
        qmpi_memory_catch_exhausted(redirect_caller, &callers->held[i].object);
}

bool qmpi_fortran_has_wrappers(const struct qmpi_layer_group *group)
{
    for (int i = 0; i < group->count && !qmpi_fortran_wrappers_excluded(group->layer); i++) {
        if (qmpi_binding_has_procedures(&group->objects[i].image))
            return true;
    }
    return false;
}

static void begin_fortran(void (*start)(void), bool (*passes)(int tool_id, int number))
{
    build_stack = start;
    is_called = passes;
    if (!qmpi_binding_any)
        return;
    find_definers();
    struct qmpi_fortran_callers callers = qmpi_fortran_hold();
    redirect_callers(&callers);
    qmpi_fortran_release(&callers);
}

void qmpi_fortran_begin(void (*start)(void), bool (*passes)(int tool_id, int number),
                        bool in_constructor)
{
    QMPI_LOCK(beginning);
    static bool begun;
    /* A thread in a constructor may hold the loader's lock. It must not wait here, because the
     * thread that runs begin_fortran may need that lock. */
    if (!in_constructor)
        pthread_mutex_lock(&beginning);
    else if (pthread_mutex_trylock(&beginning) != 0)
        return;
    if (!begun)
        begin_fortran(start, passes);
    begun = true;
    pthread_mutex_unlock(&beginning);
}

void qmpi_fortran_set_callers(const struct qmpi_layer_group *group,
                              const struct qmpi_fortran_callers *callers)
{
    if (!qmpi_binding_any)
        return;
    pthread_mutex_lock(&lock);
    const bool was_redirected = top || qmpi_preloaded_count();
    top = group && qmpi_fortran_has_wrappers(group) ? group : NULL;
    if (top)
        wrappers = qmpi_fortran_wrappers_read(top);
    for (int module = PLAIN; module < MODULES; module++)
        has_init[module] = false;
    for (int i = 0; top && i < INITS; i++)
        has_init[inits[i].module] |= used_wrapper(inits[i].name) != NULL;
    if (top || was_redirected)
        redirect_callers(callers);
    pthread_mutex_unlock(&lock);
}

qmpi_function *qmpi_fortran_first(int number, const void *caller)
{
    (void)caller;
    build_stack();
    const char *name = inits[number].name;
    struct qmpi_fortran_callers callers = qmpi_fortran_hold();
    pthread_mutex_lock(&lock);
    void *wrapper = used_wrapper(name);
    if (wrapper) {
        initialized[top->layer->tool_id][inits[number].module] = true;
        redirect_callers(&callers);
    }
    pthread_mutex_unlock(&lock);
    qmpi_fortran_release(&callers);
    return (qmpi_function *)(uintptr_t)(wrapper ? wrapper : qmpi_binding_find(name));
}
