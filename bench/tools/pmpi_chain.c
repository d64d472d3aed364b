/* SPDX-License-Identifier: MIT */
/*
 * The way several PMPI wrappers are stacked without any help: each looks the next one up with
 * RTLD_NEXT on its first call. Built under several names and preloaded one behind the other; the
 * same libraries are layers.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <mpi.h>
#include <stdint.h>

typedef int comm_rank(MPI_Comm comm, int *rank);

static comm_rank *next;

/* Apart, so that the call itself needs no stack frame. */
__attribute__((noinline, cold)) static int first_call(MPI_Comm comm, int *rank)
{
    next = (comm_rank *)(uintptr_t)dlsym(RTLD_NEXT, "MPI_Comm_rank");
    return next(comm, rank);
}

__attribute__((visibility("default"))) int MPI_Comm_rank(MPI_Comm comm, int *rank)
{
    return next ? next(comm, rank) : first_call(comm, rank);
}
