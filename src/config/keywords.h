/* SPDX-License-Identifier: MIT */
/*
 * The words of a configuration file's lines: names, keys and values, between quotes or not, and the
 * comments behind them. parse.c knows what they mean.
 */
#ifndef QMPI_CONFIG_KEYWORDS_H
#define QMPI_CONFIG_KEYWORDS_H

#include <stdbool.h>

bool qmpi_config_is_blank(char c);
const char *qmpi_config_skip_blanks(const char *text);

/*
 * Reads a word up to a comment, the end of `text` or `stop` (0: no such character), without the
 * blanks around it; `end` is set to what it ended at. Returns it, to be freed, or NULL; then
 * *problem (to be freed) says what is wrong, and a hint.
 */
char *qmpi_config_read_word(const char *text, char stop, const char **end, char **problem);

/* Reads `key = value`; both to be freed. False: *problem says what is wrong. */
bool qmpi_config_read_pair(const char *text, char **key, char **value, char **problem);

#endif
