/* SPDX-License-Identifier: MIT */
/*
 * Reads the options of a layer in `init`. The values have the forms that util/value.h describes.
 * Unless its comment says otherwise, a function leaves its result as it is and returns true if the
 * option is not given and has no default. If the value is invalid, the function reports this with
 * QMPIX_Tool_fail and returns false.
 */
#ifndef QMPI_TOOLKIT_OPTIONS_H
#define QMPI_TOOLKIT_OPTIONS_H

#include "util/util.h"

#include <qmpi/qmpi.h>
#include <stdbool.h>
#include <stdint.h>

/* Reports an invalid value of an option. `hint` says what to give, without `hint: ` in front. */
void tool_option_fail(int tool_id, const char *key, const char *value, const char *hint);

/* Reads a whole number from `least` to `most`. */
bool tool_option_whole(int tool_id, const char *key, int least, int most, int *number);

/* Reads a whole percentage from 1 to 100. */
bool tool_option_percent(int tool_id, const char *key, int *percent);

/* Read a size in bytes or a time in nanoseconds from `least` to `most`. `limits` describes these
 * limits in the hint of an error message, as in "of at least 1M", and may be NULL. */
bool tool_option_size(int tool_id, const char *key, const char *limits, uint64_t least,
                      uint64_t most, uint64_t *bytes);
bool tool_option_time(int tool_id, const char *key, const char *limits, uint64_t least,
                      uint64_t most, uint64_t *nanoseconds);

/* Reads a set of ranges. The caller frees the ranges. */
bool tool_option_set(int tool_id, const char *key, struct qmpi_value_set *set);

bool tool_option_boolean(int tool_id, const char *key, bool *yes);

/* Sets `number` to that of a signal that a user may send to request an action: SIGUSR1, SIGUSR2,
 * SIGHUP, SIGURG or SIGWINCH. */
bool tool_option_signal(int tool_id, const char *key, int *number);

/* Sets `place` to the index of the value in `words`, which ends with NULL. If the option is not
 * given and has no default, the index is 0. `hint` is that of tool_option_fail. */
bool tool_option_word(int tool_id, const char *key, const char *const *words, const char *hint,
                      int *place);

/* Reads an option such as output=, and sets `*pattern` to a pattern for tool_output_name. The text
 * of the pattern belongs to libqmpi. */
bool tool_option_file(int tool_id, const char *key, const char **pattern);

/*
 * Returns whether a layer below, of any tool, uses the same file in its option output= or csv=, so
 * that one of the two files would be lost. If so, reports this with QMPIX_Tool_fail. `pattern` is
 * the value of option `key`, and may be NULL.
 */
bool tool_option_file_is_taken(int tool_id, const char *key, const char *pattern);

/* ---- Lists of functions ---------------------------------------------------------------------- */

/* Calls qmpi_value_read_functions with all functions of this MPI, and returns its result. */
char *tool_option_functions(const char *list, unsigned char listed[MPI_LAST_FUNC]);

#endif
