/* SPDX-License-Identifier: MIT */
/*
 * The page in HTML, with its scripts and styles, is larger than all else that `profile` writes, and
 * few runs write it: it is in a library that is opened only for it. `qmpi report` contains it.
 */
#ifndef QMPI_PROFILE_HTML_MODULE_H
#define QMPI_PROFILE_HTML_MODULE_H

#include "profile/result.h"

#include <qmpi/qmpi.h>

#include <stdbool.h>

#define PROFILE_HTML_FILE "qmpi-html.module" /* in the folder of the tool */
#define PROFILE_HTML_FUNCTION "profile_html_find_writer"

/* profile_write_html */
typedef bool profile_html_writer(const struct profile_result *result, const char *path,
                                 char **problem);

/* Returns the writer; NULL: pages are not supported. */
typedef profile_html_writer *profile_html_find(void);

#endif
