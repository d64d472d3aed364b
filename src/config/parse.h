/* SPDX-License-Identifier: MIT */
/*
 * The grammar of a configuration file: a tool a line in stack order, its options as `key = value`
 * on indented lines below it, settings as `key = value` at the margin, comments from `#` on. Pure
 * text: no files, no environment, no MPI. qmpi.conf(5) describes it.
 */
#ifndef QMPI_CONFIG_PARSE_H
#define QMPI_CONFIG_PARSE_H

#include "config/tool_list.h"

#include <stddef.h>

enum { QMPI_CONFIG_SETTINGS = 4 };

/* What a setting is called in a file, and which environment variable it stands in for. */
struct qmpi_config_name {
    const char *key;
    const char *variable;
};
extern const struct qmpi_config_name qmpi_config_names[QMPI_CONFIG_SETTINGS];

/* A line that is wrong and belongs to no tool. */
struct qmpi_config_problem {
    int line; /* 0: the text as a whole */
    char *text;
    char *problem; /* what is wrong, and a hint */
};

struct qmpi_config {
    struct qmpi_tool_list tools;          /* tools with a wrong line say so themselves */
    char *settings[QMPI_CONFIG_SETTINGS]; /* by qmpi_config_names; NULL: not set */
    struct qmpi_config_problem *problems;
    int problem_count;
};

/*
 * Parses `size` bytes of `text`. Paths that do not begin with a slash are relative to `folder`,
 * where the file is.
 */
void qmpi_config_parse(const char *text, size_t size, const char *folder,
                       struct qmpi_config *config);

void qmpi_config_free(struct qmpi_config *config);

#endif
