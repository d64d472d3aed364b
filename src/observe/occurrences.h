/* SPDX-License-Identifier: MIT */
/* How often each of several keys has occurred. */
#ifndef QMPI_OBSERVE_OCCURRENCES_H
#define QMPI_OBSERVE_OCCURRENCES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct qmpi_occurrence {
    uint64_t key, count; /* count 0: empty */
};

/* An open hash table; all zero at first. */
struct qmpi_occurrences {
    struct qmpi_occurrence *slots;
    size_t capacity, used; /* a power of two */
    bool failed;           /* one was lost, for want of memory */
};

/* Counts one more, and returns the number. The keys are hashes. 0: unknown, as memory is or was
 * exhausted. */
uint64_t qmpi_occurrences_count(struct qmpi_occurrences *occurrences, uint64_t key);

/* Frees the table. */
void qmpi_occurrences_drop(struct qmpi_occurrences *occurrences);

#endif
