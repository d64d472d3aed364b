/* SPDX-License-Identifier: MIT */
/*
 * The configuration file that QMPI_CONFIG names, and the settings and the stack that result from
 * the file and the environment. The environment takes precedence. The file is read once, when it is
 * first needed.
 */
#ifndef QMPI_CONFIG_FILE_H
#define QMPI_CONFIG_FILE_H

#include "config/parse.h"

/* Returns the path in QMPI_CONFIG; NULL: no file is named, or the program is privileged. */
const char *qmpi_config_path(void);

/* Returns the reason why the file cannot be read, with a hint; NULL: it can be, or no file is
 * named. */
const char *qmpi_config_unreadable(void);

/* Returns the contents of the file, for the whole run; empty if no file is named or it cannot be
 * read. */
const struct qmpi_config *qmpi_config_get(void);

/* Returns the value of a variable of qmpi: from the environment, else from the file, else NULL.
 */
const char *qmpi_setting(const char *variable);

/*
 * Reads the stack: from QMPI_TOOLS or a variable of MPICH if one of them is set, else from the
 * file, else empty. The caller frees `list`. `source` names the origin in messages.
 */
void qmpi_stack_read(struct qmpi_tool_list *list, const char **source);

#endif
