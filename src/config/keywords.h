/* SPDX-License-Identifier: MIT */
/*
 * The words on the lines of a configuration file: names, keys and values, with or without quotes,
 * and the comments after them. parse.c interprets them.
 */
#ifndef QMPI_CONFIG_KEYWORDS_H
#define QMPI_CONFIG_KEYWORDS_H

#include <stdbool.h>

bool qmpi_config_is_blank(char c);
const char *qmpi_config_skip_blanks(const char *text);

/*
 * Reads a word up to a comment, the end of `text` or `stop` (0: no such character), without the
 * blanks around it. Sets `end` to the first character after it. Returns the word, or NULL and sets
 * *problem to a message with a hint. The caller frees both.
 */
char *qmpi_config_read_word(const char *text, char stop, const char **end, char **problem);

/* Reads `key = value`; the caller frees both. Returns false and sets *problem on an error. */
bool qmpi_config_read_pair(const char *text, char **key, char **value, char **problem);

#endif
