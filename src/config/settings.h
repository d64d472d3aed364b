/* SPDX-License-Identifier: MIT */
/*
 * The settings that result from the environment and the configuration files: a variable takes
 * precedence over the user's file, that over those of QMPI_CONFIG from the last to the first, and
 * these over the site's.
 */
#ifndef QMPI_CONFIG_SETTINGS_H
#define QMPI_CONFIG_SETTINGS_H

#include "config/files.h"
#include "config/tool_list.h"

#include <stdbool.h>

/*
 * Returns the value of a variable of qmpi: from the environment, else from a file, else NULL. The
 * setting on-error in a file of the site concerns only that file, and is not considered.
 */
const char *qmpi_setting(const char *variable);

/* Returns the variable that makes a setting of a file idle, because it is set too; NULL: none. */
const char *qmpi_setting_replaced_by(const struct qmpi_config_file *file, int setting);

/* What happens after an error in a line of a section of a file. Where the site's files say nothing
 * else, they never stop a run. */
enum qmpi_on_error qmpi_on_error_in(const struct qmpi_config_file *file, int section);

/* Whether the run continues after an error in an entry of the stack or a line of a file. */
bool qmpi_skips_errors(enum qmpi_on_error on_error);

/*
 * Returns the directories in which tools are searched first, separated by colons; the caller frees
 * it. They are those of QMPI_TOOL_PATH, else of the user's file and of those of QMPI_CONFIG; those
 * of the site's files follow.
 */
char *qmpi_tool_path(void);

#endif
