/* SPDX-License-Identifier: MIT */
/*
 * The grammar of a configuration file: one tool per line in stack order, its options as `key =
 * value` on indented lines below it, settings as `key = value` without indentation, and comments
 * from `#` on. This code uses no files, environment variables or MPI. qmpi.conf(5) describes the
 * grammar.
 */
#ifndef QMPI_CONFIG_PARSE_H
#define QMPI_CONFIG_PARSE_H

#include "config/tool_list.h"

#include <stddef.h>

enum { QMPI_CONFIG_SETTINGS = 5 };

/* The name of a setting in a file, and the corresponding environment variable. */
struct qmpi_config_name {
    const char *key;
    const char *variable;
};
extern const struct qmpi_config_name qmpi_config_names[QMPI_CONFIG_SETTINGS];

/* An invalid line that does not belong to a tool. */
struct qmpi_config_problem {
    int line; /* 0: the text as a whole */
    char *text;
    char *problem; /* the message, with a hint */
};

struct qmpi_config {
    struct qmpi_tool_list tools;          /* invalid lines of tools are recorded in their entries */
    char *settings[QMPI_CONFIG_SETTINGS]; /* by qmpi_config_names; NULL: not set */
    struct qmpi_config_problem *problems;
    int problem_count;
};

/*
 * Parses `size` bytes of `text`. Paths without a leading slash are relative to `folder`, the
 * directory of the file.
 */
void qmpi_config_parse(const char *text, size_t size, const char *folder,
                       struct qmpi_config *config);

void qmpi_config_free(struct qmpi_config *config);

#endif
