/* SPDX-License-Identifier: MIT */
/*
 * The MPI functions. Each has a number, by which arrays of pointers to functions are indexed. The
 * table of the names of all known functions is generated, ordered by number.
 */
#ifndef QMPI_FUNCTIONS_FUNCTIONS_H
#define QMPI_FUNCTIONS_FUNCTIONS_H

#include <qmpi/qmpi.h>

#include <stdint.h>

enum { QMPI_FUNCTION_COUNT = MPI_LAST_FUNC };

typedef void qmpi_function(void);

/* Data and functions that are hidden are reached directly, not through the GOT, which saves time on
 * the path of an MPI call. */
#define QMPI_HIDDEN __attribute__((visibility("hidden")))

struct qmpi_function_name {
    const char *name;   /* preceded by a P: name - 1 is the name of PMPI_X */
    int exists;         /* whether the MPI of this build has the function */
    uint32_t pmpi_hash; /* of the name PMPI_X, as in DT_GNU_HASH tables */
};

extern const struct qmpi_function_name qmpi_names[];
extern const int qmpi_name_count;

/* Hash table of the names: number + 1, or 0 if empty; linear probing. */
enum { QMPI_NAMES_HASHED = 4096 };
extern const short qmpi_names_hashed[QMPI_NAMES_HASHED];

/* Returns the number of a function; -1: unknown name. */
int qmpi_function_find(const char *name);

#endif
