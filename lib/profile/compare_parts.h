/* SPDX-License-Identifier: MIT */
/* What fills the tables of a comparison. The functions return false if memory is exhausted. */
#ifndef QMPI_PROFILE_COMPARE_PARTS_H
#define QMPI_PROFILE_COMPARE_PARTS_H

#include "profile/comparison.h"

/* Names the tables and their figures. The functions up to compare_set_calls are in compare_fill.c.
 */
void compare_start(struct profile_comparison *comparison);

/* Fills all tables. */
bool compare_fill(struct profile_comparison *comparison);

/* Sets the values of a run of a function or call site. */
void compare_set_calls(const struct profile_comparison *comparison, enum compare_kind kind,
                       struct compare_entry *entry, int run, const struct profile_calls *calls,
                       int ranks);

/* Adds an entry without values. NULL: memory is exhausted. */
struct compare_entry *compare_add(struct profile_comparison *comparison, enum compare_kind kind,
                                  const char *name, int rank, int peer);

/* Sets the values of a run, in the order of the figures of the table. */
void compare_set(const struct profile_comparison *comparison, enum compare_kind kind,
                 struct compare_entry *entry, int run, const double *values);

/* Sorts a table: the largest change of the first figure first. */
void compare_sort(struct profile_comparison *comparison, enum compare_kind kind);

/* compare_sites.c: call sites. compare_waits.c: waits at these. compare_findings.c: findings. */
bool compare_sites(struct profile_comparison *comparison);
bool compare_waits(struct profile_comparison *comparison);
bool compare_findings(struct profile_comparison *comparison);

#endif
