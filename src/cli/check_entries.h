/* SPDX-License-Identifier: MIT */
/*
 * What the list of tools says of the layers that `qmpi check` shows: their conditions, and the
 * entries without a layer.
 */
#ifndef QMPI_CLI_CHECK_ENTRIES_H
#define QMPI_CLI_CHECK_ENTRIES_H

#include "config/config.h"

struct check_entries {
    struct qmpi_tool_stack stack;
    bool *has_layer; /* by index of stack.layers */
    int next;        /* the entry after that of the last layer */
};

/* Reads the list. The caller frees it. */
void check_entries_read(struct check_entries *entries);
void check_entries_free(struct check_entries *entries);

/* Prints the conditions of the next layer, from the application down; `source` is what lists it. */
void check_entries_print_layer(struct check_entries *entries, const char *source);

/* Prints the entries without a layer, after all layers. */
void check_entries_print_left_out(const struct check_entries *entries);

#endif
