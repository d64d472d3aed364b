/* SPDX-License-Identifier: MIT */
/*
 * The configuration files (those of the site, those that QMPI_CONFIG names, and that of the user),
 * and the settings. The value of a setting comes from the first of these that sets it: the
 * environment variable, the user's file, the files of QMPI_CONFIG from the last one to the first,
 * the site's files from the last one to the first. tool-path and on-error have further rules: see
 * qmpi_settings_tool_path and qmpi_settings_on_error_in.
 */
#ifndef QMPI_CONFIG_SETTINGS_H
#define QMPI_CONFIG_SETTINGS_H

#include "config/parse.h"

#include <stdbool.h>

/* ---- Files ----------------------------------------------------------------------------------- */

struct qmpi_config_file {
    char *path;
    enum qmpi_tool_scope scope; /* not QMPI_SCOPE_VARIABLE */
    char *unreadable;           /* the reason why it cannot be read, with a hint; NULL: it can */
    bool may_be_missing; /* it is the user's file, and the system cannot tell whether it exists:
                            the run continues without it */
    struct qmpi_config config;
};

/*
 * Returns the files, from the outermost to the innermost: the site's files in order of name, the
 * files of QMPI_CONFIG in its order, the user's file if there is one. They are read when this
 * function is first called, and once more if QMPI_CONFIG is set after that. A privileged program
 * has no files. The result exists for the whole run.
 */
const struct qmpi_config_file *qmpi_config_files(int *count);

/* Returns how messages name the origin of a file that cannot be read: the option -c or the variable
 * QMPI_CONFIG, if the file is listed there. */
const char *qmpi_settings_origin(const struct qmpi_config_file *file);

/*
 * Returns the directory of the site's files, which the caller frees; NULL: none. Thread-safe. This
 * function is defined elsewhere, because the directory is relative to the file that is running:
 * libqmpi (process/installation.c) and the command (cli/build.c) each define it, and unit tests do
 * not.
 */
char *qmpi_config_site_folder(void) __attribute__((weak));

/* ---- Settings -------------------------------------------------------------------------------- */

/*
 * Returns the value of a variable of qmpi: from the environment, else from a file, else NULL. The
 * setting on-error in a file of the site is not considered, because it concerns only that file.
 */
const char *qmpi_setting(const char *variable);

/* Returns the environment variable that is set and thus overrides a setting in a file; NULL:
 * none. */
const char *qmpi_setting_replaced_by(const struct qmpi_config_file *file, int setting);

/* Returns the effect of an error in a section of a file. An error in a file of the site stops a run
 * only if the section, or else the file, sets on-error to stop. A user's file that may not exist
 * stops none. */
enum qmpi_tool_on_error qmpi_settings_on_error_in(const struct qmpi_config_file *file, int section);

/* Whether the run continues after an error in an entry of the stack, or in a line of a file, for
 * which `on_error` is set. */
bool qmpi_settings_skip_errors(enum qmpi_tool_on_error on_error);

/*
 * Returns the directories in which tools are searched before the default ones, separated by colons;
 * the caller frees the list. It contains the directories of QMPI_TOOL_PATH or, if this variable is
 * not set, those of the user's file and of the files of QMPI_CONFIG. It ends with the directories
 * of the site's files.
 */
char *qmpi_settings_tool_path(void);

#endif
