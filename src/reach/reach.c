/* SPDX-License-Identifier: MIT */
/* See reach.h. */
#define _GNU_SOURCE
#include "reach.h"

#include "attributes.h"
#include "binding.h"
#include "chain.h"
#include "config_file.h"
#include "dialect.h"
#include "elf_rewrite.h"
#include "fortran.h"
#include "group.h"
#include "host.h"
#include "lock.h"
#include "message.h"
#include "names.h"
#include "resident.h"
#include "tool_dlsym.h"

#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>

QMPI_LOCK(lock);
static struct qmpi_group_snapshot seen;
static bool idle;
static struct qmpi_elf_loaded ours; /* the object that we are in */

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
    return internal->shown ? (void *)(uintptr_t)qmpi_entries[number]
                           : qmpi_elf_loaded_find(internal->library, name);
}

static char *redirect_internal(const struct qmpi_elf_loaded *library)
{
    const char *setting = qmpi_setting("QMPI_INTERNAL");
    struct internal internal = {library, setting && !strcmp(setting, "1")};
    return qmpi_elf_rewrite(library, internal_target, &internal);
}

/* A program that the loader led past us: the MPI library, or a tool, comes before libqmpi. */
static void *program_target(void *data, const char *name, enum qmpi_binding binding)
{
    const int number = number_of(name);
    (void)data;
    (void)binding;
    return number < 0 ? NULL : (void *)(uintptr_t)qmpi_entries[number];
}

static bool is_mpi_library(const struct qmpi_elf_loaded *object)
{
    return qmpi_elf_loaded_find(object, "PMPI_Get_library_version") != NULL;
}

struct question {
    const void *address;
    bool answer;
};

static int ask(struct dl_phdr_info *info, size_t size, void *data)
{
    struct question *question = data;
    struct qmpi_elf_loaded object = {
        .base = info->dlpi_addr, .segments = info->dlpi_phdr, .segment_count = info->dlpi_phnum};
    (void)size;
    if (!qmpi_elf_loaded_contains(&object, question->address))
        return 0;
    question->answer = qmpi_elf_loaded_read(info, &object) && is_mpi_library(&object) &&
                       !qmpi_elf_loaded_contains(&object, qmpi_ends);
    return 1;
}

bool qmpi_reach_is_mpi_library(const void *address)
{
    struct question question = {address, false};
    if (!idle)
        dl_iterate_phdr(ask, &question);
    return question.answer;
}

/* What the loader finds under the name of one of our entries, if that is not ours. */
static const void *find_in_front(void)
{
    /* Not our own dlsym: that answers with our entry. */
    void *(*const look_up)(void *, const char *) = qmpi_real_dlsym ? qmpi_real_dlsym : dlsym;
    const void *found = look_up(RTLD_DEFAULT, "MPI_Init");
    return found == (void *)(uintptr_t)qmpi_entries[MPI_INIT_T] ? NULL : found;
}

bool qmpi_reach_is_passed_by(void)
{
    const void *found = find_in_front();
    return found && qmpi_reach_is_mpi_library(found);
}

/* Large: few of its pages are ever touched. */
static struct walk {
    struct qmpi_elf_loaded objects[512];
    int count;
} walk; /* under the lock */

static int collect(struct dl_phdr_info *info, size_t size, void *data)
{
    (void)size;
    (void)data;
    if (walk.count < (int)(sizeof walk.objects / sizeof *walk.objects) &&
        !qmpi_group_snapshot_has(&seen, info->dlpi_addr) &&
        qmpi_elf_loaded_read(info, &walk.objects[walk.count]))
        walk.count++;
    return 0;
}

static void redirect(const struct qmpi_elf_loaded *object, bool passed_by)
{
    char *problem = NULL;
    if (qmpi_elf_loaded_contains(object, qmpi_ends)) {
#ifndef QMPI_STATIC /* there it is the program itself, whose frames are looked for */
        ours = *object;
#endif
        return;
    }
    if (is_mpi_library(object))
        problem = redirect_internal(object);
    else if (qmpi_binding_is(object))
        qmpi_binding_redirect(object);
    else if (passed_by && !qmpi_resident_holds(object->image.dynamic))
        problem = qmpi_elf_rewrite(object, program_target, NULL);
    if (problem && qmpi_speaks())
        qmpi_sayf("some MPI calls may pass by the tools, or be seen twice: %-s", problem);
    free(problem);
}

void qmpi_reach_redirect(void)
{
    pthread_mutex_lock(&lock);
    walk.count = 0;
    dl_iterate_phdr(collect, NULL);
    const bool passed_by = find_in_front() != NULL;
    for (int i = 0; i < walk.count; i++)
        redirect(&walk.objects[i], passed_by);
    qmpi_dialect_claim();
    if (qmpi_binding_count())
        qmpi_attributes_prepare();
    qmpi_group_snapshot_free(&seen);
    qmpi_group_snapshot_take(&seen);
    pthread_mutex_unlock(&lock);
}

/* A program that holds libqmpi.a has its stack there; a tool that needs libqmpi.so brings us along.
 */
static bool is_idle(void)
{
    const void *found = dlsym(RTLD_DEFAULT, "QMPIX_Get_function");
    struct qmpi_elf_loaded mine; /* not by dladdr, which looks at all symbols there are */
    return found && qmpi_elf_loaded_holder(qmpi_ends, &mine) &&
           !qmpi_elf_loaded_contains(&mine, found);
}

/* Before the program's first call: a binding's may be of PMPI_Init. */
__attribute__((constructor)) static void begin(void)
{
    idle = is_idle();
    if (idle)
        return;
    qmpi_reach_redirect();
    qmpi_fortran_begin();
}

bool qmpi_reach_is_binding(const void *address)
{
    if (!qmpi_binding_holds(address))
        qmpi_reach_redirect();
    return qmpi_binding_holds(address);
}

bool qmpi_reach_is_ours(const void *address)
{
    return qmpi_elf_loaded_contains(&ours, address);
}
