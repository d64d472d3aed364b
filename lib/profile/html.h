/* SPDX-License-Identifier: MIT */
/*
 * Writes results as a page in HTML, one file that needs no network. The findings and the efficiency
 * are text; everything else is drawn by the script of the page (html/), from the results as JSON,
 * which the page contains, compressed. What comes from results is escaped or in base64, so that it
 * cannot become a part of the page's markup.
 */
#ifndef QMPI_PROFILE_HTML_H
#define QMPI_PROFILE_HTML_H

#include "profile/comparison.h"
#include "profile/result.h"

#include <stdio.h>

/* Whether pages can be written: qmpi was built with zlib. */
bool profile_html_is_supported(void);

/* Writes a page of one result to an open stream; the caller checks the stream for errors. Returns
 * false if memory is exhausted, or pages are not supported. */
bool profile_print_html(FILE *stream, const struct profile_named *run);

/* The same for a page that compares several. */
bool profile_print_comparison_html(FILE *stream, const struct profile_comparison *comparison);

/* Like profile_write_json, a page of one result. */
bool profile_write_html(const struct profile_result *result, const char *path, char **problem);

#endif
