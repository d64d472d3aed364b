/* SPDX-License-Identifier: MIT */
/*
 * The configuration files: those of the site, those that QMPI_CONFIG names, and the user's. They
 * are read once, when the first of them is needed. A privileged program has none.
 */
#ifndef QMPI_CONFIG_FILES_H
#define QMPI_CONFIG_FILES_H

#include "config/parse.h"

struct qmpi_config_file {
    char *path;
    enum qmpi_scope scope; /* not QMPI_SCOPE_VARIABLE */
    char *unreadable;      /* the reason why it cannot be read, with a hint; NULL: it can */
    struct qmpi_config config;
};

/*
 * Returns the files, from the outermost to the innermost: those of the site in order of name, those
 * of QMPI_CONFIG in its order, that of the user. The result exists for the whole run.
 */
const struct qmpi_config_file *qmpi_config_files(int *count);

/*
 * Returns the directory of the site's files, which the caller frees; NULL: none. Thread-safe. This
 * function is not of this folder, because the directory is relative to that of the library: libqmpi
 * has one (process/installation.c), the command another one (cli/self.c), and unit tests have none.
 */
char *qmpi_site_folder(void) __attribute__((weak));

#endif
