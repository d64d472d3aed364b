/* SPDX-License-Identifier: MIT */
/*
 * See dlsym.h. A program that asks the MPI library for MPI_X gets our entry. A PMPI tool
 * that asks for PMPI_X means the next layer; asking for MPI_X it means itself, or behind it
 * (RTLD_NEXT) the next layer. Whoever asks for the C library's dlclose gets libqmpi's: UCX writes a
 * function of its own over all references to dlclose, and calls from there what dlsym returned.
 */
#define _GNU_SOURCE
#include "pmpi/dlsym.h"

#include "functions/functions.h"
#include "pmpi/deferred.h"
#include "pmpi/next.h"
#include "pmpi/owner.h"
#include "process/process.h"
#include "registry/registry.h"
#include "util/util.h"

#include <dlfcn.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

void *(*qmpi_real_dlsym)(void *handle, const char *name);

/* A sanitizer asks dlsym before its own memory is there: nothing on that way may be instrumented.
 */
#define EARLY __attribute__((no_sanitize("address", "undefined", "thread")))

EARLY static void find_real(void)
{
    qmpi_real_dlsym = (void *(*)(void *, const char *))(uintptr_t)qmpi_next_symbol("dlsym");
    if (!qmpi_real_dlsym)
        abort(); /* no C library that we know is without it */
}

void *qmpi_tool_dlsym_global(const char *name)
{
    if (!qmpi_real_dlsym)
        find_real();
    return qmpi_real_dlsym(RTLD_DEFAULT, name);
}

static bool told[QMPI_LAYERS_MAX + 1]; /* [tool_id] */

bool qmpi_tool_dlsym_told(int tool_id)
{
    return __atomic_load_n(&told[tool_id], __ATOMIC_RELAXED);
}

static void *answer_tool(struct qmpi_layer *layer, void *handle, const char *name, int number,
                         bool pmpi)
{
    const bool named = handle != RTLD_NEXT && handle != RTLD_DEFAULT;
    void *plain = named ? qmpi_real_dlsym(handle, name) : NULL;
    if (named && (!plain || qmpi_pmpi_layer_of(plain) == layer))
        return plain;
    if (!pmpi && !named && handle != RTLD_NEXT && layer->functions[number])
        return (void *)(uintptr_t)layer->functions[number];
    __atomic_store_n(&told[layer->tool_id], true, __ATOMIC_RELAXED);
    return (void *)(uintptr_t)qmpi_thunk_of(layer, number);
}

/* A resident tool's constructor, before there is a stack. */
static void *answer_early(struct qmpi_preloaded_tool *preloaded, void *handle, const char *name,
                          int number, bool pmpi)
{
    const bool named = handle != RTLD_NEXT && handle != RTLD_DEFAULT;
    void *plain = named ? qmpi_real_dlsym(handle, name) : NULL;
    void *found = qmpi_elf_loaded_find(&preloaded->object, name);
    if (named && (!plain || plain == found))
        return plain;
    if (!pmpi && handle == RTLD_DEFAULT && found)
        return found;
    return qmpi_deferred_find(preloaded, number);
}

/* A program that looks MPI_X up in the MPI library, instead of being linked with it, means to call
 * it. */
static void *answer_program(void *handle, const char *name, int number)
{
    if (handle == RTLD_NEXT || !qmpi_entries[number])
        return NULL;
    void *plain = qmpi_real_dlsym(handle, name);
    /* Known once the base is; before, the slow way tells. */
    const bool mpi =
        plain && (plain == (void *)(uintptr_t)qmpi_bases[number] || qmpi_is_in_mpi_library(plain));
    return mpi ? (void *)(uintptr_t)qmpi_entries[number] : NULL;
}

/* The segments of the library that was the last one to ask for dlclose. */
static atomic_uintptr_t asked_begin, asked_end;

bool qmpi_tool_dlsym_gave_dlclose(const void *function)
{
    return (uintptr_t)function >= atomic_load(&asked_begin) &&
           (uintptr_t)function < atomic_load(&asked_end);
}

/* Whether the libraries that libqmpi needs have been initialised. */
static bool is_constructed;

__attribute__((constructor)) static void note_construction(void)
{
    is_constructed = true;
}

/* Not for RTLD_NEXT: that finds ours, unless the caller is behind us, and may be what ours calls.
 * Not before: a sanitizer's library asks for it before instrumented code may run. */
EARLY static bool means_dlclose(void *handle, const char *name)
{
    return is_constructed && handle != RTLD_NEXT && qmpi_exported_dlclose &&
           !strcmp(name, "dlclose");
}

static void *answer_dlclose(void *handle, const char *name, const void *caller)
{
    struct qmpi_elf_loaded asking;
    void *const ours = (void *)(uintptr_t)qmpi_exported_dlclose;
    const void *const plain = qmpi_real_dlsym(handle, name);
    if (plain != ours && plain != qmpi_next_symbol(name))
        return NULL;
    if (qmpi_elf_loaded_holder(caller, &asking)) {
        const ElfW(Phdr) *last = NULL;
        for (int i = 0; i < asking.segment_count; i++)
            last = asking.segments[i].p_type == PT_LOAD ? &asking.segments[i] : last;
        atomic_store(&asked_end, 0);
        atomic_store(&asked_begin, asking.base);
        atomic_store(&asked_end, last ? asking.base + last->p_vaddr + last->p_memsz : 0);
    }
    return ours;
}

EARLY void *qmpi_tool_dlsym(void *handle, const char *name, const void *caller)
{
    if (!qmpi_real_dlsym)
        find_real();
    if (name[0] == 'd')
        return means_dlclose(handle, name) ? answer_dlclose(handle, name, caller) : NULL;
    const bool pmpi = name[0] == 'P';
    const char *plain = name + pmpi;
    if (plain[0] != 'M' || plain[1] != 'P' || plain[2] != 'I')
        return NULL;
    const int number = qmpi_name_find(plain);
    struct qmpi_layer *layer = number >= 0 && qmpi_pmpi_is_used ? qmpi_pmpi_layer_of(caller) : NULL;
    if (layer)
        return answer_tool(layer, handle, name, number, pmpi);
    if (number < 0 || !qmpi_entries[number])
        return NULL;
    struct qmpi_preloaded_tool *preloaded =
        qmpi_chain_is_open() ? NULL : qmpi_preloaded_contains(caller);
    if (preloaded)
        return answer_early(preloaded, handle, name, number, pmpi);
    return pmpi ? NULL : answer_program(handle, name, number);
}
