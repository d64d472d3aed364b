/* SPDX-License-Identifier: MIT */
/* Functions that the cases of path.c share. */
#ifndef QMPI_TESTS_TOOLS_PATH_H
#define QMPI_TESTS_TOOLS_PATH_H

#include <mpi.h>

#include <pthread.h>

enum { UNIT = 60, ROUNDS = 3 }; /* UNIT is in milliseconds */

extern int rank, size;
extern MPI_Comm world;
extern pthread_mutex_t lock;

/* Works for a number of units. */
void work(int units);

/* Works for a number of units if this is rank `who`. */
void work_of(int who, int units);

typedef int sender(const void *, int, MPI_Datatype, int, int, MPI_Comm);

/* One rank works after the other, ROUNDS times. Each one waits until the previous one, if any, has
 * sent it a message by `send`. */
void chain_on(MPI_Comm comm, sender *send);

/* Calls MPI_Wait. */
int wait_for(MPI_Request *request);

/* clang-format off */
#define CASES(CASE) \
    CASE(chain) CASE(chain_ssend) CASE(chain_isend) CASE(chain_issend) \
    CASE(chain_bsend) CASE(chain_large) CASE(chain_freed) CASE(chain_persistent) CASE(pipeline) \
    CASE(workers) CASE(halo) CASE(halo_persistent) CASE(shift) \
    CASE(out_of_order) CASE(any_before) CASE(any_after) CASE(any_tag) \
    CASE(tags) CASE(polled) CASE(cancelled) CASE(abandoned) \
    CASE(failing) CASE(probed) CASE(alternate) CASE(rooted) \
    CASE(against_root) CASE(scans) CASE(nonblocking) CASE(persistent_collective) \
    CASE(communicators) CASE(intercommunicator) CASE(neighbors) CASE(windows) \
    CASE(threads) CASE(threads_same) CASE(regions) CASE(one_off) \
    CASE(attributes) CASE(without_clock) CASE(exchange) CASE(freed_comm) \
    CASE(switched)
/* clang-format on */

#define DECLARE(NAME) void NAME(void);
CASES(DECLARE)

#endif
