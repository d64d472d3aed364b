/* SPDX-License-Identifier: MIT */
/* See relocations.h. */
#define _GNU_SOURCE
#include "pmpi/relocations.h"

#include "elf/pages.h"
#include "elf/reloc.h"
#include "pmpi/next.h"
#include "pmpi/relocate.h"
#include "util/message.h"

#include <stdint.h>
#include <stdlib.h>

struct cell {
    char **place;
    char *target;     /* what we put there last */
    ptrdiff_t addend; /* in the target beyond the function's address */
    int number;
    struct cell *next;
};

/* By tool_id. */
static struct cell *cells[QMPI_LAYERS_MAX + 1];
static struct qmpi_elf_pages pages; /* that are open; switching is done by one thread at a time */

/* What is noted of one object. */
struct noting {
    const struct qmpi_group *group;
    bool program;
};

static void note(void *data, const struct qmpi_elf_reference *reference)
{
    struct noting *noting = data;
    const int tool_id = noting->group->layer->tool_id;
    const int number = qmpi_references_number(noting->group, reference->name, noting->program);
    if (number < 0 || !qmpi_chain_below(tool_id, number))
        return;
    /* What does not lie as a pointer should cannot be changed under those who read it. */
    if ((uintptr_t)reference->place % sizeof *reference->place)
        return;
    struct cell *cell = qmpi_allocate(1, sizeof *cell);
    *cell = (struct cell){.place = reference->place,
                          .target = *reference->place,
                          .addend = reference->addend,
                          .number = number,
                          .next = cells[tool_id]};
    cells[tool_id] = cell;
}

void qmpi_cells_note(const struct qmpi_group *group, const struct qmpi_elf_loaded *object,
                     bool program)
{
    struct noting noting = {group, program};
    qmpi_elf_references(object, note, &noting);
}

bool qmpi_cells_open(int tool_id, const QMPI_Context *row)
{
    QMPI_Context wanted[QMPI_FUNCTION_COUNT] = {NULL};
    bool good = true;
    for (const struct cell *cell = cells[tool_id]; good && cell; cell = cell->next) {
        if (!row[cell->number])
            continue;
        wanted[cell->number] = row[cell->number];
        good = qmpi_elf_pages_open(&pages, cell->place);
    }
    return good && qmpi_below_prepare(wanted);
}

void qmpi_cells_point(int tool_id, const QMPI_Context *row)
{
    for (struct cell *cell = cells[tool_id]; cell; cell = cell->next) {
        if (!row[cell->number])
            continue;
        char *target = (char *)(uintptr_t)qmpi_below_at(row[cell->number]) + cell->addend;
        char *expected = cell->target;
        if (__atomic_compare_exchange_n(cell->place, &expected, target, false, __ATOMIC_RELEASE,
                                        __ATOMIC_RELAXED))
            cell->target = target;
    }
}

void qmpi_cells_close(void)
{
    qmpi_elf_pages_close(&pages);
}

void qmpi_cells_forget(void)
{
    pages = (struct qmpi_elf_pages){NULL, 0, NULL};
}
