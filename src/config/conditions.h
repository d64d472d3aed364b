/* SPDX-License-Identifier: MIT */
/*
 * The conditions of an entry, which determine where its layer is on at first. If a condition does
 * not hold in a process, the layer starts switched off there. It is loaded all the same, because
 * many tools communicate among all processes when MPI is initialized and finalized.
 */
#ifndef QMPI_CONFIG_CONDITIONS_H
#define QMPI_CONFIG_CONDITIONS_H

#include "config/tool_list.h"

#include <stdbool.h>

/* The data to which conditions refer. */
struct qmpi_condition_place {
    int rank; /* in MPI_COMM_WORLD; -1: unknown */
    /* The program: the path of its file, and the name with which it was started; both NULL:
     * unknown. */
    const char *program, *program_name;
    bool is_begun; /* MPI_Pcontrol(1) was called, which switches on layers with @enabled=no */
};

/* Called when the program calls MPI_Pcontrol(1): from then on, the condition @enabled=no holds in
 * this process. */
void qmpi_condition_begin(void);

/* Returns the place of this process; `rank` is its rank, or -1 if the rank is not known yet. The
 * strings exist for the whole run. */
struct qmpi_condition_place qmpi_condition_place_here(int rank);

enum qmpi_condition_truth { QMPI_HOLDS_NOT, QMPI_HOLDS, QMPI_HOLDS_UNKNOWN };

/* Whether a condition holds at a place. @nodes refers to this node, and @if-env to the environment
 * of this process. @functions always holds: it only limits the functions that the layer intercepts
 * while it is on. */
enum qmpi_condition_truth qmpi_condition_holds(enum qmpi_tool_reserved option, const char *value,
                                               const struct qmpi_condition_place *place);

/* Whether all values that an entry has for the condition `option` hold at a place. A value of
 * unknown truth counts as true. */
bool qmpi_condition_holds_all(const struct qmpi_tool_entry *entry, enum qmpi_tool_reserved option,
                              const struct qmpi_condition_place *place);

/* Calls `each` for each value of each condition of an entry. */
void qmpi_condition_each(const struct qmpi_tool_entry *entry,
                         void (*each)(void *data, enum qmpi_tool_reserved option,
                                      const char *value),
                         void *data);

/*
 * Returns the first condition of an entry that does not hold, as `@ranks=0-3`, which the caller
 * frees. NULL: all hold, as far as is known.
 */
char *qmpi_condition_unmet(const struct qmpi_tool_entry *entry,
                           const struct qmpi_condition_place *place);

/* Whether the layer of an entry may start switched off. */
bool qmpi_condition_may_be_unmet(const struct qmpi_tool_entry *entry);

/* Returns the name of a condition that may differ between the processes of a job, and so leave the
 * layer off in only some of them; NULL: none does. */
const char *qmpi_condition_that_varies(const struct qmpi_tool_entry *entry);

/*
 * Refuses conditions for a tool that communicates in its wrappers. Returns a message with a hint,
 * which the caller frees, if the conditions of the entry could switch the tool off in only some
 * processes of a job; otherwise NULL.
 */
char *qmpi_condition_refuse_communicating(const struct qmpi_tool_entry *entry, const char *tool);

#endif
