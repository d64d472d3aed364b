/* SPDX-License-Identifier: MIT */
/* A library that is built twice, with different frame sizes and function names. Each of the two is
 * usually opened at the address where the other one was before, so that what was known about this
 * address would lead to wrong callers. */
#include <mpi.h>

__attribute__((noinline)) void NAME(void (*function)(void));
__attribute__((visibility("default"))) void call_back(void (*function)(void));

void NAME(void (*function)(void))
{
    char frame[SIZE];
    int rank;
    __asm__ volatile("" ::"r"(frame) : "memory");
    if (function)
        function();
    else
        MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    __asm__ volatile("" ::: "memory");
}

void call_back(void (*function)(void))
{
    NAME(function);
    __asm__ volatile("" ::: "memory");
}
