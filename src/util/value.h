/* SPDX-License-Identifier: MIT */
/*
 * The grammar of values, for options of layers, settings, and options of the command.
 * docs/run/README.md ("Values of options") describes it for users.
 *
 * Blanks may precede and follow numbers and units. The decimal point is `.` in every locale. The
 * functions do not change the program's floating-point environment, keep no state, and are
 * thread-safe, but must not be called in signal handlers unless their comments allow it. Unless its
 * comment says otherwise, each returns false, and leaves its result as it is, if `text` is not such
 * a value; the caller then reports the option, the value, and, as a hint, the matching
 * QMPI_VALUE_... text below.
 */
#ifndef QMPI_UTIL_VALUE_H
#define QMPI_UTIL_VALUE_H

#include "util/arch/arithmetic.h"

#include <stdbool.h>
#include <stdint.h>

/* These describe valid values in messages, after "give " or "must be ". */
#define QMPI_VALUE_SIZE "a size such as 4096, 64K, 1.5MiB or 2G"
#define QMPI_VALUE_TIME "a time such as 250us, 20ms, 1.5s or 5min"
#define QMPI_VALUE_TIME_ABOVE_0 "a time above 0, such as 250us, 20ms, 1.5s or 5min"
#define QMPI_VALUE_SET "numbers, ranges and steps separated by ;, such as 3;10-20;100-;every 5"
#define QMPI_VALUE_PERCENT "a percentage from 1 to 100"
#define QMPI_VALUE_YES "yes or no"

/* A whole number from `least` to `most`, in decimal digits. */
bool qmpi_value_whole(const char *text, uint64_t least, uint64_t most, uint64_t *number);

/* A number from 0 to `most`: `2`, `0.01`, `1e-3`. */
bool qmpi_value_real(const char *text, double most, double *number);

/* A number from 0 to 1e15, with or without a percent sign: `10`, `2.5%`. */
bool qmpi_value_percent(const char *text, double *percent);

/* A whole percentage from 1 to 100: QMPI_VALUE_PERCENT. */
bool qmpi_value_whole_percent(const char *text, int *percent);

/*
 * A number of bytes. K and KiB stand for 1024 bytes, KB for 1000 bytes, and likewise for M, G and
 * T. Case does not matter. Fractions of a byte are rounded, but a size other than 0 is not rounded
 * to 0.
 */
bool qmpi_value_size(const char *text, uint64_t *bytes);

/*
 * A time in ns, us, ms, s, min or h. A time without a unit is in seconds. It is rounded to
 * nanoseconds. A time other than 0 is not rounded to 0. At most INT64_MAX nanoseconds are accepted.
 */
bool qmpi_value_time(const char *text, uint64_t *nanoseconds);

/* Reads a time at the beginning of `text`, and returns the rest of the text. Returns NULL if `text`
 * does not begin with a time. */
const char *qmpi_value_time_part(const char *text, uint64_t *nanoseconds);

/* A boolean: yes, on, true or 1, or no, off, false or 0. */
bool qmpi_value_boolean(const char *text, bool *yes);

/* Returns whether a value is one of those that mean yes. `text` may be NULL. */
bool qmpi_value_is_yes(const char *text);

/* ---- Sets of numbers ------------------------------------------------------------------------- */

/* A range contains n if first <= n <= last and n is a multiple of step. */
struct qmpi_value_range {
    uint64_t first, last, step;
};

struct qmpi_value_set {
    struct qmpi_value_range *ranges;
    int count; /* 0: every number is in the set */
};

/*
 * A set, such as one of ranks: `3`, `10-20`, `10-` and `every 5`, with `;` or `,` between them. The
 * caller frees the ranges. If `text` is not such a set, sets `set` to one without ranges, and
 * returns false.
 */
bool qmpi_value_set_read(const char *text, struct qmpi_value_set *set);

/* Returns whether a set contains a number. Async-signal-safe. */
static inline bool qmpi_value_set_has(const struct qmpi_value_set *set, uint64_t number)
{
    bool has = set->count == 0;
    for (int i = 0; i < set->count && !has; i++) {
        const struct qmpi_value_range *range = &set->ranges[i];
        has = number >= range->first && number <= range->last && number % range->step == 0;
    }
    return has;
}

/* ---- Lists of functions ---------------------------------------------------------------------- */

/*
 * Lists of MPI functions in options: names, patterns and groups with `;` between them, such as
 * `MPI_Send;MPI_I*;collective;!MPI_Barrier`. Each item adds functions, or removes them if it starts
 * with `!`. A list that starts with `!` starts from all functions. Case does not matter. The caller
 * passes a function that describes the existing functions.
 */

/* The words for groups, as messages list them. */
#define QMPI_VALUE_GROUPS                                                                          \
    "point-to-point, completion, collective, one-sided, io, datatype, communicator, group, "       \
    "topology, environment, info, process, tool-information"

/* Returns the name of a group (one of QMPIX_GROUP_… of <qmpi/observer.h>) in results, or "" if
 * there is no such group. The names "I/O" and "tool information" differ from the words. The name is
 * static. May be called by any thread, also in signal handlers. */
const char *qmpi_value_group_name(unsigned group);

/* Bits that show how a list mentions a function. */
enum {
    QMPI_VALUE_LISTED = 1 << 0,
    QMPI_VALUE_NAMED = 1 << 1 /* by its full name */
};

/* Sets the name and the group (QMPIX_GROUP_… of <qmpi/observer.h>) of a function. Returns false if
 * there is no such function. */
typedef bool qmpi_value_function_describer(int number, const char **name, unsigned *group);

/*
 * Reads a list, and sets listed[number] for the functions 0 … count - 1. Returns NULL on success.
 * If an item matches no function, returns this item, and if the list as a whole selects no
 * function, returns "". The caller frees the result.
 */
char *qmpi_value_read_functions(const char *list, int count,
                                qmpi_value_function_describer *describe, unsigned char *listed);

/* Returns a message, with a hint, about an item that qmpi_value_read_functions has returned for the
 * value of `option`. The caller frees it. */
char *qmpi_value_refuse_functions(const char *option, const char *item);

/* ---- Lists of patterns ----------------------------------------------------------------------- */

/* Lists of patterns in options: `PATTERN;PATTERN`, with the patterns of the shell for file
 * names. */

/* Returns whether one of the patterns matches the name. `patterns` may be NULL, which matches all
 * names. If `fold` is true, case does not matter. */
bool qmpi_value_matches_patterns(const char *patterns, const char *name, bool fold);

/* Returns whether one of the patterns is the name itself. `patterns` may be NULL. */
bool qmpi_value_lists_name(const char *patterns, const char *name);

/* ---- Numbers in a thread of the application -------------------------------------------------- */

/*
 * The following functions let a tool read, write and compute numbers in a thread of the
 * application. Between qmpi_value_begin_numbers and qmpi_value_end_numbers, numbers have a decimal
 * point whatever the locale is, and computations use the default floating-point environment
 * (arch/arithmetic.h). Afterwards, the locale and the floating-point environment of the application
 * are as they were.
 */
struct qmpi_value_numbers {
    void *ours, *before; /* Each is a locale_t, which <locale.h> does not declare by default. */
    struct qmpi_arithmetic arithmetic;
};

/* These affect only the calling thread. `numbers` belongs to the caller and need not be set before
 * qmpi_value_begin_numbers. If memory is exhausted, the locale stays as it is. */
void qmpi_value_begin_numbers(struct qmpi_value_numbers *numbers);
void qmpi_value_end_numbers(struct qmpi_value_numbers *numbers);

#endif
