/* SPDX-License-Identifier: MIT */
/*
 * PMPI wrappers that are chained without qmpi: each finds the next one by RTLD_NEXT in its first
 * call. They are built under several names and preloaded one after the other; the same libraries
 * are also used as layers.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <mpi.h>
#include <stdint.h>

typedef int comm_rank(MPI_Comm comm, int *rank);

static comm_rank *next;

/* A separate function, so that the usual call needs no stack frame. */
__attribute__((noinline, cold)) static int first_call(MPI_Comm comm, int *rank)
{
    next = (comm_rank *)(uintptr_t)dlsym(RTLD_NEXT, "MPI_Comm_rank");
    return next(comm, rank);
}

__attribute__((visibility("default"))) int MPI_Comm_rank(MPI_Comm comm, int *rank)
{
    return next ? next(comm, rank) : first_call(comm, rank);
}
