/* SPDX-License-Identifier: MIT */
/* The environment of a PMPI layer, in which the options env.NAME=value of its entry replace NAME.
 */
#ifndef QMPI_PMPI_ENVIRON_H
#define QMPI_PMPI_ENVIRON_H

#include "registry/registry.h"

#include <stdbool.h>

/* Whether the entry of the layer has such an option. */
bool qmpi_tool_getenv_wanted(const struct qmpi_layer *layer);

/* Replace the functions of these names in the references of a tool. */
char *qmpi_tool_getenv(const char *name);
char *qmpi_tool_secure_getenv(const char *name);

/* Returns the replacement of `environ` for the layer: a variable that contains its environment. */
char ***qmpi_tool_environ(struct qmpi_layer *layer);

/*
 * Sets the variables of the layer in the environment of the process while the constructors of a
 * tool run, because its references cannot be changed before. `saved` is the result of
 * qmpi_tool_getenv_enter.
 */
struct qmpi_saved_environment;
struct qmpi_saved_environment *qmpi_tool_getenv_enter(const struct qmpi_layer *layer);
void qmpi_tool_getenv_leave(struct qmpi_saved_environment *saved);

#endif
