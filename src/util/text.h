/* SPDX-License-Identifier: MIT */
/*
 * Texts: characters of UTF-8, fields of CSV, file names, and words that are similar. Names come
 * from programs, which may use any bytes, and may have been truncated. The functions keep no state
 * and allocate nothing; they may be called by any thread.
 */
#ifndef QMPI_UTIL_TEXT_H
#define QMPI_UTIL_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

/* Returns the part of a path after its last slash. */
static inline const char *qmpi_text_base_name(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

/* Returns the name of the tool in a library, and sets `length`: the part of the path after its last
 * slash, without `lib` and `.so…`. */
static inline const char *qmpi_text_tool_name(const char *path, size_t *length)
{
    const char *name = qmpi_text_base_name(path);
    if (!strncmp(name, "lib", 3) && strlen(name) > 3)
        name += 3;
    const char *end = strstr(name, ".so");
    *length = end && end != name ? (size_t)(end - name) : strlen(name);
    return name;
}

/* ---- UTF-8 and CSV --------------------------------------------------------------------------- */

/* U+FFFD, the replacement character. */
#define QMPI_TEXT_REPLACEMENT "\xef\xbf\xbd"

/* Returns the number of bytes of the first character of `text` (RFC 3629), or 0 if the text is
 * empty or does not begin with a valid character. */
size_t qmpi_text_character_length(const char *text);

/* Does the same for a text of `left` bytes, which need not end with a null character. */
size_t qmpi_text_character_length_within(const char *text, size_t left);

/* Returns whether the first character of `text` is a control character (ASCII, or U+0080 to U+009F)
 * other than tab, line feed and carriage return. */
bool qmpi_text_is_control(const char *text);

/* Replaces each invalid byte of a text with the replacement character. Returns `text` itself if it
 * is valid, and otherwise a copy in `room`, which may be truncated. */
const char *qmpi_text_make_valid(const char *text, char *room, size_t size);

/* Writes a field of CSV (RFC 4180, 2.6 and 2.7). Each invalid byte, and each control character as
 * qmpi_text_is_control defines it, is replaced with the replacement character. */
void qmpi_text_put_csv(FILE *stream, const char *text);

/* ---- Similar words --------------------------------------------------------------------------- */

/*
 * Returns the candidate that `word` was most probably meant to be, for a message such as "did you
 * mean …?". This is the one that differs from `word` by the fewest insertions, deletions,
 * replacements and swaps of neighbouring characters, regardless of case. Returns NULL if no
 * candidate is similar enough. `candidate` returns the candidate at an index from 0 on, and NULL
 * after the last one.
 */
const char *qmpi_text_suggest(const char *word,
                              const char *(*candidate)(const void *data, int index),
                              const void *data);

/* Does the same for the words of an array that ends with NULL. */
const char *qmpi_text_suggest_word(const char *word, const char *const *words);

#endif
