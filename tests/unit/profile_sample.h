/* SPDX-License-Identifier: MIT */
/* Results for the tests of profile's writing side. */
#ifndef QMPI_TEST_PROFILE_SAMPLE_H
#define QMPI_TEST_PROFILE_SAMPLE_H

#include "profile/result.h"

/* One that has something in every member; strings with everything that is hard to write. */
struct profile_result *sample_full(void);

/* One of a single process: `calls` calls of MPI_Send and one of a function named after the rank,
 * each call of 1 second, all to rank 0. */
struct profile_result *sample_single(int rank, int calls, const char *termination);

#endif
