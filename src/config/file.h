/* SPDX-License-Identifier: MIT */
/*
 * The configuration file that QMPI_CONFIG names, and what follows from it and the environment
 * together: the settings and the stack that are in force. What the environment says wins. The file
 * is read once, when something of it is first asked for.
 */
#ifndef QMPI_CONFIG_FILE_H
#define QMPI_CONFIG_FILE_H

#include "config/parse.h"

/* Its path as QMPI_CONFIG has it; NULL: none is named, or the program is a privileged one. */
const char *qmpi_config_path(void);

/* Why it cannot be read, and a hint; NULL: it can be, or none is named. */
const char *qmpi_config_unreadable(void);

/* What it says. Lives for the whole run; empty where none is named or it cannot be read. */
const struct qmpi_config *qmpi_config_get(void);

/* The value of one of our variables: the environment's, else what the file sets it to, else NULL.
 */
const char *qmpi_setting(const char *variable);

/*
 * The stack: from QMPI_TOOLS or one of MPICH's variables where one of them is set, else from the
 * file, else empty. `list` is to be freed; `source` says what it is from, for messages.
 */
void qmpi_stack_read(struct qmpi_tool_list *list, const char **source);

#endif
