/* SPDX-License-Identifier: MIT */
/* The parts of result.c. Those that return false have run out of memory. */
#ifndef QMPI_TRACE_PROFILE_RESULT_PARTS_H
#define QMPI_TRACE_PROFILE_RESULT_PARTS_H

#include "trace/profile/process.h"

enum { RESULT_EVERYWHERE = UINT32_MAX }; /* of a region: the whole run */

static inline double result_tick(const struct process_sums *sums)
{
    return sums->process->tick * 1e-9;
}

static inline int result_rank(const struct process_sums *sums)
{
    return sums->process->rank >= 0 ? sums->process->rank : 0;
}

bool result_list_functions(const struct process_sums *sums, uint32_t region,
                           struct profile_function **functions, size_t *count);
double result_time_in_mpi(const struct process_sums *sums, uint32_t region);
double result_useful(const struct process_sums *sums, uint32_t region, double time, double mpi);
bool result_fill_regions(const struct process_sums *sums, struct profile_result *result);

/* Sets the frames of a call site. */
bool result_fill_frames(const struct trace_process *process, const struct trace_site *site,
                        struct profile_callsite *callsite);
bool result_fill_callsites(const struct process_sums *sums, struct profile_result *result);

bool result_fill_matrix(const struct process_sums *sums, struct profile_result *result);
bool result_fill_communicators(const struct process_sums *sums, struct profile_result *result);
bool result_fill_files(const struct process_sums *sums, struct profile_result *result);

#endif
