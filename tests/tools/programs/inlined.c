/* SPDX-License-Identifier: MIT */
/* Calls MPI from inlined functions. The tests look for the marked lines. The program is also built
 * a second time, without the debug information by which lines are found. */
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
