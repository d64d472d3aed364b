/* SPDX-License-Identifier: MIT */
/* The generated name table: every known MPI function, in the order of the numbers. No MPI needed.
 */
#ifndef QMPI_NAMES_H
#define QMPI_NAMES_H

struct qmpi_name {
    const char *name;
    int exists; /* in the MPI that this build is for */
};

extern const struct qmpi_name qmpi_names[];
extern const short qmpi_names_sorted[]; /* numbers, in the order of the names */
extern const int qmpi_name_count;

/* The number of a function; -1: no such name. */
int qmpi_name_find(const char *name);

#endif
