/* SPDX-License-Identifier: MIT */
/*
 * The grammar of a configuration file. There is one tool per line, in stack order, with its options
 * as `key = value` on indented lines below it. Settings are `key = value` without indentation.
 * Sections start with a line `[above]`, `[below]` or `[stack NAME]`, comments with `#`. This code
 * uses no files, environment variables or MPI. qmpi.conf(5) describes the grammar.
 */
#ifndef QMPI_CONFIG_PARSE_H
#define QMPI_CONFIG_PARSE_H

#include "config/tool_list.h"

#include "util/util.h"

#include <stdbool.h>
#include <stddef.h>

/* ---- Settings -------------------------------------------------------------------------------- */

enum {
    QMPI_SETTING_TOOL_PATH,
    QMPI_SETTING_ON_ERROR,
    QMPI_SETTING_DEBUG,
    QMPI_SETTING_INTERNAL,
    QMPI_SETTING_CLOCK,
    QMPI_SETTING_RANK_TIMEOUT,
    QMPI_CONFIG_SETTINGS
};

/* The name of a setting in a file, and the corresponding environment variable. */
struct qmpi_config_name {
    const char *key;
    const char *variable;
};
extern const struct qmpi_config_name qmpi_config_names[QMPI_CONFIG_SETTINGS];

#define QMPI_SECONDS_HINT "give " QMPI_VALUE_TIME_ABOVE_0

/* Reads the value of rank-timeout, a time above 0. Returns false if the value is invalid. */
bool qmpi_config_read_seconds(const char *value, double *seconds);

/* Returns the number of the setting that has this environment variable; -1: none. */
int qmpi_config_setting_of(const char *variable);

/* Returns the problem with the value of a setting, with a hint; NULL: the value is valid. The
 * message calls the setting `name`: its key or its variable. The caller frees the result. */
char *qmpi_config_refuse_value(int setting, const char *name, const char *value);

/* ---- The file -------------------------------------------------------------------------------- */

/* An invalid line that does not belong to a tool, or an invalid file. */
struct qmpi_config_problem {
    int line;      /* 0: the file as a whole */
    int section;   /* the section of the line; QMPI_SECTION_MIDDLE if the line starts an invalid
                      section */
    char *text;    /* the line, without blanks around it; "" for the file as a whole */
    char *problem; /* the message, with a hint */
    const char *without; /* what is ignored because of the problem, in words */
};

/* The sections that every file has, if only empty ones. The named stacks follow. */
enum {
    QMPI_SECTION_MIDDLE, /* the tools outside a section */
    QMPI_SECTION_TOP,
    QMPI_SECTION_BOTTOM,
    QMPI_SECTION_STACKS
};

struct qmpi_config_section {
    char *name;     /* "above" and so on, or the name of the stack */
    int line;       /* where it starts; if it starts several times, the last place; 0: nowhere */
    char *on_error; /* stop or skip, for its tools; NULL: not set */
};

struct qmpi_config {
    struct qmpi_tool_list tools;          /* invalid lines of tools are recorded in their entries;
                                             `section` is an index of `sections` */
    struct qmpi_config_section *sections; /* at least QMPI_SECTION_STACKS of them */
    int section_count;
    char *settings[QMPI_CONFIG_SETTINGS];    /* as in qmpi_config_names; NULL: not set */
    int setting_lines[QMPI_CONFIG_SETTINGS]; /* the line of each; 0: not set */
    struct qmpi_config_problem *problems;
    int problem_count;
};

/*
 * Parses `size` bytes of `text`, the content of a file. Paths in it without a leading slash are
 * relative to `folder`, the directory of the file. qmpi_config_free frees what *config contains.
 */
void qmpi_config_parse(const char *text, size_t size, const char *folder,
                       struct qmpi_config *config);

void qmpi_config_free(struct qmpi_config *config);

#endif
