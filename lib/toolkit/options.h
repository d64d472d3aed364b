/* SPDX-License-Identifier: MIT */
/* The options of a layer, read in `init`. What is wrong is said by QMPIX_Tool_fail. */
#ifndef QMPI_TOOLKIT_OPTIONS_H
#define QMPI_TOOLKIT_OPTIONS_H

#include <stdbool.h>

/* Says that the option does not take this value, and what to give instead. */
void tool_option_fail(int tool_id, const char *key, const char *value, const char *hint);

/* The place of the value in `words`, which ends in NULL; of the first one if none is given. */
bool tool_option_word(int tool_id, const char *key, const char *const *words, const char *hint,
                      int *place);

/* Of output= and the like: a name that tool_file_name takes, or none. */
bool tool_option_file(int tool_id, const char *key, const char **pattern);

/*
 * Whether a layer below, of whatever tool, has in `output` or `csv` the same file: one of the two
 * would be lost. Then that was said. `pattern` may be NULL.
 */
bool tool_option_file_is_taken(int tool_id, const char *key, const char *pattern);

#endif
