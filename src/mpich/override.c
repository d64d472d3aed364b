/* SPDX-License-Identifier: MIT */
/*
 * MPICH's library also defines these calls, as stubs that only return an error. Where a program
 * was linked so that the loader finds that library before ours, everybody's references lead to
 * those stubs: they are changed; and so are the symbols in the library, for the tools to come,
 * whose constructors call before anybody could change their references.
 */
#define _GNU_SOURCE
#include "elf/elf.h"
#include "mpich/mpich.h"
#include "pmpi/pmpi.h"
#include "process/process.h"
#include "util/util.h"

#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>

QMPI_LOCK(lock);
static unsigned long long seen; /* how many objects had been loaded when they were looked at */

static const char *const names[] = {"QMPI_Register_tool_name", "QMPI_Register_tool_storage",
                                    "QMPI_Register_function",  "QMPI_Get_function",
                                    "QMPI_Get_tool_storage",   "QMPI_Get_calling_address"};
enum { COUNT = sizeof names / sizeof *names };

static void *targets[COUNT]; /* ours, whatever the loader finds */

static void find_ours(void)
{
    struct qmpi_elf_loaded object;
    if (!qmpi_self_read(&object))
        return;
    for (int i = 0; i < COUNT; i++)
        targets[i] = qmpi_elf_loaded_find(&object, names[i]);
}

static void *target_of(const char *name)
{
    for (int i = 0; name[0] == 'Q' && i < COUNT; i++) {
        if (!strcmp(name, names[i]))
            return targets[i];
    }
    return NULL;
}

static void *rewrite(void *data, const char *name, enum qmpi_binding binding)
{
    (void)data;
    (void)binding;
    return target_of(name);
}

static bool is_hidden(void)
{
    /* Not our own dlsym, as in redirect/redirect.c. */
    void *(*const look_up)(void *, const char *) = qmpi_real_dlsym ? qmpi_real_dlsym : dlsym;
    const void *found = QMPI_MPICH_COUNT ? look_up(RTLD_DEFAULT, names[0]) : NULL;
    const bool hidden = found && qmpi_is_in_mpi_library(found);
    if (hidden && !targets[0])
        find_ours();
    return hidden;
}

static bool is_concerned(void *data, const struct qmpi_elf_loaded *object)
{
    (void)data;
    return !qmpi_is_self(object) &&
           (qmpi_is_mpi_library(object) || qmpi_elf_refers(object, rewrite, NULL));
}

static void override(const struct qmpi_elf_loaded *object)
{
    static bool said;
    char *problem = qmpi_is_mpi_library(object) ? qmpi_elf_redefine(object, target_of)
                                                : qmpi_elf_rewrite(object, rewrite, NULL);
    if (problem && !said && qmpi_is_reporting_process())
        qmpi_printf("tools built for MPICH's QMPI variant may fail to register: %-s", problem);
    said |= problem != NULL;
    free(problem);
}

void qmpi_mpich_override(void)
{
    const unsigned long long loaded = qmpi_elf_loads();
    int count = 0;
    if (__atomic_load_n(&seen, __ATOMIC_ACQUIRE) == loaded)
        return;
    struct qmpi_elf_held *held = is_hidden() ? qmpi_elf_hold(is_concerned, NULL, &count) : NULL;
    pthread_mutex_lock(&lock);
    for (int i = 0; i < count; i++)
        override(&held[i].object);
    __atomic_store_n(&seen, loaded, __ATOMIC_RELEASE);
    pthread_mutex_unlock(&lock);
    qmpi_elf_let_go(held, count);
}
