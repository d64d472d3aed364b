/* SPDX-License-Identifier: MIT */
/*
 * Reads the variables of the environment that matter for MPI, such as UCX_TLS and OMP_NUM_THREADS.
 * Variables that may contain a secret, such as SLURM_JWT, and those that are internal to launchers
 * are left out; docs/run/profile-reference.md has the list.
 */
#ifndef QMPI_TOOL_PROFILE_COLLECT_ENVIRONMENT_H
#define QMPI_TOOL_PROFILE_COLLECT_ENVIRONMENT_H

#include "tools/profile/result/profile_result.h"

#include <stdbool.h>
#include <stddef.h>

struct environment {
    struct profile_variable *variables; /* sorted by name */
    size_t count;
};

/* Reads the environment of this process, which must not change at the same time. Variables are left
 * out if memory is exhausted or their name is too long, long values are cut, and a privileged
 * program (AT_SECURE) gets none. */
void environment_read(struct environment *environment);

/* Copies the variables into a result. Returns false if memory is exhausted. */
bool environment_copy(const struct environment *environment, struct profile_result *result);

#endif
