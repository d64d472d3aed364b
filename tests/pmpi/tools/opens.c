/* SPDX-License-Identifier: MIT */
/*
 * A PMPI tool that opens the library that TEST_OWN names: in its constructor or, if TEST_OPENS is
 * set, in MPI_Init or, if its value is `barrier`, in each MPI_Barrier. If TEST_CLOSES is set, it
 * closes the library again in MPI_Init. It prints each MPI_Comm_rank, with the number that the
 * library returns if it has `next_number`. In MPI_Barrier, it lets the library make calls if it has
 * `make_calls`.
 */
#define _GNU_SOURCE
#include "trace.h"

#include <mpi.h>

#include <dlfcn.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

static void *handle;
static int (*next_number)(void);
static void (*make_calls)(int count);

static void open_library(void)
{
    const char *library = getenv("TEST_OWN");
    if (!library)
        return;
    handle = dlopen(library, RTLD_LAZY | RTLD_LOCAL);
    if (!handle) {
        trace("opens: %s", dlerror());
        return;
    }
    next_number = (int (*)(void))(uintptr_t)dlsym(handle, "next_number");
    make_calls = (void (*)(int))(uintptr_t)dlsym(handle, "make_calls");
    trace("opens %s", next_number || make_calls ? "a library" : "another library");
}

static int opens_in_barrier(void)
{
    const char *when = getenv("TEST_OPENS");
    return when && !strcmp(when, "barrier");
}

__attribute__((constructor)) static void begin(void)
{
    void (*turn)(void) = (void (*)(void))(uintptr_t)dlsym(RTLD_DEFAULT, "program_turn");
    if (turn)
        turn();
    if (!getenv("TEST_OPENS"))
        open_library();
}

int MPI_Init(int *argc, char ***argv)
{
    if (getenv("TEST_OPENS") && !opens_in_barrier())
        open_library();
    if (next_number)
        next_number();
    if (handle && getenv("TEST_CLOSES")) {
        next_number = NULL;
        make_calls = NULL;
        dlclose(handle);
    }
    return PMPI_Init(argc, argv);
}

int MPI_Comm_rank(MPI_Comm comm, int *rank)
{
    trace("opens MPI_Comm_rank %d", next_number ? next_number() : 0);
    return PMPI_Comm_rank(comm, rank);
}

int MPI_Barrier(MPI_Comm comm)
{
    trace("opens MPI_Barrier");
    if (opens_in_barrier())
        open_library();
    if (make_calls)
        make_calls(2);
    return PMPI_Barrier(comm);
}
