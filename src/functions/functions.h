/* SPDX-License-Identifier: MIT */
/* The generated name table: every known MPI function, in the order of the numbers. No MPI needed.
 */
#ifndef QMPI_FUNCTIONS_FUNCTIONS_H
#define QMPI_FUNCTIONS_FUNCTIONS_H

#include <stdint.h>

struct qmpi_name {
    const char *name; /* in front of it there is a P: name - 1 is that of PMPI_X */
    int exists;       /* in the MPI that this build is for */
};

extern const struct qmpi_name qmpi_names[];
extern const int qmpi_name_count;

/* What the hash tables of ELF objects have for MPI_X and for PMPI_X; see elf/loaded.h. */
struct qmpi_name_hashes {
    uint32_t mpi, pmpi;
};
extern const struct qmpi_name_hashes qmpi_name_hashes[];

/* Which of those hashes there are: a bit for each, by all but its lowest bit. */
enum { QMPI_NAMES_FILTERED = 1 << 15 };
extern const uint64_t qmpi_names_filter[QMPI_NAMES_FILTERED / 64];

/* False: neither MPI_X nor PMPI_X has this hash, whatever its lowest bit. */
static inline int qmpi_name_may_be(uint32_t hash)
{
    const uint32_t bit = (hash >> 1) % QMPI_NAMES_FILTERED;
    return (int)(qmpi_names_filter[bit / 64] >> bit % 64 & 1);
}

/* Numbers + 1 by the hash of their names; 0: nothing. A taken place means the next one. */
enum { QMPI_NAMES_HASHED = 4096 };
extern const short qmpi_names_hashed[QMPI_NAMES_HASHED];

/* The number of a function; -1: no such name. */
int qmpi_name_find(const char *name);

#endif
