/* SPDX-License-Identifier: MIT */
/*
 * The stack that results from the environment and the configuration files. From the application
 * down: the sections [above] of the files from the outermost to the innermost; the middle, which is
 * given by a variable, else by the tools that the files list outside sections; the sections [below]
 * from the innermost file to the outermost. Named stacks are replaced by their tools, and what
 * QMPI_DISABLE matches is left out, unless the site requires it. `qmpi vars`, which sets QMPI_VARS,
 * uses no layers that files list, and adds a layer of its own at the top of the middle.
 */
#ifndef QMPI_CONFIG_STACK_H
#define QMPI_CONFIG_STACK_H

#include "config/tool_list.h"

#include <stdbool.h>

struct qmpi_stack {
    struct qmpi_tool_list tools;    /* the entries, one for each layer, invalid ones included */
    struct qmpi_tool_list disabled; /* the entries that QMPI_DISABLE leaves out */
    const char *variable; /* the variable that gives the middle part, which may be empty; NULL: no
                             such variable is set */
    const char *source;   /* the origin of the middle part, in messages */
    char *notes;          /* notes for the user, one line each, without prefix; may be empty */
};

/* Reads the stack. The caller frees it. */
void qmpi_stack_read(struct qmpi_stack *stack);

void qmpi_stack_free(struct qmpi_stack *stack);

/* Calls `each` for every named stack, with the path of its file and the line at which it starts. If
 * several stacks have the same name, only the one that users mean by it is passed. */
void qmpi_stack_each_name(void (*each)(void *data, const char *name, const char *path, int line),
                          void *data);

/* Whether a pattern of QMPI_DISABLE matches an entry. ~site~ matches the layers of the site, ~user~
 * all others. */
bool qmpi_stack_pattern_means(const char *pattern, const struct qmpi_tool_entry *entry);

/* Calls `each` for every pattern of QMPI_DISABLE that matches no entry of the stack. */
void qmpi_stack_each_idle_pattern(const struct qmpi_stack *stack,
                                  void (*each)(void *data, const char *pattern), void *data);

#endif
