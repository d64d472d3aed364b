/* SPDX-License-Identifier: MIT */
/* Parts of a page in HTML: its frame, and strings and data from results, which are encoded so that
 * they cannot become markup. */
#ifndef QMPI_PROFILE_HTML_ENCODE_H
#define QMPI_PROFILE_HTML_ENCODE_H

#include <stdio.h>

/* The page, which html/embed.py generates, in parts. Between these strings, html.c prints the
 * title, the heading, the summary and the data. */
enum { HTML_PAGE_PARTS = 5 };
extern const unsigned char *const html_page[HTML_PAGE_PARTS];

/* Prints text as content of an element or of a quoted attribute. Prints nothing for NULL. Invalid
 * bytes of UTF-8, and bytes below 0x20 except tabs and newlines, become U+FFFD. */
void html_encode_text(FILE *stream, const char *text);

/*
 * Returns a stream whose content goes to `target`, compressed (gzip) and in base64. It must be
 * closed before `target`. fclose fails if zlib does; the caller checks `target` for errors. Returns
 * NULL if memory is exhausted, or if qmpi was built without zlib.
 */
FILE *html_encode_open(FILE *target);

#endif
