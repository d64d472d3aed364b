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
extern const int qmpi_name_count;

/* Numbers + 1 by the hash of their names; 0: nothing. A taken place means the next one. */
enum { QMPI_NAMES_HASHED = 4096 };
extern const short qmpi_names_hashed[QMPI_NAMES_HASHED];

/* The number of a function; -1: no such name. */
int qmpi_name_find(const char *name);

#endif
