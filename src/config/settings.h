/* SPDX-License-Identifier: MIT */
/*
 * The settings that result from the environment and the configuration files: a variable takes
 * precedence over the user's file, that over those of QMPI_CONFIG from the last to the first, and
 * these over the site's.
 */
#ifndef QMPI_CONFIG_SETTINGS_H
#define QMPI_CONFIG_SETTINGS_H

#include "config/tool_list.h"

#include <stdbool.h>

/*
 * Returns the value of a variable of qmpi: from the environment, else from a file, else NULL. The
 * setting on-error in a file of the site concerns only the layers of that file, and is not
 * considered.
 */
const char *qmpi_setting(const char *variable);

/* Whether the run continues after an error in an entry of the stack. */
bool qmpi_skips_errors(enum qmpi_on_error on_error);

/*
 * Returns the directories in which tools are searched first, separated by colons; the caller frees
 * it. They are those of QMPI_TOOL_PATH, else of the user's file and of those of QMPI_CONFIG; those
 * of the site's files follow.
 */
char *qmpi_tool_path(void);

#endif
