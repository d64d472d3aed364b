/* SPDX-License-Identifier: MIT */
/*
 * The grammar of QMPI_TOOLS: entry[:entry]…, where an entry is a name or path, followed by
 * ,key=value for each option; a backslash escapes `:` `,` `=` and `\`. This code uses no files,
 * environment variables or MPI.
 */
#ifndef QMPI_CONFIG_TOOL_LIST_H
#define QMPI_CONFIG_TOOL_LIST_H

#include "config/reserved_options.h"

struct qmpi_option {
    char *key;
    char *value;
};

struct qmpi_entry {
    int position; /* 1 for the first entry; empty entries are not counted */
    int line;     /* line of the configuration file; 0: from a variable */
    char *text;   /* as written */
    char *name;   /* name or path; NULL if `problem` */
    struct qmpi_option *options;
    int option_count;
    char *reserved[QMPI_RESERVED_OPTIONS]; /* the options for qmpi; NULL: not given */
    char *problem; /* message with a hint if the entry is invalid; else NULL */
};

struct qmpi_tool_list {
    struct qmpi_entry *entries;
    int count;
};

/*
 * Adds an option, for the tool or for qmpi, to an entry; takes ownership of `key` and `value`.
 * Returns NULL, or a message with a hint, which the caller frees.
 */
char *qmpi_entry_add_option(struct qmpi_entry *entry, char *key, char *value);

/* Splits and parses `text` (NULL: the empty list). Invalid entries contain their message. */
void qmpi_tool_list_parse(const char *text, struct qmpi_tool_list *list);

void qmpi_tool_list_free(struct qmpi_tool_list *list);

#endif
