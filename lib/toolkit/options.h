/* SPDX-License-Identifier: MIT */
/* Reads the options of a layer, in `init`. Errors are reported with QMPIX_Tool_fail. */
#ifndef QMPI_TOOLKIT_OPTIONS_H
#define QMPI_TOOLKIT_OPTIONS_H

#include <stdbool.h>

/* Reports an invalid value of an option, with a hint. */
void tool_option_fail(int tool_id, const char *key, const char *value, const char *hint);

/* Sets `place` to the index of the value in `words`, which ends with NULL; 0 if none is given. */
bool tool_option_word(int tool_id, const char *key, const char *const *words, const char *hint,
                      int *place);

/* Reads output= and similar options: a name for tool_file_name, or NULL. */
bool tool_option_file(int tool_id, const char *key, const char **pattern);

/*
 * Whether a layer below, of any tool, uses the same file in `output` or `csv`, so that one of them
 * would be lost; reports this. `pattern` may be NULL.
 */
bool tool_option_file_is_taken(int tool_id, const char *key, const char *pattern);

#endif
