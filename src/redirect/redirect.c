/* SPDX-License-Identifier: MIT */
/* See redirect.h. */
#define _GNU_SOURCE
#include "redirect/redirect.h"

#include "config/config.h"
#include "dispatch/dispatch.h"
#include "elf/elf.h"
#include "functions/functions.h"
#include "pmpi/pmpi.h"
#include "process/process.h"
#include "redirect/attributes.h"
#include "redirect/binding.h"
#include "util/util.h"

#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>

QMPI_LOCK(lock);
static unsigned long long seen; /* how many objects had been loaded when they were looked at */

static int number_of(const char *name)
{
    return strncmp(name, "MPI", 3) ? -1 : qmpi_name_find(name);
}

/* The MPI library's own calls: by default straight to itself, with QMPI_INTERNAL=1 seen by the
 * tools. */
struct internal {
    const struct qmpi_elf_loaded *library;
    bool shown;
};

static void *internal_target(void *data, const char *name, enum qmpi_binding binding)
{
    const struct internal *internal = data;
    const int number = number_of(name[0] == 'P' ? name + 1 : name);
    (void)binding;
    if (number < 0 || !qmpi_entries[number])
        return NULL;
    if (internal->shown)
        return (void *)(uintptr_t)qmpi_entries[number];
    /* Its MPI_X may be defined as ours by now; the two names mean one function. */
    void *found = qmpi_elf_loaded_find_hashed(
        internal->library,
        (struct qmpi_elf_name){qmpi_names[number].name - 1, qmpi_names[number].pmpi_hash});
    if (!found)
        found = (void *)(uintptr_t)qmpi_base_unpaired(number);
    return found ? found : qmpi_elf_loaded_find(internal->library, name);
}

static char *redirect_internal(const struct qmpi_elf_loaded *library)
{
    const char *setting = qmpi_setting("QMPI_INTERNAL");
    struct internal internal = {library, setting && !strcmp(setting, "1")};
    return qmpi_elf_rewrite(library, internal_target, &internal);
}

static void *entry_of(const char *name)
{
    const int number = number_of(name);
    return number < 0 ? NULL : (void *)(uintptr_t)qmpi_entries[number];
}

/* A program that the loader led past us: the MPI library, or a tool, comes before libqmpi. */
static void *program_target(void *data, const char *name, enum qmpi_binding binding)
{
    (void)data;
    (void)binding;
    return entry_of(name);
}

/* What the loader finds in a scope under the name of one of our entries. */
static const void *find_in_scope(void *scope)
{
    /* Not our own dlsym: that answers with our entry. */
    void *(*const look_up)(void *, const char *) = qmpi_real_dlsym ? qmpi_real_dlsym : dlsym;
    return look_up(scope, "MPI_Init");
}

static bool passed_by; /* the MPI library has been found in front; by now its symbols are ours */

bool qmpi_redirect_is_interposed(void)
{
    return __atomic_load_n(&passed_by, __ATOMIC_RELAXED);
}

/*
 * Whether what is loaded from now on may find the MPI library before us, or it alone: we are not
 * the first in the scope that all objects share.
 */
static bool may_pass_by(void)
{
    void *program = dlopen(NULL, RTLD_LAZY);
    const bool first = program && find_in_scope(program) == entry_of("MPI_Init");
    if (program)
        dlclose(program);
    return !first;
}

/* What is to be done, as the loader has led others up to now. */
struct finding {
    bool behind; /* something with MPI's functions comes before us */
    bool unsafe; /* or may, for those to come */
};

static bool is_led_past(const struct finding *finding, const struct qmpi_elf_loaded *object)
{
    return finding->behind && !qmpi_preloaded_contains(object->image.dynamic) &&
           !qmpi_pmpi_layer_of(object->image.dynamic) &&
           qmpi_elf_refers(object, program_target, NULL);
}

static bool is_concerned(void *data, const struct qmpi_elf_loaded *object)
{
    const struct finding *finding = data;
    if (qmpi_is_self(object))
        return false;
    return qmpi_is_mpi_library(object) || (qmpi_is_binding(object) ? !qmpi_binding_is_known(object)
                                                                   : is_led_past(finding, object));
}

static void redirect(struct qmpi_elf_held *held, const struct finding *finding)
{
    const struct qmpi_elf_loaded *object = &held->object;
    char *problem = NULL;
    if (qmpi_is_mpi_library(object)) {
        problem = redirect_internal(object);
        if (!problem && finding->unsafe) {
            qmpi_base_save_unpaired(object);
            problem = qmpi_elf_redefine(object, entry_of);
        }
    } else if (qmpi_is_binding(object)) {
        if (!qmpi_binding_is_known(object))
            qmpi_binding_redirect(held);
    } else if (is_led_past(finding, object)) {
        problem = qmpi_elf_rewrite(object, program_target, NULL);
    }
    if (problem && qmpi_is_reporting_process())
        qmpi_printf("some MPI calls may bypass the tools or be seen twice: %-s", problem);
    free(problem);
}

void qmpi_redirect(void)
{
    const unsigned long long loaded = qmpi_elf_loads();
    struct qmpi_elf_held *held = NULL;
    int count = 0;
    struct finding finding = {false, false};
    const bool news = __atomic_load_n(&seen, __ATOMIC_ACQUIRE) != loaded;
    if (news) {
        const void *found = find_in_scope(RTLD_DEFAULT);
        const void *in_front = found == entry_of("MPI_Init") ? NULL : found;
        finding = (struct finding){in_front != NULL, may_pass_by()};
        if (in_front && qmpi_is_in_mpi_library(in_front))
            __atomic_store_n(&passed_by, true, __ATOMIC_RELAXED);
        if (in_front)
            qmpi_preloaded_find();
        held = qmpi_elf_hold(is_concerned, &finding, &count);
    }
    pthread_mutex_lock(&lock);
    for (int i = 0; i < count; i++)
        redirect(&held[i], &finding);
    if (qmpi_binding_any)
        qmpi_attributes_prepare();
    if (news)
        __atomic_store_n(&seen, loaded, __ATOMIC_RELEASE);
    pthread_mutex_unlock(&lock);
    qmpi_elf_let_go(held, count);
    if (qmpi_binding_any) /* the callers of Fortran programs are found by unwinding */
        qmpi_unwind_load();
}

bool qmpi_redirect_is_binding(const void *address)
{
    if (!qmpi_binding_holds(address))
        qmpi_redirect();
    return qmpi_binding_holds(address);
}
