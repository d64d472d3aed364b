/* SPDX-License-Identifier: MIT */
/* Calls from inlined functions; the tests look for their lines. Without debug information, there
 * are none. */
#include <mpi.h>

#define INLINE static inline __attribute__((always_inline)) void

INLINE meet(void)
{
    MPI_Barrier(MPI_COMM_WORLD); /* line: meet */
}

INLINE step(void)
{
    meet(); /* line: step */
}

int main(void)
{
    MPI_Init(0, 0);
    step(); /* line: main */
    MPI_Finalize();
    return 0;
}
