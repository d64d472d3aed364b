/* SPDX-License-Identifier: MIT */
/*
 * The MPI functions as the dispatcher sees them, each a number and a pointer; and the generated
 * table of all known ones, ordered by number.
 */
#ifndef QMPI_FUNCTIONS_FUNCTIONS_H
#define QMPI_FUNCTIONS_FUNCTIONS_H

#include <qmpi/qmpi.h>

#include <stdint.h>

enum { QMPI_FUNCTION_COUNT = MPI_LAST_FUNC };

typedef void qmpi_function(void);

/* For pointers on the path of an MPI call: they are read directly, not through the GOT. */
#define QMPI_HIDDEN __attribute__((visibility("hidden")))

struct qmpi_name {
    const char *name; /* preceded by a P: name - 1 is the name of PMPI_X */
    int exists;       /* whether the MPI of this build has the function */
};

extern const struct qmpi_name qmpi_names[];
extern const int qmpi_name_count;

/* The ELF hashes of the names MPI_X and PMPI_X; see elf/loaded.h. */
struct qmpi_name_hashes {
    uint32_t mpi, pmpi;
};
extern const struct qmpi_name_hashes qmpi_name_hashes[];

/* A bit map of these hashes, indexed by the hash without its lowest bit. */
enum { QMPI_NAMES_FILTERED = 1 << 15 };
extern const uint64_t qmpi_names_filter[QMPI_NAMES_FILTERED / 64];

/* Returns false if no name MPI_X or PMPI_X has this hash, ignoring its lowest bit. */
static inline int qmpi_name_may_be(uint32_t hash)
{
    const uint32_t bit = (hash >> 1) % QMPI_NAMES_FILTERED;
    return (int)(qmpi_names_filter[bit / 64] >> bit % 64 & 1);
}

/* Hash table of the names: number + 1, or 0 if empty; linear probing. */
enum { QMPI_NAMES_HASHED = 4096 };
extern const short qmpi_names_hashed[QMPI_NAMES_HASHED];

/* Returns the number of a function; -1: unknown name. */
int qmpi_name_find(const char *name);

#endif
