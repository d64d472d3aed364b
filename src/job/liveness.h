/* SPDX-License-Identifier: MIT */
/*
 * Finds out whether another process of this host has terminated. A process cannot find that out
 * about processes of other hosts, or of other PID namespaces.
 */
#ifndef QMPI_JOB_LIVENESS_H
#define QMPI_JOB_LIVENESS_H

#include <stdbool.h>
#include <stdint.h>

/* Identifies a process. Contains no pointers, so that it can be sent to other processes. */
struct qmpi_liveness_process {
    uint64_t host;  /* the same in processes that can see each other; 0: not known */
    uint64_t start; /* when the process started, because process IDs are reused; 0: not known */
    int64_t id;
};

/* Returns the identification of the calling process. */
struct qmpi_liveness_process qmpi_liveness_self(void);

/* Whether the process is known to have terminated. `self` is from qmpi_liveness_self. False if the
 * process runs, or cannot be seen. */
bool qmpi_liveness_has_ended(const struct qmpi_liveness_process *self,
                             const struct qmpi_liveness_process *process);

#endif
