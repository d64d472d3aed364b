/* SPDX-License-Identifier: MIT */
/*
 * MPICH's library has the dialect's calls too, as stubs that do nothing but fail. Where a program
 * was linked so that the loader finds that library before ours, everybody's references lead to
 * those stubs: they are changed; and so are the symbols in the library, for the tools to come,
 * whose constructors call before anybody could change their references.
 */
#define _GNU_SOURCE
#include "dialect.h"
#include "elf_rewrite.h"
#include "message.h"
#include "reach.h"
#include "tool_dlsym.h"

#include <dlfcn.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

static const char *const names[] = {"QMPI_Register_tool_name", "QMPI_Register_tool_storage",
                                    "QMPI_Register_function",  "QMPI_Get_function",
                                    "QMPI_Get_tool_storage",   "QMPI_Get_calling_address"};
enum { COUNT = sizeof names / sizeof *names };

static void *targets[COUNT]; /* ours, whatever the loader finds */

static void find_ours(void)
{
    struct qmpi_elf_loaded object;
    if (!qmpi_elf_loaded_holder(qmpi_ends, &object))
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

/* Of the segment that an address lies in; 0: of none. */
static int protection(const struct qmpi_elf_loaded *object, const void *address)
{
    for (int i = 0; i < object->segment_count; i++) {
        const ElfW(Phdr) *segment = &object->segments[i];
        if (segment->p_type != PT_LOAD ||
            (ElfW(Addr))address - object->base - segment->p_vaddr >= segment->p_memsz)
            continue;
        return (segment->p_flags & PF_R ? PROT_READ : 0) |
               (segment->p_flags & PF_W ? PROT_WRITE : 0) |
               (segment->p_flags & PF_X ? PROT_EXEC : 0);
    }
    return 0;
}

/* The pages may hold code that others run meanwhile: they stay what they are beside writable. */
static char *change_symbol(const struct qmpi_elf_loaded *object, const ElfW(Sym) * symbol,
                           const void *target)
{
    const uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE);
    const uintptr_t start = (uintptr_t)symbol & ~(page - 1);
    const size_t size = (uintptr_t)(symbol + 1) - start;
    const int before = protection(object, symbol);
    if (object->base + symbol->st_value == (ElfW(Addr))target)
        return NULL;
    if (mprotect((void *)start, size, before | PROT_WRITE) != 0)
        return qmpi_message("%s: its symbols cannot be changed: %s", object->name, strerror(errno));
    ((ElfW(Sym) *)(uintptr_t)symbol)->st_value = (ElfW(Addr))target - object->base;
    mprotect((void *)start, size, before);
    return NULL;
}

static char *change_symbols(const struct qmpi_elf_loaded *object)
{
    const struct qmpi_elf_image *image = &object->image;
    char *problem = NULL;
    const size_t count = qmpi_elf_symbol_count(image);
    for (size_t i = 0; !problem && i < count; i++) {
        const ElfW(Sym) *symbol = &image->symbols[i];
        void *target =
            qmpi_elf_defines(symbol) ? target_of(qmpi_elf_string(image, symbol->st_name)) : NULL;
        if (target)
            problem = change_symbol(object, symbol, target);
    }
    return problem;
}

static void look(void *data, const struct qmpi_elf_reference *reference)
{
    bool *found = data;
    *found |= target_of(reference->name) != NULL;
}

static char *change_references(const struct qmpi_elf_loaded *object)
{
    bool found = false;
    qmpi_elf_references(object, look, &found);
    return found ? qmpi_elf_rewrite(object, rewrite, NULL) : NULL;
}

/* What cannot be changed in one object is no reason to leave the others. */
static int claim(struct dl_phdr_info *info, size_t size, void *data)
{
    struct qmpi_elf_loaded object;
    char **first = data;
    (void)size;
    if (!qmpi_elf_loaded_read(info, &object) || qmpi_elf_loaded_contains(&object, qmpi_ends))
        return 0;
    char *problem = qmpi_elf_loaded_find(&object, "PMPI_Get_library_version")
                        ? change_symbols(&object)
                        : change_references(&object);
    if (*first)
        free(problem);
    else
        *first = problem;
    return 0;
}

void qmpi_dialect_claim(void)
{
    /* Not our own dlsym, as in reach.c. */
    void *(*const look_up)(void *, const char *) = qmpi_real_dlsym ? qmpi_real_dlsym : dlsym;
    const void *found = QMPI_DIALECT_COUNT ? look_up(RTLD_DEFAULT, names[0]) : NULL;
    char *problem = NULL;
    if (!found || !qmpi_reach_is_mpi_library(found))
        return;
    find_ours();
    dl_iterate_phdr(claim, &problem);
    if (problem && qmpi_speaks())
        qmpi_sayf("tools of MPICH's QMPI dialect may not be heard: %-s", problem);
    free(problem);
}
