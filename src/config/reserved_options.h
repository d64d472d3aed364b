/* SPDX-License-Identifier: MIT */
/*
 * The options of an entry that are the dispatcher's own, for tools of every kind: their names begin
 * with `@`. They stand beside the tool's options in QMPI_TOOLS and in the configuration file, and
 * the tool does not see them. To add one: a number here, and its line in the table.
 */
#ifndef QMPI_CONFIG_RESERVED_OPTIONS_H
#define QMPI_CONFIG_RESERVED_OPTIONS_H

#include <stdbool.h>

enum qmpi_reserved_option {
    QMPI_RESERVED_PRELOAD, /* whether `qmpi run` preloads the tool: yes, no; not given: where it
                              must */
    QMPI_RESERVED_OPTIONS
};

/* How an option is called, with its `@`. */
const char *qmpi_reserved_option_name(enum qmpi_reserved_option option);

/* Whether an option of this name is meant for the dispatcher. */
bool qmpi_reserved_option_is_meant(const char *key);

/*
 * The number of the option of this name. Negative: there is none, or it cannot have this value;
 * then *problem says so and a hint, to be freed.
 */
int qmpi_reserved_option_find(const char *key, const char *value, char **problem);

#endif
