/* SPDX-License-Identifier: MIT */
/* The parts of html.c. */
#ifndef QMPI_PROFILE_HTML_PARTS_H
#define QMPI_PROFILE_HTML_PARTS_H

#include "profile/comparison.h"

#include <stdbool.h>
#include <stdio.h>

/* The page, which html/embed.py generates: strings, between which a result fills in the title, the
 * heading, the summary and the data. */
enum { HTML_PAGE_PARTS = 5 };
extern const unsigned char *const html_page[HTML_PAGE_PARTS];

/* html_escape.c: prints text as content of an element or of a quoted attribute. Invalid bytes of
 * UTF-8 and control characters become U+FFFD. */
void html_escape(FILE *stream, const char *text);

/*
 * html_data.c: returns a stream of which the content goes to `target`, compressed (gzip) and in
 * base64. It must be closed before `target`; fclose fails if memory is exhausted. Returns NULL if
 * it is already, or if qmpi was built without zlib.
 */
FILE *html_data_open(FILE *target);

/* html_summary.c: the last part of a path; prints the name of a run, as content of an element or of
 * an attribute; and what is true without the script: program and ranks, findings, efficiency. */
const char *html_base_name(const char *path);
void html_run_name(FILE *stream, const struct profile_named *run);
void html_heading(FILE *stream, const struct profile_named *runs, size_t count);
void html_summary(FILE *stream, const struct profile_named *runs, size_t count);

#endif
