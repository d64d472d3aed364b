/* SPDX-License-Identifier: MIT */
/* See fortran.h. */
#define _GNU_SOURCE
#include "redirect/fortran.h"

#include "elf/elf.h"
#include "process/process.h"
#include "redirect/fortran_inits.h"
#include "redirect/procedures.h"
#include "registry/registry.h"
#include "util/util.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

/* mpi_f08 has constants of its own, which another procedure initializes. */
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

/* By their numbers: the code that calls qmpi_fortran_first. */
extern qmpi_function *const qmpi_fortran_deferred[INITS] QMPI_HIDDEN;

QMPI_LOCK(lock);
static void (*build_stack)(void); /* if nobody has */
static bool (*is_called)(int tool_id, int number);

/* The PMPI tool on top of the stack, if it has Fortran wrappers. Under the lock. */
static const struct qmpi_group *top;
static bool has_init[MODULES]; /* one for initialization */

/* [tool_id]: the program has gone through its wrapper for initialization. Under the lock. */
static bool began[QMPI_LAYERS_MAX + 1][MODULES];

static int find_init(const char *name)
{
    for (int i = 0; i < INITS; i++) {
        if (!strcmp(inits[i].name, name))
            return i;
    }
    return -1;
}

/* Whether the wrappers of the tool on top have what they may need. */
static bool is_ready(enum module module)
{
    const enum module other = module == PLAIN ? F08 : PLAIN;
    const bool *done = began[top->layer->tool_id];
    return done[module] || (!has_init[module] && (done[other] || !has_init[other]));
}

/* The binding's procedure of this name, if references of an object to it are ours to lead. */
static void *procedure_of(const struct qmpi_elf_loaded *object, const char *name)
{
    void *procedure = qmpi_procedures_named(name) ? qmpi_binding_find(name) : NULL;
    return procedure && qmpi_procedures_led(object, name) ? procedure : NULL;
}

/* The wrapper of the tool on top, if the program is to call it. */
static void *wrapper_of(const char *name)
{
    if (!top || !is_ready(strstr(name, "_f08") ? F08 : PLAIN) ||
        !is_called(top->layer->tool_id, qmpi_procedures_function(name)))
        return NULL;
    return qmpi_group_find(top, name);
}

static void *target_of(void *data, const char *name, enum qmpi_binding binding)
{
    (void)binding;
    void *procedure = procedure_of(data, name);
    if (!procedure)
        return NULL;
    const int init = find_init(name);
    if (init >= 0)
        return (void *)(uintptr_t)qmpi_fortran_deferred[init];
    void *wrapper = wrapper_of(name);
    return wrapper ? wrapper : procedure;
}

static void *any_target(void *data, const char *name, enum qmpi_binding binding)
{
    (void)binding;
    return procedure_of(data, name);
}

/* The program and its libraries: all that is neither MPI nor a tool. */
static bool is_caller(void *data, const struct qmpi_elf_loaded *object)
{
    (void)data;
    return !qmpi_procedures_of_tool(object->base) && !qmpi_is_mpi(object) &&
           !qmpi_group_of(object->image.dynamic) &&
           qmpi_elf_refers(object, any_target, (void *)(uintptr_t)object);
}

struct qmpi_fortran_callers qmpi_fortran_hold(void)
{
    struct qmpi_fortran_callers callers = {NULL, 0};
    if (qmpi_binding_any)
        callers.held = qmpi_elf_hold(is_caller, NULL, &callers.count);
    return callers;
}

void qmpi_fortran_let_go(struct qmpi_fortran_callers *callers)
{
    qmpi_elf_let_go(callers->held, callers->count);
    *callers = (struct qmpi_fortran_callers){NULL, 0};
}

static void set_callers(const struct qmpi_fortran_callers *callers)
{
    for (int i = 0; i < callers->count; i++) {
        struct qmpi_elf_loaded *object = &callers->held[i].object;
        char *problem = qmpi_elf_rewrite(object, target_of, object);
        if (problem)
            qmpi_debug(QMPI_TOPIC_LOAD, "Fortran calls of %s are not redirected: %-s", object->name,
                       problem);
        free(problem);
    }
}

bool qmpi_fortran_has_wrappers(const struct qmpi_group *group)
{
    for (int i = 0; i < group->count; i++) {
        if (qmpi_procedures_defined(&group->objects[i].image))
            return true;
    }
    return false;
}

void qmpi_fortran_begin(void (*start)(void), bool (*passes)(int tool_id, int number))
{
    build_stack = start;
    is_called = passes;
    if (!qmpi_binding_any)
        return;
    qmpi_procedures_find();
    struct qmpi_fortran_callers callers = qmpi_fortran_hold();
    set_callers(&callers);
    qmpi_fortran_let_go(&callers);
}

void qmpi_fortran_set_callers(const struct qmpi_group *group,
                              const struct qmpi_fortran_callers *callers)
{
    if (!qmpi_binding_any)
        return;
    pthread_mutex_lock(&lock);
    const bool led = top || qmpi_preloaded_count();
    top = group && qmpi_fortran_has_wrappers(group) ? group : NULL;
    for (int module = PLAIN; module < MODULES; module++)
        has_init[module] = false;
    for (int i = 0; top && i < INITS; i++)
        has_init[inits[i].module] |= qmpi_group_find(top, inits[i].name) != NULL;
    if (top || led)
        set_callers(callers);
    pthread_mutex_unlock(&lock);
}

qmpi_function *qmpi_fortran_first(int number, const void *caller)
{
    (void)caller;
    build_stack();
    const char *name = inits[number].name;
    struct qmpi_fortran_callers callers = qmpi_fortran_hold();
    pthread_mutex_lock(&lock);
    void *wrapper = top ? qmpi_group_find(top, name) : NULL;
    if (wrapper) {
        began[top->layer->tool_id][inits[number].module] = true;
        set_callers(&callers);
    }
    pthread_mutex_unlock(&lock);
    qmpi_fortran_let_go(&callers);
    return (qmpi_function *)(uintptr_t)(wrapper ? wrapper : qmpi_binding_find(name));
}
