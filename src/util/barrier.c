/* SPDX-License-Identifier: MIT */
/* See barrier.h. */
#define _GNU_SOURCE
#include "util/barrier.h"

#include <errno.h>
#include <linux/membarrier.h>
#include <sys/syscall.h>
#include <unistd.h>

static bool call_membarrier(int command)
{
    return syscall(SYS_membarrier, command, 0) == 0;
}

/* Interrupts only the threads of this process, which is much faster than waiting until all threads
 * of the system have been interrupted. A process has to register for this. */
static bool interrupt_own_threads(void)
{
    return call_membarrier(MEMBARRIER_CMD_PRIVATE_EXPEDITED) ||
           (errno == EPERM && call_membarrier(MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED) &&
            call_membarrier(MEMBARRIER_CMD_PRIVATE_EXPEDITED));
}

bool qmpi_barrier_interrupt_threads(void)
{
    const int error = errno;
    const bool done = interrupt_own_threads() || call_membarrier(MEMBARRIER_CMD_GLOBAL);
    errno = error;
    return done;
}
