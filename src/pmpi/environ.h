/* SPDX-License-Identifier: MIT */
/* The environment as one hosted layer sees it: options env.NAME=value of its entry override NAME.
 */
#ifndef QMPI_PMPI_ENVIRON_H
#define QMPI_PMPI_ENVIRON_H

#include "registry/layer.h"

#include <stdbool.h>

/* Whether the layer's entry has any such option. */
bool qmpi_tool_getenv_wanted(const struct qmpi_layer *layer);

/* Stand in for the calls of these names in a tool's references. */
char *qmpi_tool_getenv(const char *name);
char *qmpi_tool_secure_getenv(const char *name);

/* What takes the place of `environ` for the layer: a variable that holds its environment. */
char ***qmpi_tool_environ(struct qmpi_layer *layer);

/*
 * A tool's constructors run before its references can be changed: for that while the process's own
 * environment holds the layer's values. `saved` is qmpi_tool_getenv_enter's.
 */
struct qmpi_saved_environment;
struct qmpi_saved_environment *qmpi_tool_getenv_enter(const struct qmpi_layer *layer);
void qmpi_tool_getenv_leave(struct qmpi_saved_environment *saved);

#endif
