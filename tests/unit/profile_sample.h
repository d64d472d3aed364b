/* SPDX-License-Identifier: MIT */
/* Results for the unit tests of tools/profile/result. */
#ifndef QMPI_TEST_PROFILE_SAMPLE_H
#define QMPI_TEST_PROFILE_SAMPLE_H

#include "tools/profile/result/profile_result.h"

/* Returns a result with data in every member, and with strings that need quotes or escapes. */
struct profile_result *sample_full(void);

/* Returns a result of a single process: `calls` calls of MPI_Send to rank 0, and one call of a
 * function named after the rank, each of 1 second. */
struct profile_result *sample_single(int rank, int calls, const char *termination);

#endif
