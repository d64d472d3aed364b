/* SPDX-License-Identifier: MIT */
/*
 * UTF-8 in files: names come from programs, which may use any bytes, and may have been truncated.
 * Output is always valid UTF-8.
 */
#ifndef QMPI_PROFILE_UTF8_H
#define QMPI_PROFILE_UTF8_H

#include <stddef.h>

/* U+FFFD, the replacement character for each invalid byte. */
#define UTF8_REPLACEMENT "\xef\xbf\xbd"

/* Returns the number of bytes of the first character of `text` (RFC 3629); 0: the first byte is
 * invalid, or the text is empty. */
size_t utf8_length(const char *text);

#endif
