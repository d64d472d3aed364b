/* SPDX-License-Identifier: MIT */
/* Results for the unit tests of tools/profile/result. Tests free them with profile_result_free. */
#ifndef QMPI_TEST_PROFILE_SAMPLE_H
#define QMPI_TEST_PROFILE_SAMPLE_H

#include "tools/profile/result/budget.h"
#include "tools/profile/result/profile_result.h"

/* Returns a result with data in almost all members, and with strings that need quotes or escapes.
 */
struct profile_result *sample_full(void);

/* Returns a result of a single process: `calls` calls of MPI_Send to rank 0, and one call of
 * MPI_Wait if `rank` is 0, or of MPI_Recv otherwise. Each call takes 1 second. `termination` tells
 * how the process ended, or is NULL. */
struct profile_result *sample_single(int rank, int calls, const char *termination);

/* ---- A run with findings --------------------------------------------------------------------- */

enum { SAMPLE_RANKS = 4 };

/* Returns the result of a run of 100 seconds without findings. It has SAMPLE_RANKS ranks, two on
 * each of two nodes. Each rank is outside MPI for half of the time. */
struct profile_result *sample_run(void);

/* Adds a function without calls. */
void sample_add_function(struct profile_result *result, const char *name, const char *group);

/* Adds a call site without calls, and returns it. `file` may be NULL. The site is valid until the
 * next one is added. */
struct profile_callsite *sample_add_site(struct profile_result *result, const char *name,
                                         const char *file, int line);

/* Adds a call site in /src/a.c where each rank spends `seconds` in 10 calls. */
void sample_add_call(struct profile_result *result, const char *name, int line, double seconds);

/* Adds a call site of MPI_Recv where rank 1 waits for rank 0 for `seconds`. */
void sample_add_wait(struct profile_result *result, double seconds, const char *file, int line);

/* Sets the waits of a call site. */
void sample_set_waits(struct profile_callsite *site, size_t count,
                      const struct profile_wait *waits);

/* Sets the time of each rank in 10 calls at a call site. */
void sample_set_ranks(struct profile_callsite *site, const double times[SAMPLE_RANKS]);

/* Sets the processors that a process may use, and the seconds for which it waited for one. */
void sample_set_processors(struct profile_process *process, const char *list, double queued);

/* Returns the share of a part of the loss budget. Asserts that no part is negative and that the
 * parts add up to the time of all ranks. */
double sample_budget_share(const struct profile_result *result, enum profile_budget_part part);

#endif
