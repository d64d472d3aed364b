/* SPDX-License-Identifier: MIT */
/* See relocations.h. */
#define _GNU_SOURCE
#include "pmpi/relocations.h"

#include "elf/elf.h"
#include "pmpi/next.h"
#include "pmpi/relocate.h"
#include "util/util.h"

#include <stdint.h>
#include <stdlib.h>

struct patch {
    char **place;
    char *target;     /* what we put there last */
    ptrdiff_t addend; /* in the target beyond the function's address */
    int number;
    struct patch *next;
};

/* By tool_id. */
static struct patch *patches[QMPI_LAYERS_MAX + 1];
static struct qmpi_elf_pages pages; /* that are open; switching is done by one thread at a time */

/* What is noted of one object. */
struct noting {
    const struct qmpi_group *group;
    bool program;
};

static void note(void *data, const struct qmpi_elf_relocation *relocation)
{
    struct noting *noting = data;
    const int tool_id = noting->group->layer->tool_id;
    const int number = qmpi_relocate_function(noting->group, relocation->name, noting->program);
    if (number < 0 || !qmpi_chain_next(tool_id, number))
        return;
    /* What does not lie as a pointer should cannot be changed under those who read it. */
    if ((uintptr_t)relocation->place % sizeof *relocation->place)
        return;
    struct patch *patch = qmpi_allocate(1, sizeof *patch);
    *patch = (struct patch){.place = relocation->place,
                            .target = *relocation->place,
                            .addend = relocation->addend,
                            .number = number,
                            .next = patches[tool_id]};
    patches[tool_id] = patch;
}

void qmpi_relocations_record(const struct qmpi_group *group, const struct qmpi_elf_loaded *object,
                             bool program)
{
    struct noting noting = {group, program};
    qmpi_elf_visit_relocations(object, note, &noting);
}

bool qmpi_relocations_unprotect(int tool_id, const QMPI_Context *row)
{
    QMPI_Context wanted[QMPI_FUNCTION_COUNT] = {NULL};
    bool good = true;
    for (const struct patch *patch = patches[tool_id]; good && patch; patch = patch->next) {
        if (!row[patch->number])
            continue;
        wanted[patch->number] = row[patch->number];
        good = qmpi_elf_pages_open(&pages, patch->place);
    }
    return good && qmpi_thunks_prepare(wanted);
}

void qmpi_relocations_apply(int tool_id, const QMPI_Context *row)
{
    for (struct patch *patch = patches[tool_id]; patch; patch = patch->next) {
        if (!row[patch->number])
            continue;
        char *target = (char *)(uintptr_t)qmpi_thunk_at(row[patch->number]) + patch->addend;
        char *expected = patch->target;
        if (__atomic_compare_exchange_n(patch->place, &expected, target, false, __ATOMIC_RELEASE,
                                        __ATOMIC_RELAXED))
            patch->target = target;
    }
}

void qmpi_relocations_protect(void)
{
    qmpi_elf_pages_close(&pages);
}

void qmpi_relocations_forget(void)
{
    pages = (struct qmpi_elf_pages){.opened = NULL};
}
