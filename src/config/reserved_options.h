/* SPDX-License-Identifier: MIT */
/*
 * The options of an entry that are for qmpi, for all kinds of tools: their names start with `@`.
 * They are given like the options of the tool, in QMPI_TOOLS and in the configuration file, but the
 * tool does not see them. To add an option, add a number here and a line in the table.
 */
#ifndef QMPI_CONFIG_RESERVED_OPTIONS_H
#define QMPI_CONFIG_RESERVED_OPTIONS_H

#include <stdbool.h>

enum qmpi_reserved_option {
    QMPI_RESERVED_PRELOAD,  /* whether `qmpi run` preloads the tool: yes or no; not given: if
                               required */
    QMPI_RESERVED_REQUIRED, /* whether QMPI_DISABLE does not leave the layer out: yes or no; only in
                               files of the site */
    QMPI_RESERVED_FORCE,    /* whether conflicts of the layer with others are ignored: yes or no */
    QMPI_RESERVED_OPTIONAL, /* whether the layer is left out without an error if it cannot be used:
                               yes or no */
    /* The conditions: see conditions.h. */
    QMPI_RESERVED_RANKS,     /* a set of numbers */
    QMPI_RESERVED_NODES,     /* patterns for the name of the node */
    QMPI_RESERVED_PROGRAM,   /* patterns for the name or the path of the program */
    QMPI_RESERVED_IF_ENV,    /* the name of an environment variable */
    QMPI_RESERVED_ENABLED,   /* whether the layer is on at first: yes or no */
    QMPI_RESERVED_FUNCTIONS, /* the functions to intercept: see util/function_list.h */
    QMPI_RESERVED_OPTIONS
};

/* Returns the name of an option, with its `@`. */
const char *qmpi_reserved_option_name(enum qmpi_reserved_option option);

/*
 * Whether an option is a condition. A condition may be given several times, and must then hold each
 * time: the values are joined with QMPI_RESERVED_SEPARATOR, which no value contains.
 */
bool qmpi_reserved_option_is_condition(enum qmpi_reserved_option option);
#define QMPI_RESERVED_SEPARATOR "\n"

/* Whether an option of this name is for qmpi. */
bool qmpi_reserved_option_is_meant(const char *key);

/*
 * Returns the number of the option of this name. If the option is unknown or the value is invalid,
 * returns a negative number and sets *problem to a message with a hint, which the caller frees.
 */
int qmpi_reserved_option_find(const char *key, const char *value, char **problem);

#endif
