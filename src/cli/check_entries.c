/* SPDX-License-Identifier: MIT */
/* See check_entries.h. */
#include "cli/check_entries.h"

#include "cli/cli.h"
#include "util/util.h"

#include <stdlib.h>
#include <string.h>

void check_entries_read(struct check_entries *entries)
{
    *entries = (struct check_entries){.next = 0};
    qmpi_stack_read(&entries->stack);
    entries->has_layer =
        qmpi_allocate((size_t)entries->stack.layers.count, sizeof *entries->has_layer);
}

void check_entries_free(struct check_entries *entries)
{
    qmpi_stack_free(&entries->stack);
    free(entries->has_layer);
}

/* ---- Conditions ------------------------------------------------------------------------------ */

/* What a condition means that need not hold everywhere. */
static const char *effect_of(enum qmpi_reserved_option option, const char *value)
{
    /* Which program it will be is unknown, and the rank is known only under a launcher. */
    const struct qmpi_place place = {.rank = qmpi_launcher_rank()};
    switch (qmpi_condition_holds(option, value, &place)) {
    case QMPI_HOLDS:
        return "holds here";
    case QMPI_HOLDS_NOT:
        return "does not hold here: the layer starts switched off";
    default:
        return option == QMPI_RESERVED_RANKS ? "on other ranks, the layer starts switched off"
                                             : "in other programs, the layer starts switched off";
    }
}

static void print_condition(void *data, enum qmpi_reserved_option option, const char *value)
{
    (void)data;
    cli_print("  condition   %s=%s  (%s)\n", qmpi_reserved_option_name(option), value,
              option == QMPI_RESERVED_FUNCTIONS ? "the layer intercepts no other functions, except "
                                                  "those that the tool needs in any case"
                                                : effect_of(option, value));
}

/* The next entry from the same place: those between have no layer. NULL: none, as for a tool that
 * is preloaded only. */
static const struct qmpi_entry *find_entry(struct check_entries *entries, const char *source)
{
    const struct qmpi_tool_list *list = &entries->stack.layers;
    for (int i = entries->next; i < list->count; i++) {
        char *other = qmpi_entry_source(&list->entries[i]);
        const bool same = !strcmp(other, source);
        free(other);
        if (same) {
            entries->has_layer[i] = true;
            entries->next = i + 1;
            return &list->entries[i];
        }
    }
    return NULL;
}

void check_entries_print_layer(struct check_entries *entries, const char *source)
{
    const struct qmpi_entry *entry = find_entry(entries, source);
    if (entry)
        qmpi_condition_each(entry, print_condition, NULL);
}

/* ---- What is left out ------------------------------------------------------------------------ */

static void print_left_out(const struct qmpi_entry *entry, const char *reason)
{
    char *source = qmpi_entry_source(entry);
    cli_print("left out %s: %s (%s)\n", reason, entry->text, source);
    free(source);
}

/* With an error that is not skipped, there is no check. */
void check_entries_print_left_out(const struct check_entries *entries)
{
    const struct qmpi_tool_stack *stack = &entries->stack;
    for (int i = 0; i < stack->layers.count; i++) {
        const char *optional = stack->layers.entries[i].reserved[QMPI_RESERVED_OPTIONAL];
        if (!entries->has_layer[i])
            print_left_out(&stack->layers.entries[i],
                           optional && !strcmp(optional, "yes")
                               ? "because it cannot be used (@optional=yes)"
                               : "because it cannot be used");
    }
    for (int i = 0; i < stack->disabled.count; i++)
        print_left_out(&stack->disabled.entries[i], "by QMPI_DISABLE");
}
