/* SPDX-License-Identifier: MIT */
/* Prints the duration of the program's first MPI call, which builds the stack, in microseconds. */
#define _POSIX_C_SOURCE 200809L
#include <mpi.h>
#include <stdio.h>
#include <time.h>

/* This function is not inlined, because callgrind counts from its beginning to its return. */
int call_first(void);
__attribute__((noinline)) int call_first(void)
{
    int flag = 0;
    MPI_Initialized(&flag);
    return flag;
}

int main(void)
{
    struct timespec start, end;
    clock_gettime(CLOCK_MONOTONIC, &start);
    const int flag = call_first();
    clock_gettime(CLOCK_MONOTONIC, &end);
    printf("%.3f\n", 1e6 * (double)(end.tv_sec - start.tv_sec) +
                         1e-3 * (double)(end.tv_nsec - start.tv_nsec));
    return flag;
}
