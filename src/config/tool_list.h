/* SPDX-License-Identifier: MIT */
/*
 * The grammar of QMPI_TOOLS: entry[:entry]…, an entry being a name or path and then ,key=value for
 * each option; a backslash escapes `:` `,` `=` and `\`. Pure text: no files, no environment, no
 * MPI.
 */
#ifndef QMPI_CONFIG_TOOL_LIST_H
#define QMPI_CONFIG_TOOL_LIST_H

#include "config/reserved_options.h"

struct qmpi_option {
    char *key;
    char *value;
};

struct qmpi_entry {
    int position; /* 1 for the first entry; empty entries do not count */
    int line;     /* of the configuration file that it is from; 0: from a variable */
    char *text;   /* as written */
    char *name;   /* name or path; NULL if `problem` */
    struct qmpi_option *options;
    int option_count;
    char *reserved[QMPI_RESERVED_OPTIONS]; /* the dispatcher's options; NULL: not given */
    char *problem; /* what is wrong with this entry, and a hint; NULL if nothing */
};

struct qmpi_tool_list {
    struct qmpi_entry *entries;
    int count;
};

/*
 * Adds an option, the tool's or the dispatcher's, to an entry; takes `key` and `value` over.
 * Returns NULL, or what is wrong with it, and a hint, to be freed.
 */
char *qmpi_entry_add_option(struct qmpi_entry *entry, char *key, char *value);

/* Splits and parses `text` (NULL: the empty list). Entries that are wrong say so themselves. */
void qmpi_tool_list_parse(const char *text, struct qmpi_tool_list *list);

void qmpi_tool_list_free(struct qmpi_tool_list *list);

#endif
