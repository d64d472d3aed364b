/* SPDX-License-Identifier: MIT */
/*
 * The grammar of QMPI_TOOLS: entry[:entry]…, where an entry is a name or path, followed by
 * ,key=value for each option; a backslash escapes `:` `,` `=` and `\`. This code uses no files,
 * environment variables or MPI.
 */
#ifndef QMPI_CONFIG_TOOL_LIST_H
#define QMPI_CONFIG_TOOL_LIST_H

#include <stdbool.h>

/* ---- Options for qmpi ------------------------------------------------------------------------ */

/*
 * The options of an entry that are for qmpi itself, whatever the kind of the tool. Their names
 * start with `@`. They are given like the options of the tool, in QMPI_TOOLS and in configuration
 * files, but the tool does not see them. To add an option, add a number here and a line in
 * `reserved_options` (tool_list.c).
 */
enum qmpi_tool_reserved {
    QMPI_RESERVED_PRELOAD,  /* whether `qmpi run` preloads the tool: yes or no; default: only if the
                               tool needs it */
    QMPI_RESERVED_REQUIRED, /* whether the layer stays in the stack even if QMPI_DISABLE matches it:
                               yes or no; only in files of the site */
    QMPI_RESERVED_FORCE, /* whether conflicts of the layer, with others or with its conditions, are
                            ignored: yes or no */
    QMPI_RESERVED_OPTIONAL, /* whether the layer is left out without an error if its tool cannot be
                               used (an invalid entry is still an error): yes or no */
    QMPI_RESERVED_FORTRAN,  /* whether the program calls the Fortran wrappers of a PMPI tool in the
                               topmost layer: yes or no; default: see pmpi/fortran_wrappers.h */
    /* The conditions: see conditions.h. */
    QMPI_RESERVED_RANKS,     /* a set of numbers */
    QMPI_RESERVED_NODES,     /* patterns for the name of the node */
    QMPI_RESERVED_PROGRAM,   /* patterns for the name or the path of the program */
    QMPI_RESERVED_IF_ENV,    /* the name of an environment variable */
    QMPI_RESERVED_ENABLED,   /* whether the layer is on at first: yes or no */
    QMPI_RESERVED_FUNCTIONS, /* the functions to intercept: see util/value.h */
    QMPI_RESERVED_OPTIONS
};

/* Returns the name of an option, with its `@`. */
const char *qmpi_tool_reserved_name(enum qmpi_tool_reserved option);

/*
 * Whether an option is a condition. A condition may be given several times; all its values must
 * then hold. They are joined with QMPI_RESERVED_SEPARATOR, which no value contains.
 */
bool qmpi_tool_reserved_is_condition(enum qmpi_tool_reserved option);
#define QMPI_RESERVED_SEPARATOR "\n"

/* ---- Entries --------------------------------------------------------------------------------- */

struct qmpi_tool_option {
    char *key;
    char *value;
};

/* The origin of an entry. */
enum qmpi_tool_scope {
    QMPI_SCOPE_VARIABLE, /* QMPI_TOOLS, an option that sets it, or a variable of MPICH's QMPI */
    QMPI_SCOPE_USER,     /* the user's configuration file */
    QMPI_SCOPE_LISTED,   /* a file that QMPI_CONFIG names */
    QMPI_SCOPE_SITE,     /* a configuration file of the site */
    QMPI_SCOPE_COMMAND   /* the command itself, which needs the layer: see stack.h */
};

/* The effect on the run if an entry cannot be used; AS_SET: the one that the setting on-error or
 * its variable QMPI_ON_ERROR gives. */
enum qmpi_tool_on_error { QMPI_ON_ERROR_AS_SET, QMPI_ON_ERROR_STOP, QMPI_ON_ERROR_SKIP };

struct qmpi_tool_entry {
    int position; /* from 1, in the variable or the file, without counting empty entries; 0: a
                     preloaded tool without an entry */
    int line;     /* of the entry, or of its first problem, in the configuration file; 0: from a
                     variable */
    int section;  /* of the configuration file: see parse.h */
    char *text;   /* as written; from a file: the line with number `line` */
    char *name;   /* name or path; may be NULL if `problem` is set */
    struct qmpi_tool_option *options;
    int option_count;
    char *reserved[QMPI_RESERVED_OPTIONS]; /* the options for qmpi; NULL: not given. A condition's
                                              string contains all its values: see above */
    char *problem; /* message with a hint if the entry is invalid; else NULL */

    /* These members are set in a stack only (see stack.h). The strings exist for the whole run. */
    const char *source;    /* the variable, option or file in which it is listed */
    const char *tool_path; /* the directories to search first; NULL: none */
    const char *stack;     /* the innermost named stack that contains it; NULL: none */
    int stack_line;        /* where this stack starts in the file `source` */
    const char *part;      /* "above" or "below" if it is in such a section; NULL: otherwise */
    /* For an entry of a named stack, the scope of the outermost entry through which it is used. */
    enum qmpi_tool_scope scope;
    /* The value of its section. If that is AS_SET: the value of the innermost entry through which
     * it is used and whose value is not AS_SET. */
    enum qmpi_tool_on_error on_error;
};

struct qmpi_tool_list {
    struct qmpi_tool_entry *entries;
    int count;
};

/*
 * Adds an option, for the tool or for qmpi, to an entry; takes ownership of `key` and `value`.
 * Returns NULL, or a message with a hint, which the caller frees.
 */
char *qmpi_tool_entry_add_option(struct qmpi_tool_entry *entry, char *key, char *value);

/* Adds a value of an option for qmpi, which must be valid, to those that the entry has. */
void qmpi_tool_entry_add_reserved(struct qmpi_tool_entry *entry, enum qmpi_tool_reserved option,
                                  const char *value);

/* Returns the origin of an entry of a stack, as QMPIX_Tool_get_source does. The caller frees the
 * text. */
char *qmpi_tool_entry_source(const struct qmpi_tool_entry *entry);

/* Adds an entry, in which only the position is set. The result is valid until the next entry is
 * added. */
struct qmpi_tool_entry *qmpi_tool_list_add(struct qmpi_tool_list *list);

/* Adds a copy of an entry, which keeps the position of the original. */
struct qmpi_tool_entry *qmpi_tool_list_add_copy(struct qmpi_tool_list *list,
                                                const struct qmpi_tool_entry *entry);

/* Adds an entry and takes over all that it owns: `entry` is invalid afterwards. */
void qmpi_tool_list_move(struct qmpi_tool_list *to, const struct qmpi_tool_entry *entry);

/* Sets `list`, which the caller frees, to the entries in `text` (NULL: none). Invalid entries
 * contain their message. */
void qmpi_tool_list_parse(const char *text, struct qmpi_tool_list *list);

void qmpi_tool_list_free(struct qmpi_tool_list *list);

#endif
