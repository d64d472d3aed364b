/* SPDX-License-Identifier: MIT */
/*
 * UTF-8 in files: names come from programs, which may give any bytes, and were cut where a name may
 * be so long. What is written is always UTF-8.
 */
#ifndef QMPI_PROFILE_UTF8_H
#define QMPI_PROFILE_UTF8_H

#include <stddef.h>

/* U+FFFD, the replacement character: for every byte that does not belong. */
#define UTF8_REPLACEMENT "\xef\xbf\xbd"

/* How many bytes the character at the begin of `text` has (RFC 3629); 0: its first byte belongs to
 * none, or the text is at its end. */
size_t utf8_length(const char *text);

#endif
